import type { ModeReader } from "../../kernel/mode.ts";
import { debatePresentation } from "./presentation.ts";
import { apply, type DebateState, empty } from "./state.ts";
import { phase, subject } from "./view.ts";

/** The part of the debate mode that loads and shows a session. */
export const debateReader: ModeReader<DebateState> = {
  name: "debate",
  presentation: debatePresentation,
  empty,
  apply,
  phase,
  subjects: "debater",
  ids: ({ debate }) => debate?.order ?? [],
  subject,
};
