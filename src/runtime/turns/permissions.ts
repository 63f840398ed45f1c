import { createHash } from "node:crypto";
import type { Permission, PermissionRequest, TurnRequest } from "../../kernel/agent.ts";
import type { TurnStamp } from "../../kernel/mode.ts";
import type { JsonObject } from "../../lib/json.ts";
import { isCriterion } from "../../protocol/criteria.ts";
import { cut } from "../../protocol/refusal.ts";
import { about as recorded } from "../../protocol/recording.ts";
import { permissionsOf } from "../../protocol/roles.ts";
import type { SessionContext } from "../context.ts";
import { aboutOf } from "../facts.ts";

const ENDED: Permission = { granted: false, notes: "The turn has ended." };

/** The most characters of each text that a person is shown. */
const MAX_ACTION = 2_000;
const MAX_DETAILS = 100_000;

/** Permissions that the programs of running turns wait for. */
export class Permissions {
  readonly #context: SessionContext;
  readonly #open = new Map<string, { readonly turn: TurnStamp; readonly decide: (permission: Permission) => void }>();

  constructor(context: SessionContext) {
    this.#context = context;
  }

  /** Asks a person, as far as the role may; resolves when that is decided or the turn ends. */
  ask(
    asked: PermissionRequest,
    { role, stamp, payload: given }: TurnRequest,
    signal: AbortSignal,
  ): Promise<Permission> {
    if (signal.aborted) return Promise.resolve(ENDED);
    const action = cut(asked.action.toWellFormed(), MAX_ACTION);
    if (permissionsOf(role).ask === "deny") {
      const message = `${role.role_id} asked for a permission, which its role denies: ${action}`;
      const payload = { code: "not_permitted", message };
      this.#context.note({ source: "scheduler", payload_type: "error", payload, disposition: "refused", turn: stamp });
      return Promise.resolve({ granted: false, notes: `The permissions of ${role.role_id} do not allow it.` });
    }
    const ask_id = `p${this.#context.nextSequence()}`;
    const { details, why } = asked;
    const about: JsonObject = {
      role_id: role.role_id,
      action,
      ...(details === undefined ? {} : { details: cut(details.toWellFormed(), MAX_DETAILS) }),
      ...(why === undefined ? {} : { why: cut(why.toWellFormed(), MAX_ACTION) }),
      digest: digestOf(asked),
      ...(isCriterion(action, given) ? { criterion: true } : {}),
    };
    const { promise, resolve } = Promise.withResolvers<Permission>();
    const end = () => this.decide(ask_id, ENDED);
    this.#open.set(ask_id, { turn: stamp, decide: resolve });
    signal.addEventListener("abort", end, { once: true });
    const done = this.#context.submit({
      source: "scheduler",
      target: "user",
      payload_type: "approval_request",
      payload: {
        subject: "permission",
        ask_id,
        about,
        ...recorded(stamp.subject),
      },
      turn: stamp,
      ...aboutOf(stamp),
    });
    if (done?.disposition !== "applied") end();
    return promise.finally(() => signal.removeEventListener("abort", end));
  }

  /** Tells the program that waits. */
  decide(ask_id: string, permission: Permission): void {
    this.#open.get(ask_id)?.decide(permission);
    this.#open.delete(ask_id);
  }

  /** The agent of a run is gone: nothing waits any more. */
  over({ turn_id, run }: TurnStamp): void {
    for (const [ask_id, { turn }] of this.#open)
      if (turn.turn_id === turn_id && turn.run === run) this.decide(ask_id, ENDED);
  }
}

function digestOf({ action, details = "" }: PermissionRequest): string {
  return `sha256:${createHash("sha256")
    .update(JSON.stringify([action, details]))
    .digest("hex")}`;
}
