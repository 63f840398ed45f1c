// A scheduler in a process of its own that stops by itself: while its worker is at work on `a` its manager fails over
// `b`. argv: home, workspace, session. Where it shall die is in its environment.
import { openStore } from "../../../src/store/sqlite-store.ts";
import { crew, task } from "../crew.ts";
import { cli, CREW, shell } from "../roles.ts";
import { begin, type Rig, run, told } from "../sessions.ts";
import { value } from "../../results.ts";

const [home = "", workspace = "", session_id = ""] = process.argv.slice(2);
const store = value(openStore(home));
const rig: Rig = { home, workspace, store };
const worker = { recovery: "ask", cli_command: shell("echo begun; sleep 60") } as const;
const roles = CREW.map((role) => (role.type === "worker" ? { ...role, ...worker } : role));
const ticket = async () => {
  await begun;
  return { payload_type: "review", payload: {} } as const;
};
const agentFor = crew([task("a", [], { instruction: { summary: "Do it." } }), task("b")], { ticket }, { hand: cli() });
const session = await begin(rig, { session_id, store, roles, agentFor, config: { max_retries: 0 } });
const begun = told(session, (event) => event.kind === "console");
await run(session);
