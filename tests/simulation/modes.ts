import { loadModes } from "../../src/modes/index.ts";

export const MODES = await loadModes();
