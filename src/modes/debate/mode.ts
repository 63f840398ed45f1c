import type { Mode } from "../../kernel/mode.ts";
import { decide } from "./decide.ts";
import { debateReader } from "./reader.ts";
import { request } from "./request.ts";
import { DEBATE_RIGHTS } from "./rights.ts";
import type { DebateState } from "./state.ts";
import { phase } from "./view.ts";

/** A debate: participants answer independently, revise in rounds with each other's opinions before them, and a judge concludes. */
export const debateMode: Mode<DebateState> = {
  ...debateReader,
  rules: 7,
  rights: DEBATE_RIGHTS,
  decide,
  request,
  phase,
};
