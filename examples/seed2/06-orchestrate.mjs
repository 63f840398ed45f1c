// Three cities by an orchestration: a plan of four steps, which the planner changes when a result is poor, and a summary at the end.
//   node examples/seed2/06-orchestrate.mjs [directory]
import { join } from "node:path";
import { example } from "../scripted/example.mjs";

const TASK = "对比北京、上海、深圳三个城市的宜居性，给出排名和理由";

const run = await example("orchestrate", new URL("script.mjs", import.meta.url));
const agents = join(import.meta.dirname, "agents");
run("orchestrate", TASK, "--agents", "researcher,analyst,writer", "--max-steps", "6", "--agents-dir", agents, "--crew", "model", "--reporter", "plain");
