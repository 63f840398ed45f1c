import { existsSync } from "node:fs";
import { join } from "node:path";
import SqliteDatabase from "better-sqlite3";
import { waitingOf } from "../../src/commands/lookup/asks.ts";
import type { CrashPoint } from "../../src/lib/crash-point.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import { openReader, openStore } from "../../src/store/sqlite-store.ts";
import type { Death } from "./deaths.ts";
import { begin, type Ended, type Place, resume, start } from "./place.ts";
import { value } from "../results.ts";

/** More schedulers than any of these sessions can need. */
const MOST_LIVES = 25;

/** Nothing here takes so long, however busy the machine is, in ms. */
const LONGEST_LIFE_MS = 30_000;

/** How much of what a scheduler said is shown when it went wrong, in characters. */
const LAST_WORDS = 2_000;

/** What became of a session. */
export interface Outcome {
  /** Where its schedulers were killed, in order; `random` for an instant. */
  readonly kills: readonly (CrashPoint | "random")[];
  /** Schedulers in all. */
  readonly lives: number;
  /** What a person put to it. */
  readonly words: number;
  /** What went wrong already. */
  readonly violations: readonly string[];
}

/**
 * Carries a session to its end: whenever its scheduler dies, stops or waits, the next one takes it up, and a person answers what
 * is asked, through the inbox. Each death is waited for until it comes, in whichever life that is.
 */
export async function carryOut(place: Place, deaths: readonly Death[]): Promise<Outcome> {
  const { scenario } = place;
  const ahead = [...deaths];
  const kills: (CrashPoint | "random")[] = [];
  const violations: string[] = [];
  let words = 0;
  let terminations = scenario.terminate?.times ?? 0;
  for (let lives = 1; lives <= MOST_LIVES; lives += 1) {
    const death = ahead[0];
    const ended = await live(place, death, () => terminations-- > 0);
    if (ended.signal === "SIGKILL") {
      kills.push(death?.point ?? "random");
      ahead.shift();
      continue;
    }
    // It was leaving already, and heard signals no more.
    if (ended.signal === "SIGTERM") continue;
    // An instant that a life did not reach is over; a point may still come.
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
          `life ${lives} ended with ${ended.code ?? ended.signal}: ${ended.stderr}${ended.stdout.slice(-LAST_WORDS)}`,
        );
        return { kills, lives, words, violations };
    }
  }
  return { kills, lives: MOST_LIVES, words, violations: [...violations, `not at its end after ${MOST_LIVES} lives`] };
}

/** One scheduler's life. `mayStop` is asked when it gives the turn at which it may be told to stop. */
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

/** Whether there is a record of it; looks only, since to make home and database is the program's to do, and to die of. */
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
    // Whoever died while making the database left a journal that only a writer can roll back: nothing was begun.
    if ((error as { readonly code?: unknown }).code === "SQLITE_READONLY_ROLLBACK") return false;
    throw error;
  } finally {
    database.close();
  }
}

/** The process that holds the session now, if there is one. */
export function holderOf({ home, session_id }: Place): number | undefined {
  if (!existsSync(join(home, "bosun.db"))) return undefined;
  const store = value(openReader(home));
  try {
    return store.holder(session_id)?.pid;
  } finally {
    store.close();
  }
}

/** Puts into the inbox what a person says to all that is asked; how many words that is. */
async function answer(place: Place): Promise<number> {
  const { session_id, scenario } = place;
  const store = value(openStore(place.home));
  try {
    // What was put and not taken yet waits there, whoever died.
    if (store.inbox.pending(session_id).length > 0) return 0;
    const put = async (payload_type: string, payload: JsonObject) =>
      value(await store.inbox.put(session_id, { payload_type, payload }, { user: "ada", host: "here", via: "test" }));
    if (scenario.person === "cancels") {
      await put("user_command", { command: "cancel" });
      return 1;
    }
    const waiting = value(await waitingOf(store, session_id));
    for (const one of waiting) {
      if (one.kind === "approval") await put("approval", { decision: "approved", ask_id: one.ask_id });
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
