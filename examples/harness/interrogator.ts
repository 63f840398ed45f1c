// An interrogator reads a conversation, asks what is missing, and a witness answers in the same transcript.
import {
  ANALYSIS_PRESETS,
  type ConversationTranscript,
  type Participant,
  TranscriptAnalyzer,
  TurnRunner,
} from "bosun/harness";

export async function interrogate(
  interrogator: Participant,
  witness: Participant,
  transcript: ConversationTranscript,
  rounds: number,
) {
  const analyzer = new TranscriptAnalyzer(interrogator);
  for (let round = 1; round <= rounds; round += 1) {
    const { message } = await analyzer.analyze(transcript, `${ANALYSIS_PRESETS.interrogate} Ask one question only.`);
    transcript.append({ participant: interrogator.name, message });
    const history = transcript.messagesFor(witness.name);
    const { turn } = await new TurnRunner(witness).runTurn(history.slice(0, -1), message.content);
    transcript.append(turn);
  }
  return transcript;
}
