import type { MessageContent } from "./messages.ts";
import type { Participant } from "./provider.ts";
import { heldBy, type StopCondition } from "./stop-conditions.ts";
import type { Tools } from "./tools.ts";
import { ConversationTranscript, OUTSIDE } from "./transcript.ts";
import { TurnRunner, type TurnOptions, type TurnRunnerOptions } from "./turn-runner.ts";
import { TokenBudgetError } from "./usage.ts";

export interface ConversationOptions extends Omit<TurnOptions, "tools"> {
  /** From outside, before the first turn. May be left out if the transcript has turns. */
  readonly startingMessage?: MessageContent;
  /** An earlier conversation, which goes on with whoever follows its last speaker. It is appended to, also if a turn fails. */
  readonly transcript?: ConversationTranscript;
  /** Turns of this run. */
  readonly maxTurns: number;
  /** Asked after each turn, also after the last. */
  readonly stop?: StopCondition;
  /** Who else takes part from now on: asked before each turn. Those who do already stay where they are. */
  readonly inject?: (transcript: ConversationTranscript) => readonly Participant[];
  readonly toolsFor?: (participant: Participant) => Tools | undefined;
}

export interface ConversationResult {
  readonly transcript: ConversationTranscript;
  /** Turns of this run. */
  readonly turns: number;
  /** Everything that held when it stopped, the strongest first: `abort`, `budget`, labels of stop conditions, `maxTurns`. */
  readonly stoppedBy: readonly string[];
}

/** Lets two or more participants talk in turn, each to what was said since its last turn. */
export class ConversationRunner {
  readonly #participants: readonly Participant[];
  readonly #options: TurnRunnerOptions;

  constructor(participants: readonly Participant[], options: TurnRunnerOptions = {}) {
    if (participants.length < 2) throw new Error("A conversation needs two participants or more.");
    refuseNames(participants);
    this.#participants = participants;
    this.#options = options;
  }

  /** Rejects if a turn fails; the transcript has the turns before it. */
  async run(options: ConversationOptions): Promise<ConversationResult> {
    const { startingMessage, transcript = new ConversationTranscript(), maxTurns, stop, inject, toolsFor } = options;
    const { signal, budget } = options;
    if (startingMessage !== undefined)
      transcript.append({ participant: OUTSIDE, message: { role: "user", content: startingMessage } });
    let participants = this.#participants;
    for (let turns = 0; ; ) {
      const stoppedBy = [
        ...(signal?.aborted ? ["abort"] : []),
        ...(budget?.isSpent ? ["budget"] : []),
        ...(stop && turns > 0 ? heldBy(stop, transcript) : []),
        ...(turns < maxTurns ? [] : ["maxTurns"]),
      ];
      if (stoppedBy.length > 0) return { transcript, turns, stoppedBy };
      participants = withInjected(participants, inject?.(transcript) ?? []);
      const participant = nextOf(participants, transcript);
      const history = transcript.messagesFor(participant.name);
      const message = history.pop();
      if (message?.role !== "user") throw new Error(`There is nothing that ${participant.name} could answer.`);
      const tools = toolsFor?.(participant);
      try {
        const turnOptions = tools ? { ...options, tools } : options;
        const { turn } = await new TurnRunner(participant, this.#options).runTurn(history, message, turnOptions);
        transcript.append(turn);
        turns += 1;
      } catch (error) {
        if (!signal?.aborted && !(error instanceof TokenBudgetError)) throw error;
      }
    }
  }
}

/** Who follows the last speaker who is still here; at the beginning the first. */
function nextOf(participants: readonly Participant[], transcript: ConversationTranscript): Participant {
  const names = participants.map(({ name }) => name);
  const last = transcript.contributions.findLast(({ participant }) => names.includes(participant));
  const next = last === undefined ? 0 : (names.indexOf(last.participant) + 1) % participants.length;
  return participants[next] as Participant;
}

function withInjected(participants: readonly Participant[], injected: readonly Participant[]): readonly Participant[] {
  const added = injected.filter(({ name }) => participants.every((one) => one.name !== name));
  if (added.length === 0) return participants;
  refuseNames([...participants, ...added]);
  return [...participants, ...added];
}

function refuseNames(participants: readonly Participant[]): void {
  const names = participants.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`Two participants are called ${twice}: give each a name of its own.`);
  if (names.includes(OUTSIDE)) throw new Error(`No participant may be called ${OUTSIDE}: messages from outside are.`);
}
