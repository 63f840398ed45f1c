import { value } from "../../results.ts";
import { openStore } from "../../../src/store/sqlite-store.ts";
import { asking } from "../asking.ts";
import { begin, recordOf, run } from "../sessions.ts";

// A scheduler whose worker asks for a permission. It dies when that is on record.
const [home = "", workspace = "", session_id = ""] = process.argv.slice(2);
const store = value(openStore(home));
const session = await begin({ home, workspace, store }, { session_id, agentFor: asking().agentFor });
session.bus.subscribe((event) => {
  if (recordOf("approval_request")(event)) process.kill(process.pid, "SIGKILL");
});
await run(session, () => ({ payload_type: "approval", payload: { decision: "approved" } }));
