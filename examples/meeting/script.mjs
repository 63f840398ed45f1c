// What the scripted model says in this example.
const AGENTS = {
  architect: ["首席架构师", "你是资深软件架构师。你关注可扩展性和技术债务，先讲风险，再讲条件，回答简短。"],
  business_analyst: ["商业分析师", "你是商业分析师。你用 ROI 和市场可行性衡量每个方案，给出数字的来源，回答简短。"],
  devops: ["DevOps 工程师", "你是 DevOps 工程师。你关注部署复杂度和运维成本，说明如何回滚，回答简短。"],
};

const CONTRIBUTIONS = {
  architect:
    "写入可以水平扩展，但跨表事务和报表查询要重写。我们的数据是关系型的：订单、库存和账务互相引用。只有事件日志适合文档模型。技术债务会增加，不会减少。",
  business_analyst:
    "迁移大约需要两个季度。收益来自事件日志的写入量，那只占成本的一成。全面迁移在三年内没有正的 ROI；只迁移事件日志，半年可以收回。",
  devops:
    "双写和回滚要运行两套备份、监控和升级，值班的人要学第二种系统。只迁移事件日志时，回滚就是关掉一个写入方，一天可以完成。",
};

const DECISIONS = [
  { next_action: "CALL_AGENT", target_agent: "architect", prompt_for_agent: "迁移会改变系统的哪些部分？技术债务会增加还是减少？" },
  { next_action: "CALL_AGENT", target_agent: "business_analyst", prompt_for_agent: "全面迁移和只迁移事件日志，ROI 各是多少？" },
  { next_action: "CALL_AGENT", target_agent: "devops", prompt_for_agent: "两种方案的部署和回滚各要付出什么？" },
  {
    next_action: "FINISH",
    final_report: [
      "# 是否从 PostgreSQL 迁移到 MongoDB",
      "**建议：不做全面迁移，只把事件日志迁移到 MongoDB。**",
      "- 架构：核心数据是关系型的，事务和报表要重写。\n- 商业：全面迁移三年内没有正的 ROI；事件日志半年收回成本。\n- 运维：两套系统要付出双份的值班；只迁移日志时一天可以回滚。",
      "下一步：为事件日志做一个季度的试点，并约定回滚的条件。",
    ].join("\n\n"),
  },
];

let decided = 0;

/** What the model says to this conversation. */
export function answerTo(said) {
  const asked = said.at(-1);
  const [, built] = /The agent is called "(\w+)"/.exec(asked) ?? [];
  if (built !== undefined) {
    const [role, system_prompt] = AGENTS[built] ?? ["参与者", "你参加会议，回答简短。"];
    return { role, system_prompt, input_schema: "", output_schema: "" };
  }
  if (/one of these types: .*\bpm_decision\b/.test(asked)) {
    const decision = DECISIONS[Math.min(decided++, DECISIONS.length - 1)];
    const analysis = ["会议刚开始。", "核心数据是关系型的。", "全面迁移没有收益。", "三位的意见一致。"][decided - 1] ?? "会议结束。";
    const none = { target_agent: null, prompt_for_agent: null, final_report: null };
    return { payload_type: "pm_decision", pm_decision: { analysis, ...none, ...decision }, error: null };
  }
  const [, speaker = "architect"] = /^You are .*\(`(\w+)`\)/m.exec(asked) ?? [];
  return { payload_type: "report", report: { status: "completed", summary: CONTRIBUTIONS[speaker] }, error: null };
}
