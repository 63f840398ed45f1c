// A research report by a pipeline: the researcher gathers, the analyst works on what was gathered, the writer on the points of the analyst.
//   node examples/seed2/05-pipeline.mjs [directory]
import { join } from "node:path";
import { example } from "../scripted/example.mjs";

const TASK = "帮我研究 AI Agent 的最新发展趋势，写一篇分析报告";

const run = await example("pipeline", new URL("script.mjs", import.meta.url));
const here = import.meta.dirname;
run("pipeline", join(here, "05-pipeline.yaml"), TASK, "--agents-dir", join(here, "agents"), "--crew", "model", "--reporter", "plain");
