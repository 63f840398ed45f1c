import { existsSync } from "node:fs";
import { join } from "node:path";
import SqliteDatabase from "better-sqlite3";
import { neededOf } from "../../src/commands/lookup/view.ts";
import type { CrashPoint } from "../../src/lib/crash-point.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import { openReader, openStore } from "../../src/store/sqlite-store.ts";
import type { Death } from "./deaths.ts";
import { begin, type Ended, type Place, resume, start } from "./place.ts";
import { value } from "../results.ts";

/** More schedulers than any session here needs. */
const MAX_LIVES = 25;

/** Longer than any scheduler here runs on a busy machine, in ms. */
const LONGEST_LIFE_MS = 30_000;

/** How much of a failed scheduler's output is shown, in characters. */
const LAST_OUTPUT = 2_000;

/** How a session was carried out. */
export interface Outcome {
  /** The points at which its schedulers were killed, in order; `random` for a time. */
  readonly kills: readonly (CrashPoint | "random")[];
  /** The number of schedulers. */
  readonly lives: number;
  /** The number of inbox rows that a person put. */
  readonly words: number;
  /** Violations found on the way. */
  readonly violations: readonly string[];
}

/**
 * Carries a session to its end: whenever its scheduler dies, stops or waits, the next one resumes it, and a person answers its questions
 * through the inbox. A death at a point stays pending until a scheduler passes the point.
 */
export async function carryOut(place: Place, deaths: readonly Death[]): Promise<Outcome> {
  const { scenario } = place;
  const ahead = [...deaths];
  const kills: (CrashPoint | "random")[] = [];
  const violations: string[] = [];
  const { before } = scenario;
  if (before) {
    const { code, stderr } = await start(place, begin(place, before.begin, before.session_id)).ended;
    if (code !== 0) violations.push(`${before.session_id} ended with ${code}: ${stderr}`);
  }
  let words = 0;
  let terminations = scenario.terminate?.times ?? 0;
  for (let lives = 1; lives <= MAX_LIVES; lives += 1) {
    const death = ahead[0];
    const ended = await live(place, death, () => terminations-- > 0);
    if (ended.signal === "SIGKILL") {
      kills.push(death?.point ?? "random");
      ahead.shift();
      continue;
    }
    // It was exiting already and handled no more signals.
    if (ended.signal === "SIGTERM") continue;
    // A time that the scheduler did not reach is dropped; a point stays pending.
    if (death && !death.point) ahead.shift();
    switch (ended.code) {
      case 4:
        words += await answer(place);
        continue;
      case 5:
      case 143:
        continue;
      case scenario.exit_code:
        return { kills, lives, words, violations };
      default:
        violations.push(
          `life ${lives} ended with ${ended.code ?? ended.signal}: ${ended.stderr}${ended.stdout.slice(-LAST_OUTPUT)}`,
        );
        return { kills, lives, words, violations };
    }
  }
  return { kills, lives: MAX_LIVES, words, violations: [...violations, `not at its end after ${MAX_LIVES} lives`] };
}

/** Runs one scheduler. `mayStop` is asked at the turn of the ticket at which the scenario sends SIGTERM. */
async function live(place: Place, death: Death | undefined, mayStop: () => boolean): Promise<Ended> {
  const ticket = place.scenario.terminate?.ticket;
  const { child, ended } = start(place, wasBegun(place) ? resume(place) : begin(place), {
    crash_at: death?.point && `${death.point}:${death.passing}`,
    hear: (line) => {
      if (ticket === undefined || !line.includes('"payload_type":"turn_request"')) return;
      const { record } = JSON.parse(line) as { record: { ticket_id?: string } };
      if (record.ticket_id === ticket && mayStop()) child.kill("SIGTERM");
    },
  });
  const limit = setTimeout(() => child.kill("SIGABRT"), LONGEST_LIFE_MS);
  const alarm = death && !death.point ? setTimeout(() => child.kill("SIGKILL"), death.after_ms) : undefined;
  const end = await ended;
  clearTimeout(limit);
  clearTimeout(alarm);
  return end;
}

/** Whether the session has a record. Only reads: the program makes the home and the database, and may die doing so. */
export function wasBegun({ home, session_id }: Place): boolean {
  const file = join(home, "bosun.db");
  if (!existsSync(file)) return false;
  const database = new SqliteDatabase(file, { readonly: true });
  try {
    const isThere = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'sessions'").get() !== undefined;
    if (!isThere) return false;
    return (
      database.prepare("SELECT 1 FROM sessions WHERE session_id = ? AND last_sequence > 0").get(session_id) !==
      undefined
    );
  } catch (error) {
    // A scheduler that died while making the database left a journal that only a writer can roll back: nothing has begun.
    if ((error as { readonly code?: unknown }).code === "SQLITE_READONLY_ROLLBACK") return false;
    throw error;
  } finally {
    database.close();
  }
}

/** The process that holds the session now, if any. */
export function holderOf({ home, session_id }: Place): number | undefined {
  if (!existsSync(join(home, "bosun.db"))) return undefined;
  const store = value(openReader(home));
  try {
    return store.holder(session_id)?.pid;
  } finally {
    store.close();
  }
}

/** Answers all open questions through the inbox; returns the number of rows. */
async function answer(place: Place): Promise<number> {
  const { session_id, scenario } = place;
  const store = value(openStore(place.home));
  try {
    // Rows from an earlier life still wait.
    if (store.inbox.pending(session_id).length > 0) return 0;
    const put = async (payload_type: string, payload: JsonObject) =>
      value(await store.inbox.put(session_id, { payload_type, payload }, { user: "ada", host: "here", via: "test" }));
    if (scenario.person === "cancels") {
      await put("user_command", { command: "cancel" });
      return 1;
    }
    const { waiting } = await neededOf(store, session_id);
    for (const one of waiting) {
      if (one.kind === "approval") await put("approval", { decision: "approved", ask_id: one.ask_id });
      else if (one.kind === "permission") await put("approval", { decision: "approved", ask_id: one.ask_id });
      else if (one.kind === "review") await put("review", { decision: "approved", ticket_id: one.ticket_id });
      else {
        const { question_id } = one;
        await put("clarification_response", { status: "answered", answers: [{ question_id, text: "green" }] });
      }
    }
    return waiting.length;
  } finally {
    store.close();
  }
}
