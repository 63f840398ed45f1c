import type { Mode } from "../../kernel/mode.ts";
import { decide } from "./decide.ts";
import { request } from "./request.ts";
import { DEBATE_RIGHTS } from "./rights.ts";
import { apply, type DebateState, empty } from "./state.ts";
import { phase, view } from "./view.ts";

/** A debate: participants answer independently, revise in rounds with each other's opinions before them, and a judge concludes. */
export const debateMode: Mode<DebateState> = {
  name: "debate",
  rules: 1,
  rights: DEBATE_RIGHTS,
  empty,
  decide,
  apply,
  request,
  phase,
  view,
};
