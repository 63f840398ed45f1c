import type { LedgerAsk } from "../../kernel/ledger.ts";
import type { Reporter } from "../../ui/reporter.ts";
import type { Waiting } from "../../ui/waiting.ts";
import type { PersonMessage, Refusal } from "./person-message.ts";

/** Something a session asks, as an `Asker` gets it. */
export interface OpenAsk extends LedgerAsk {
  /** What of it waits for a person now; nothing once it is settled, and while this person's answer is on its way. */
  waiting(): readonly Waiting[];
  /** Says a person's message about it. Settles when that is on record, or known to take long; with the reason if it was refused. */
  say(message: PersonMessage): Promise<Refusal | undefined>;
}

/** How a person is asked. `PromptAsker` is the plain terminal's; with `nobody` the session is only shown. */
export interface Asker {
  /** A person is needed for this. */
  ask(ask: OpenAsk): void;
  /** The session has moved, so what is being asked may be settled. */
  look(): void;
  /** Tells why something a person said was refused, or that nothing is known of it yet. */
  complain(why: Refusal): void;
  /** Asks nothing any more. Settles when the terminal is free again. */
  end(): Promise<void>;
}

/** No person is at this terminal: what is asked is shown, with the commands that answer it from anywhere. */
export function nobody(reporter: Pick<Reporter, "asked">): Asker {
  return {
    ask(ask) {
      for (const one of ask.waiting()) reporter.asked(one);
    },
    look() {},
    complain() {},
    end: () => Promise.resolve(),
  };
}
