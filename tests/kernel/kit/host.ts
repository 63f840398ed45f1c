// A program that runs a mode of its own: `node host.ts HOME begin`, then `resume`. Its first run dies while a voter is asked.
import {
  CONFIGURATION_DEFAULTS,
  createSession,
  embeddedLauncher,
  getSession,
  type Mode,
  openStore,
  resumeSession,
  scriptedAgent,
  type Surroundings,
  systemClock,
  verifySession,
} from "bosun";
import { join } from "node:path";
import { poll } from "../../../examples/modes/poll.ts";

const [, , home = "", what] = process.argv;
const session_id = "q-1";

function value<T>(
  result: { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: unknown },
): T {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}

const store = value(openStore(home));
const around: Surroundings = {
  home,
  store,
  clock: systemClock,
  launcher: embeddedLauncher(),
  version: "1.0.0",
  files: true,
  agentFor: ({ role_id }) =>
    scriptedAgent(() => {
      if (role_id === "bob" && what === "begin") process.kill(process.pid, "SIGKILL");
      return { payload_type: "opinion", payload: { round: 1, position: `${role_id} says yes` } };
    }),
};

const session =
  what === "begin"
    ? await createSession(around, poll, {
        session_id,
        input: { topic: "Tea?", voters: ["ann", "bob"] },
        config: { ...CONFIGURATION_DEFAULTS, plan_approval: "never", workspace: home, budget: {} },
        roles: ["ann", "bob"].map((role_id) => ({ role_id, type: "participant", backend: "scripted" })),
        workspace: home,
        started_by: { user: "ada", host: "here", via: "host" },
        facts: [],
      })
    : await resumeSession(around, poll, value(getSession(store, session_id)));
const end = value(await value(session).run({ waitForPeople: false }));
const proof = value(verifySession(join(home, "logs", session_id), new Map([[poll.name, poll as Mode<unknown>]])));
console.log(JSON.stringify({ end, ok: proof.ok, decisions: proof.decisions }));
