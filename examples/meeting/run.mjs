// Three agents argue a decision under a PM: a model writes them from a description each, they meet, and the report is in Markdown.
//   node examples/meeting/run.mjs [directory]
// With a key in the environment (`bosun models` lists which) it asks that model, about ten times; without one a scripted model answers, on this machine.
import { example } from "../scripted/example.mjs";

const AGENTS = {
  architect: "资深软件架构师，关注系统可扩展性和技术债务",
  business_analyst: "商业分析师，关注 ROI 和市场可行性",
  devops: "DevOps 工程师，关注部署复杂度和运维成本",
};
const TOPIC = "评估从 PostgreSQL 迁移到 MongoDB 的方案";

const run = await example("meeting", new URL("script.mjs", import.meta.url));
for (const [name, description] of Object.entries(AGENTS)) run("agents", "build", "--force", "--name", name, "--description", description);
run("meeting", "run", "--topic", TOPIC, "--agents", Object.keys(AGENTS).join(","), "--yes", "--crew", "model", "--reporter", "plain");
