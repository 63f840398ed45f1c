// The library `bosun/harness`: primitives for talking with models. It knows no session, disk, database or terminal.
export { cachedAdapter, type AnswerCache } from "./adapters/cached.ts";
export { type Exchange, playingAdapter, recordingAdapter } from "./adapters/recording.ts";
export { type ScriptedAdapter, scriptedAdapter, type ScriptedAnswer } from "./adapters/scripted.ts";
export { ANALYSIS_PRESETS } from "./analysis-presets.ts";
export { type AnalysisOptions, TranscriptAnalyzer } from "./analyzer.ts";
export { type ConversationOptions, type ConversationResult, ConversationRunner } from "./conversation-runner.ts";
export { cleanToolName, sendable } from "./history.ts";
export { type McpClient, type McpToolOptions, mcpTools } from "./mcp.ts";
export * from "./messages.ts";
export { parseStopCondition } from "./parse-stop-condition.ts";
export * from "./provider.ts";
export { allOf, anyOf, type Comparison, contains, labelled, measure, not } from "./stop-conditions.ts";
export type { StopCondition } from "./stop-conditions.ts";
export { combinedTools, type FunctionTool, functionTools, limitedTools, ToolNotFoundError } from "./tools.ts";
export type { ToolContext, ToolExecutor, ToolLimits, Tools } from "./tools.ts";
export type { Trace, TraceEvent } from "./trace.ts";
export { ConversationTranscript, type ConversationTurn, OUTSIDE } from "./transcript.ts";
export { type ToolInvocationRecord, toolInvocationsIn } from "./transcript.ts";
export {
  type TurnChunk,
  type TurnOptions,
  type TurnResult,
  TurnRunner,
  type TurnRunnerOptions,
} from "./turn-runner.ts";
export { sumOfUsage, TokenBudget, TokenBudgetError, tokensOf, type Usage } from "./usage.ts";
