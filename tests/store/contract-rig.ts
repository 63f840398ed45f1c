import type { Change } from "../../src/kernel/mode.ts";
import type { Json } from "../../src/lib/json.ts";
import type { Lease, NewSession, Store } from "../../src/store/store.ts";
import { OWNER } from "./records.ts";
import { value } from "../results.ts";

/** A store under test, and further connections to the same sessions, as separate processes have. */
export interface StoreUnderTest {
  readonly store: Store;
  /** Another connection to the same sessions. */
  readonly another: () => Store;
}

export const ACTOR = { user: "anna", host: "here", via: "cli" };

/** A store that holds one session. */
export async function begun(open: () => StoreUnderTest, session_id = "s1"): Promise<StoreUnderTest & { lease: Lease }> {
  const { store, another } = open();
  value(await store.create(session(session_id)));
  return { store, another, lease: value(await store.acquire(session_id, OWNER)) };
}

export function session(session_id: string): NewSession {
  return { session_id, mode: "schedule", workspace: "/somewhere", created_at: "2026-01-01T00:00:00Z" };
}

export function put(collection: string, id: string, json: Json): Change {
  return { put: collection, id, value: json };
}

export function drop(collection: string, id: string): Change {
  return { drop: collection, id };
}
