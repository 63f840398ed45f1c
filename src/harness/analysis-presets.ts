/** Questions about a transcript for a start. A host that knows its domain asks better ones. */
export const ANALYSIS_PRESETS = {
  judge:
    "Judge the quality of this conversation. Give each participant a score from 1 to 10, with reasons that quote it.",
  summarize: "Summarize this conversation: its key points, what was decided, and what is left open.",
  interrogate: "Ask the questions that this conversation should have answered and did not, the most important first.",
  moderate: "Say where the participants disagree, what each holds, and what would settle it.",
} as const;
