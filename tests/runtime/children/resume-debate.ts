// Resumes a debate of a home, with agents that say nothing: the home and the session are in argv.
import { scriptedAgent } from "../../../src/agents/scripted.ts";
import { debateMode } from "../../../src/modes/debate/mode.ts";
import { resumeSession } from "../../../src/runtime/resume.ts";
import { openHome } from "../../debate/home.ts";
import { value } from "../../results.ts";

const [home = "", session_id = ""] = process.argv.slice(2);
const around = openHome(
  home,
  scriptedAgent(() => Promise.withResolvers<never>().promise),
);
const session = value(await resumeSession(around, debateMode, value(around.store.session(session_id))));
await session.run({ waitForPeople: false });
