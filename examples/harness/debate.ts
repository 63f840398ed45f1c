// Two models argue, a third one judges: an orchestrator made of the primitives.
import { ConversationRunner, type Participant, parseStopCondition, TranscriptAnalyzer } from "bosun/harness";

export class DebateOrchestrator {
  readonly #conversation: ConversationRunner;
  readonly #analyzer: TranscriptAnalyzer;

  constructor(pro: Participant, con: Participant, judge: Participant) {
    this.#conversation = new ConversationRunner([pro, con]);
    this.#analyzer = new TranscriptAnalyzer(judge);
  }

  async run(topic: string, rounds: number, until = 'contains("I agree")') {
    const stop = parseStopCondition(until);
    if (!stop.ok) throw new Error(stop.error);
    const { transcript, stoppedBy } = await this.#conversation.run({
      startingMessage: `Argue for: ${topic}`,
      maxTurns: rounds * 2,
      stop: stop.value,
    });
    const verdict = await this.#analyzer.analyze(transcript, "Who made the stronger argument?");
    return { transcript, stoppedBy, verdict: verdict.message.content };
  }
}
