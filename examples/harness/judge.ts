// A judge scores a conversation by a schema.
import { ANALYSIS_PRESETS, type ConversationTranscript, type ProviderAdapter, TranscriptAnalyzer } from "bosun/harness";

const SCHEMA = {
  type: "object",
  properties: {
    scores: {
      type: "array",
      items: {
        type: "object",
        properties: { participant: { type: "string" }, score: { type: "integer" }, reason: { type: "string" } },
        required: ["participant", "score", "reason"],
        additionalProperties: false,
      },
    },
  },
  required: ["scores"],
  additionalProperties: false,
};

export async function judge(adapter: ProviderAdapter, model: string, transcript: ConversationTranscript) {
  const analyzer = new TranscriptAnalyzer({ name: "judge", adapter, model, modelConfig: { temperature: 0 } });
  const { message } = await analyzer.analyze(transcript, ANALYSIS_PRESETS.judge, {
    responseFormat: { type: "json", name: "scores", schema: SCHEMA },
  });
  return JSON.parse(message.content) as {
    scores: { participant: string; score: number; reason: string }[];
  };
}
