import type { ModeReader } from "../../kernel/mode.ts";
import { debatePresentation } from "./presentation.ts";
import { apply, type DebateState, empty } from "./state.ts";
import { view } from "./view.ts";

/** A debate for those who only look. */
export const debateReader: ModeReader<DebateState> = {
  name: "debate",
  presentation: debatePresentation,
  empty,
  apply,
  view,
};
