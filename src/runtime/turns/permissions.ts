import { hash } from "node:crypto";
import type { Permission, PermissionRequest, TurnRequest } from "../../kernel/agent.ts";
import type { TurnStamp } from "../../kernel/mode.ts";
import { defined, type JsonObject } from "../../lib/json.ts";
import { prefixOf } from "../../protocol/allowed-commands.ts";
import { isCriterion } from "../../protocol/criteria.ts";
import { cut } from "../../protocol/refusal.ts";
import { about as recorded } from "../../protocol/recording.ts";
import { permissionsOf } from "../../protocol/roles.ts";
import type { SessionContext } from "../context.ts";

/** The answer to a request whose turn has ended. */
export const ENDED: Permission = { granted: false, notes: "The turn has ended." };

/** How the action of a command begins. */
const RUN = "run: ";

/** Maximum number of characters recorded: of what is decided, and of each line about it. */
const MAX_DETAILS = 100_000;
export const MAX_LINE = 2_000;

/** Maximum number of permissions that one run may wait for at a time, and ask for in total. */
const MAX_OPEN = 10;
const MAX_ASKED = 200;

/** The permission requests of one run. */
interface AskCounts {
  total: number;
  open: number;
  /** Whether a request was over these limits. */
  tooMany: boolean;
}

/** Permissions that programs of running turns wait for. */
export class Permissions {
  readonly #context: SessionContext;
  readonly #asked = new WeakMap<TurnStamp, AskCounts>();
  readonly #open = new Map<string, { readonly turn: TurnStamp; readonly decide: (permission: Permission) => void }>();

  constructor(context: SessionContext) {
    this.#context = context;
  }

  /** Asks a person, as far as the role may. Resolves once that is decided or the turn ends. */
  async ask(asked: PermissionRequest, { role, stamp, payload }: TurnRequest, signal: AbortSignal): Promise<Permission> {
    if (signal.aborted) return ENDED;
    const { role_id } = role;
    const counts = this.#countsOf(stamp);
    if (counts.open >= MAX_OPEN || counts.total >= MAX_ASKED) {
      const notes = `One turn may ask for ${MAX_ASKED} permissions, and wait for ${MAX_OPEN} at a time.`;
      if (!counts.tooMany) this.#refuse(stamp, `${role_id} asked for too many permissions. ${notes}`);
      counts.tooMany = true;
      return { granted: false, notes };
    }
    counts.total += 1;
    const action = cut(asked.action.toWellFormed(), MAX_LINE);
    if (permissionsOf(role).ask === "deny") {
      this.#refuse(stamp, `${role_id} asked for a permission, which its role denies: ${action}`);
      return { granted: false, notes: `The permissions of ${role_id} do not allow it.` };
    }
    const details = wholeOf(asked);
    if (details.length > MAX_DETAILS) {
      const notes = `It has ${details.length} characters, and a person is shown at most ${MAX_DETAILS}: ask for less.`;
      this.#refuse(stamp, `${role_id} asked for a permission that is too long to be decided. ${notes} ${action}`);
      return { granted: false, notes };
    }
    counts.open += 1;
    const { why } = asked;
    const about: JsonObject = {
      role_id,
      action,
      ...defined({ details: details.toWellFormed() || undefined, why: why && cut(why.toWellFormed(), MAX_LINE) }),
      digest: digestOf(asked),
      // A request with details is for more than the command: it may leave a sandbox, for example.
      ...(details === "" && isCriterion(action, payload) ? { criterion: true } : {}),
      ...(details === "" && action.startsWith(RUN) ? defined({ prefix: prefixOf(action.slice(RUN.length)) }) : {}),
    };
    return this.#decision(about, stamp, signal).finally(() => {
      counts.open -= 1;
    });
  }

  #decision(about: JsonObject, stamp: TurnStamp, signal: AbortSignal): Promise<Permission> {
    const ask_id = `p${this.#context.nextSequence()}`;
    const { promise, resolve } = Promise.withResolvers<Permission>();
    const end = () => this.decide(ask_id, ENDED);
    this.#open.set(ask_id, { turn: stamp, decide: resolve });
    signal.addEventListener("abort", end, { once: true });
    const done = this.#context.submit({
      source: "scheduler",
      target: "user",
      payload_type: "approval_request",
      payload: { subject: "permission", ask_id, about, ...recorded(stamp.subject) },
      turn: stamp,
      subject: stamp.subject,
    });
    if (done?.disposition !== "applied") end();
    return promise.finally(() => signal.removeEventListener("abort", end));
  }

  #countsOf(stamp: TurnStamp): AskCounts {
    const counts = this.#asked.get(stamp) ?? { total: 0, open: 0, tooMany: false };
    this.#asked.set(stamp, counts);
    return counts;
  }

  #refuse(turn: TurnStamp, message: string): void {
    const payload = { code: "not_permitted", message };
    this.#context.note({ source: "scheduler", payload_type: "error", payload, disposition: "refused", turn });
  }

  /** Passes the decision to the waiting program. */
  decide(ask_id: string, permission: Permission): void {
    this.#open.get(ask_id)?.decide(permission);
    this.#open.delete(ask_id);
  }

  /** Call when the agent of a run is gone: nothing waits any more. */
  over({ turn_id, run }: TurnStamp): void {
    for (const [ask_id, { turn }] of this.#open)
      if (turn.turn_id === turn_id && turn.run === run) this.decide(ask_id, ENDED);
  }
}

/** The part of a request that the line of its action leaves out. */
function wholeOf({ action, details = "" }: PermissionRequest): string {
  return action.length <= MAX_LINE ? details : `${action}\n${details}`.trim();
}

function digestOf({ action, details = "" }: PermissionRequest): string {
  return `sha256:${hash("sha256", JSON.stringify([action, details]))}`;
}
