// Starts what it is told to, in the sandbox it is told, says what that says, and lives until it is killed, or no longer than it.
import { start } from "../../../src/agents/launch.ts";

const [spec = "{}", way] = process.argv.slice(2);
const launched = await start(JSON.parse(spec), way === undefined ? undefined : JSON.parse(way));
if (!launched.ok) throw new Error(launched.error.message);
launched.value.stdout.pipe(process.stdout);
if (process.env["BOSUN_TEST_ONCE"] === undefined) setInterval(() => {}, 60_000);
