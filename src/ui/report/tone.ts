/** Good, bad, in need of attention, or neither. */
export type Tone = "good" | "bad" | "warn" | "";
