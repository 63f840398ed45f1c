// Starts a command in a sandbox, both from its arguments, and passes its output on. Lives until it is killed; with BOSUN_TEST_ONCE until the command ends.
import { start } from "../../../src/agents/launch.ts";

const [spec = "{}", way] = process.argv.slice(2);
const launched = await start(JSON.parse(spec), way === undefined ? undefined : JSON.parse(way));
if (!launched.ok) throw new Error(launched.error.message);
launched.value.stdout.pipe(process.stdout);
if (process.env["BOSUN_TEST_ONCE"] === undefined) setInterval(() => {}, 60_000);
