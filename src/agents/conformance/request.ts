import { join } from "node:path";
import type { TurnRequest } from "../../kernel/agent.ts";
import { makeDirectory } from "../../lib/files.ts";
import { type JsonObject, objectOf, textOf } from "../../lib/json.ts";
import type { PayloadByType } from "../../protocol/payload.ts";

/** A turn that no session gives. */
interface LoneTurn extends Pick<TurnRequest, "session_id" | "at" | "role" | "timeout_ms"> {
  /** The turn's part of the request: expects, message, context. */
  readonly turn: JsonObject;
  /** The directory that holds those of the turn. */
  readonly directory: string;
  readonly slot?: number;
  readonly attempt?: number | undefined;
}

export function loneRequest({ turn, directory, slot = 1, attempt = 1, ...about }: LoneTurn): TurnRequest {
  const turn_id = `t${slot}`;
  const subject = textOf(objectOf(objectOf(turn["context"])["ticket"])["ticket_id"]);
  const workspace = join(directory, `work-${slot}`);
  const artifacts_dir = join(directory, `artifacts-${slot}`);
  for (const path of [workspace, artifacts_dir]) makeDirectory(path);
  const limits = { timeout_s: about.timeout_ms / 1_000 };
  const payload = { turn_id, role_id: about.role.role_id, ...turn, limits, workspace, artifacts_dir };
  return {
    ...about,
    stamp: { turn_id, attempt, run: 1, ...(subject === "" ? {} : { subject }) },
    payload: payload as unknown as PayloadByType["turn_request"],
    idle_timeout_ms: 0,
    slot,
    output_directory: join(directory, "output"),
  };
}
