import type { ModeReading } from "../../kernel/mode.ts";
import { debateShowing } from "./showing.ts";
import { apply, type DebateState, empty } from "./state.ts";
import { view } from "./view.ts";

/** A debate for those who only look. */
export const debateReading: ModeReading<DebateState> = {
  name: "debate",
  showing: debateShowing,
  empty,
  apply,
  view,
};
