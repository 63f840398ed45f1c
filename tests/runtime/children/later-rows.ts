// Resumes the session of the home in argv under the later version of the debate mode's rows, with agents that say nothing.
import { scriptedAgent } from "../../../src/agents/scripted.ts";
import { debateMode } from "../../../src/modes/debate/mode.ts";
import { resumeSession } from "../../../src/runtime/resume.ts";
import type { SessionRow } from "../../../src/store/store.ts";
import { openHome } from "../../debate/home.ts";
import { value } from "../../results.ts";
import { withLaterRows } from "../later-rows.ts";

const around = openHome(
  process.argv[2] ?? "",
  scriptedAgent(() => Promise.withResolvers<never>().promise),
);
const [row] = around.store.sessions();
const session = value(await resumeSession(around, withLaterRows(debateMode), row as SessionRow));
await session.run({ waitForPeople: false });
