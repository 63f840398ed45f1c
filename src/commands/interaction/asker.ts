import type { ToldAsk } from "../../protocol/telling.ts";
import type { Reporter } from "../../ui/reporter.ts";
import type { Waiting } from "../../ui/waiting.ts";
import type { PersonMessage, Refusal } from "./person-message.ts";

/** Something a session asks, as an `Asker` receives it. */
export interface OpenAsk extends ToldAsk {
  /** What still waits for a person; empty once it is settled, and while this person's answer is on its way. */
  waiting(): readonly Waiting[];
  /** Sends a person's message about it. Settles when the message is on record, or known to take long; with the reason if it was refused. */
  say(message: PersonMessage): Promise<Refusal | undefined>;
}

/** Asks people. `PromptAsker` is for the plain terminal; with `nobody`, the session is only shown. */
export interface Asker {
  /** Called when a person is needed for something. */
  ask(ask: OpenAsk): void;
  /** Called when the session has moved, so that what is being asked may be settled. */
  look(): void;
  /** Says why a person's message was refused, or that its outcome is not known yet. */
  complain(why: Refusal): void;
  /** Stops asking. Settles when the terminal is free again. */
  end(): Promise<void>;
}

/** Asks no person: shows what is asked, with the commands that answer it from anywhere. */
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
