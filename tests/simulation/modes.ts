import { debate } from "../../src/modes/debate/debate.ts";
import { type AnyDescriptor, loadModes } from "../../src/modes/index.ts";
import { pipeline } from "../../src/modes/pipeline/pipeline.ts";

export const MODES = await loadModes();

/** The modes of the kit. */
export const DESCRIPTORS: readonly AnyDescriptor[] = [debate, pipeline];
