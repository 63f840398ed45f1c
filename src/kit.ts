// The library `bosun/modes`: makes a mode of your own in one file, which `bosun` runs, resumes and verifies.
export { type Descriptor, readerOf } from "./kernel/kit/descriptor.ts";
export type { Draft } from "./kernel/kit/draft.ts";
export { modeOf as defineMode } from "./kernel/kit/mode.ts";
export type { Question, Rules } from "./kernel/kit/rules.ts";
export type { KitState, Self, Subject, View } from "./kernel/kit/state.ts";
export type { Fact, FactOf, Mode } from "./kernel/mode.ts";
export type { Presentation, ResultPart } from "./kernel/presentation.ts";
export { filled, from, linesOf } from "./kernel/references.ts";
export { type Failure, failure } from "./protocol/failure.ts";
