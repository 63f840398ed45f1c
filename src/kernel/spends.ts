import type { PayloadByType, Usage } from "../protocol/payload.ts";
import { childId } from "./children.ts";
import { type Whose, withRun, withSpent, withUnknown, withUsage } from "./figures.ts";
import { isHold } from "./holds.ts";
import { applyToLedger, type Ledger, type LedgerSpend, type LedgerTurn, put, roleOf } from "./ledger.ts";
import type { Change, Fact } from "./mode.ts";

const NOTHING: LedgerSpend = {
  turns: 0,
  input_tokens: 0,
  output_tokens: 0,
  cached_tokens: 0,
  cost_usd: 0,
  untold_turns: 0,
  unpriced_turns: 0,
};

const OF_ROLE = "role/";
const OF_SUBJECT = "subject/";

/** What each role has spent, sorted by role id, because rows may load in any order. */
export function spendsByRole({ spends }: Pick<Ledger, "spends">): (readonly [role_id: string, spend: LedgerSpend])[] {
  return [...spends]
    .flatMap(([id, spend]) => (id.startsWith(OF_ROLE) ? [[id.slice(OF_ROLE.length), spend] as const] : []))
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** What the turns about a subject have spent; undefined before the first has ended. */
export function spendOf({ spends }: Ledger, subject: string): LedgerSpend | undefined {
  return spends.get(OF_SUBJECT + subject);
}

/**
 * Whether a program of this role has run in this session, as far as its other turns tell. The programs of a child session were there when its parent
 * began.
 */
export function hasRun({ terms, turns, spends }: Ledger, role_id: string, turn_id: string): boolean {
  const { turns: ended = 0, unstarted_turns = 0 } = spends.get(OF_ROLE + role_id) ?? {};
  const isOther = (turn: LedgerTurn) => turn.turn_id !== turn_id && turn.status === "open" && turn.role_id === role_id;
  return terms.child === true || ended > unstarted_turns || [...turns.values()].some(isOther);
}

export class StepSpends {
  readonly #ledger: Ledger;
  readonly #after = new Map<string, LedgerSpend>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  ended(fact: Fact): void {
    this.#add(whoseIs(this.#ledger, fact), (spend) => {
      const after = marked(withRun({ ...spend, turns: spend.turns + 1 }, fact.usage), fact.usage);
      return isUnstarted(fact) ? { ...after, unstarted_turns: (after.unstarted_turns ?? 0) + 1 } : after;
    });
  }

  /** Adds the usage that a late fact reports for a run that is already counted. */
  late(fact: Fact): void {
    if (fact.usage) this.#add(whoseIs(this.#ledger, fact), (spend) => marked(withUsage(spend, fact.usage), fact.usage));
  }

  /** Counts runs, and child sessions without a role, that were cut short before they could report their usage. */
  cut(all: readonly Whose[]): void {
    for (const whose of all) {
      if (whose.role_id !== undefined)
        this.#add(whose, (spend) => withRun({ ...spend, turns: spend.turns + 1 }, undefined));
      else this.#add(whose, (spend) => ({ ...spend, unpriced_turns: spend.unpriced_turns + 1 }));
    }
  }

  /** Adds the usage of a child session that has ended. */
  child({ session_id, usage }: PayloadByType["session_finished"]): void {
    const subject = this.#ledger.children.get(childId(session_id))?.subject;
    for (const spent of usage.by_role ?? []) {
      this.#add({ role_id: spent.role_id, subject }, (spend) => marked(withSpent(spend, spent), spent));
    }
  }

  write(changes: Change[]): void {
    for (const [id, spend] of this.#after) changes.push(put("spend", id, spend));
  }

  #add({ role_id, subject }: Whose, more: (before: LedgerSpend) => LedgerSpend): void {
    const ofRole = role_id === undefined ? [] : [OF_ROLE + role_id];
    const ofSubject = subject === undefined ? [] : [OF_SUBJECT + subject];
    for (const id of [...ofRole, ...ofSubject]) {
      this.#after.set(id, more(this.#after.get(id) ?? this.#ledger.spends.get(id) ?? NOTHING));
    }
  }
}

/** The ledger of a session that nobody runs, with its open runs counted as cut short: as a resume will count them. */
export function withCutRuns(ledger: Ledger): Ledger {
  const cut = [...ledger.turns.values()].filter(({ status, told }) => status === "open" && told !== true);
  const after = {
    ...ledger,
    spends: new Map(ledger.spends),
    figures: withUnknown(ledger.figures, cut.length, cut.length),
  };
  const changes: Change[] = [];
  const spends = new StepSpends(ledger);
  spends.cut(cut);
  spends.write(changes);
  for (const change of changes) applyToLedger(after, change);
  return after;
}

/** Whether a fact reports that its program was not there, or could not be started. */
function isUnstarted(fact: Fact): boolean {
  return isHold(fact) && fact.payload_type === "turn_failed" && fact.payload.details?.program !== undefined;
}

function whoseIs(ledger: Ledger, fact: Fact): Whose {
  return { role_id: roleOf(ledger, fact), subject: fact.turn?.subject };
}

/** Marks a spend if some of its cost was computed. */
function marked(spend: LedgerSpend, { computed }: Pick<Usage, "computed"> = {}): LedgerSpend {
  return computed === true ? { ...spend, computed } : spend;
}
