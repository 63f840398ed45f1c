// Python or Go by a debate: three answer independently, read each other, answer again, and a judge concludes.
//   node examples/seed2/07-debate.mjs [directory]
import { join } from "node:path";
import { example } from "../scripted/example.mjs";

const TOPIC = "Python vs Go，哪个更适合开发微服务？";

const run = await example("debate", new URL("script.mjs", import.meta.url));
const agents = join(import.meta.dirname, "agents");
run("debate", TOPIC, "--agents", "python_expert,go_expert,architect", "--judge", "judge", "--rounds", "2", "--agents-dir", agents, "--crew", "model", "--reporter", "plain");
