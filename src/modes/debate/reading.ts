import type { ModeReading } from "../../kernel/mode.ts";
import { debateShowing } from "./presentation.ts";
import { apply, type DebateState, empty } from "./state.ts";
import { view } from "./view.ts";

/** A debate for those who only look. */
export const debateReading: ModeReading<DebateState> = {
  name: "debate",
  presentation: debateShowing,
  empty,
  apply,
  view,
};
