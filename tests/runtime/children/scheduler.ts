// A scheduler in a process of its own: begins the session, or resumes it if it is there, and carries it to its end. It
// prints each record as `sequence type ticket` when it is durable. argv: home, workspace, session, and where it shall
// die, if it shall: `before:N` or `after:N`, the N-th commit of its life, or `closed`, the one that closes the session.
// After it means: committed, and nothing told or done about it yet. Last, if it is not the usual one, the recovery of
// its worker.
import { openStore } from "../../../src/store/sqlite-store.ts";
import type { Store } from "../../../src/store/store.ts";
import { crashCrew, TASKS } from "../crash-crew.ts";
import { crew } from "../crew.ts";
import { cli } from "../roles.ts";
import { begin, resume, type Rig, run } from "../sessions.ts";
import { value } from "../../results.ts";

const [home = "", workspace = "", session_id = "", death = "", recovery = ""] = process.argv.slice(2);
const [when, number] = death.split(":");

function dying(store: Store): Store {
  let commits = 0;
  const die = (moment: string, closes = false) => {
    if (when === moment && (closes || commits === Number(number))) process.kill(process.pid, "SIGKILL");
  };
  return {
    ...store,
    async commit(lease, commit) {
      commits += 1;
      die("before");
      const done = await store.commit(lease, commit);
      die("after");
      if (commit.session?.outcome) die("closed", true);
      return done;
    },
  };
}

const store = dying(value(openStore(home)));
const rig: Rig = { home, workspace, store };
const choices = {
  session_id,
  store,
  roles: crashCrew(recovery === "ask" ? { recovery } : {}),
  agentFor: crew(TASKS, {}, { hand: cli() }),
  config: { max_workers: 2, max_recoveries: 100 },
};
const row = store.session(session_id);
const session =
  row.ok && row.value.last_sequence > 0 ? await resume(rig, session_id, choices) : await begin(rig, choices);
if (row.ok && row.value.outcome !== null) {
  store.close();
  process.exit(0);
}
session.bus.subscribe((event) => {
  if (event.kind !== "record") return;
  const { payload_type, record } = event.record;
  process.stdout.write(`${event.sequence} ${payload_type} ${record.ticket_id ?? "-"}\n`);
});
await run(session);
store.close();
