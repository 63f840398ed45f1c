// What the scripted model says in these examples.

const RESULTS = {
  researcher: [
    [/气候|天气/, "北京四季分明，冬季干冷；上海夏季湿热、梅雨长；深圳全年温暖，台风季在夏秋。"],
    [/重新|租金和物价/, "一居室月租：北京约 6,500 元，上海约 6,300 元，深圳约 5,600 元；日常物价三城接近。"],
    [/生活成本/, "没有查到可以比较的数据：来源的年份和口径不同。"],
    [/./, "素材摘要：工具调用和 MCP 成为通用接口；多 Agent 编排进入生产；评测和可追溯成为采购条件。来源：三份行业报告，口径各不相同。"],
  ],
  analyst: [
    [/"points"/, JSON.stringify({ points: ["接口标准化：工具调用和 MCP 降低集成成本", "编排走向生产：流水线、规划者和辩论各有位置", "可追溯性决定采用：记录比演示更重要"] })],
    [/./, "气候：深圳 > 上海 > 北京；成本：深圳 > 上海 > 北京；公共服务：北京 > 上海 > 深圳。综合：深圳第一，上海第二，北京第三，差距不大。"],
  ],
  writer: [
    [/AI Agent/, "# AI Agent 发展趋势\n\n**结论：竞争的重点从模型转向编排和可追溯性。**\n\n1. 接口标准化\n2. 编排走向生产\n3. 可追溯性决定采用"],
    [/./, "# 三城宜居性\n\n1. 深圳：气候温暖，成本较低\n2. 上海：均衡\n3. 北京：公共服务最好，气候和成本较差"],
  ],
};

const OPINIONS = {
  python_expert: ["Python 更合适：生态丰富，开发快，团队容易招人。", "Python 适合以业务逻辑和数据为主的服务；高并发的网关我同意用 Go。"],
  go_expert: ["Go 更合适：并发强，内存小，单个二进制容易部署。", "Go 适合网关和高并发的服务；数据处理的服务用 Python 更省力。"],
  architect: ["先看服务的边界：语言可以按服务选择，但运维要统一。", "按服务选择：入口和高并发用 Go，数据和模型用 Python，最多两种语言。"],
};

const PLAN = [
  { agent: "researcher", task: "查询三城天气和气候" },
  { agent: "researcher", task: "搜索三城生活成本" },
  { agent: "analyst", task: "综合分析三城的宜居性" },
  { agent: "writer", task: "输出排名和理由的报告" },
];

/** By the number of steps that have begun. The costs come without figures, so they are sought anew. */
const DECISIONS = [
  { analysis: "需要气候和成本两类事实，然后比较、成文。", next_action: "PLAN", steps: PLAN },
  { analysis: "天气已经清楚。", satisfied: true, next_action: "GO_ON" },
  {
    analysis: "生活成本没有可比的数据，换一个问法。",
    satisfied: false,
    next_action: "PLAN",
    steps: [{ agent: "researcher", task: "重新搜索：三城一居室的租金和物价，同一来源" }, ...PLAN.slice(2)],
  },
  { analysis: "租金有了同一口径的数字。", satisfied: true, next_action: "GO_ON" },
  { analysis: "排名和理由已经有了。", satisfied: true, next_action: "GO_ON" },
  {
    analysis: "报告完整。",
    satisfied: true,
    next_action: "FINISH",
    final_report: "# 三城宜居性排名\n\n1. **深圳**：气候温暖，租金较低\n2. **上海**：各项均衡\n3. **北京**：公共服务最好，气候和成本较差\n\n成本的数据重新查过一次；公共服务没有单独查证。",
  },
];

const VERDICT = {
  summary: null,
  conclusion: "按服务选择：入口和高并发的服务用 Go，数据和模型的服务用 Python。只能选一种时，团队熟悉的优先；没有偏好就选 Go。",
  winner: "architect",
  reasons: ["三方在第二轮都同意按负载选择", "两种语言的运维可以统一，更多则不行"],
  dissent: ["团队小的时候，一种语言更省力"],
  consensus: true,
};

const rounds = new Map();

/** The answer of one type: `said` are the texts of the conversation. */
export function answerTo(said) {
  const asked = said.at(-1);
  const [, speaker = ""] = /^You are .*\(`(\w+)`\)/m.exec(asked) ?? [];
  if (/one of these types: .*\bplan_decision\b/.test(asked)) {
    const [, begun = 0] = /Steps begun: (\d+)/.exec(asked) ?? [];
    const none = { satisfied: null, steps: null, agent: null, final_report: null };
    return { payload_type: "plan_decision", plan_decision: { ...none, ...DECISIONS[begun] }, error: null };
  }
  if (/one of these types: .*\bopinion\b/.test(asked)) {
    const round = (rounds.get(speaker) ?? 0) + 1;
    rounds.set(speaker, round);
    const opinion = { round, position: OPINIONS[speaker][round - 1], reasons: null, changed: round > 1, confidence: null };
    return { payload_type: "opinion", opinion, error: null };
  }
  if (/one of these types: .*\bverdict\b/.test(asked)) return { payload_type: "verdict", verdict: VERDICT, error: null };
  const [, step = ""] = /### The step\s+([^]*?)(?:\n##|$)/.exec(asked) ?? [];
  const [, summary] = RESULTS[speaker].find(([pattern]) => pattern.test(step));
  return { payload_type: "report", report: { status: "completed", summary }, error: null };
}
