import type { Mode } from "../../kernel/mode.ts";
import { decide } from "./decide.ts";
import { debateReader } from "./reader.ts";
import { request } from "./request.ts";
import { DEBATE_RIGHTS } from "./rights.ts";
import type { DebateState } from "./state.ts";

/**
 * The debate mode: participants give their opinions independently, revise them in rounds after reading each other's,
 * and a judge concludes.
 */
export const debateMode: Mode<DebateState> = {
  ...debateReader,
  rules: 10,
  rights: DEBATE_RIGHTS,
  decide,
  request,
};
