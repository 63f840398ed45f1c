import { PassThrough } from "node:stream";
import { expect, test, vi } from "vitest";
import { failedEvent } from "../../src/commands/context/exit-code.ts";
import type { LedgerHold } from "../../src/kernel/ledger.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import { schedulePresentation } from "../../src/modes/schedule/presentation.ts";
import type { TurnAbout } from "../../src/runtime/bus.ts";
import { EVENT_TYPES, EVENTS_VERSION } from "../../src/ui/events.ts";
import { jsonReporter } from "../../src/ui/json.ts";
import type { Ending, Opening, TicketLine } from "../../src/ui/reporter.ts";
import { outputOn, type Terminal } from "../../src/ui/terminal.ts";
import type { OpenQuestion } from "../../src/ui/waiting.ts";
import { jsonLines, rig, tinyPlan } from "../commands/rig.ts";
import { record } from "../ui/records.ts";
import { SPEC } from "./spec.ts";

const PART = SPEC.slice(SPEC.indexOf("\n### 13.5 "), SPEC.indexOf("\n### 13.6 "));

/** The names in code spans, but those in parentheses, which are values. */
const named = (text: string) =>
  [...text.replace(/\([^)]*\)/g, "").matchAll(/`([a-z_]+)(?:\[\])?`/g)].map(([, name = ""]) => name);

/** What the table says of an event: its own fields, and those of the objects in them. */
const ROWS = new Map(
  [...PART.matchAll(/^\| `(?!type`)(\w+)` \| [^|]* \| (.*) \|$/gm)].map(([, type = "", fields = ""]) => [
    type,
    {
      own: named(fields.replace(/\{[^}]*\}/g, "")),
      inner: new Map(
        [...fields.matchAll(/`(\w+)(?:\[\])?` \{([^}]*)\}/g)].map(([, of = "", all = ""]) => [of, named(all)]),
      ),
      isOpen: fields.includes("other fields"),
    },
  ]),
);

const TURN: TurnAbout = { turn_id: "t1", run: 1, role_id: "hand", subject: "build" };

const QUESTION: OpenQuestion = { kind: "question", ask_id: "c1", question_id: "c1.q", text: "Which?", options: [] };

const HOLD = { role_id: "hand", reason: "authentication", since: "2026-01-02T03:04:05Z" } as LedgerHold;

const TICKET: Required<TicketLine> = {
  ticket_id: "build",
  status: "error",
  title: "Build it",
  attempt: 1,
  reason: "agent_failed",
  spent: "max_attempts",
  cause: { words: "No.", printed: "" },
  blocked_by: "other",
  waits_for: "other",
  merging: "waiting to be merged",
  owner: "hand",
  interrupted: true,
  outputs: [],
  summary: "It is not built.",
  changed_files: { files: [], count: 0 },
  dependencies: [],
  usage: { turns: 1, input_tokens: 1, output_tokens: 1, cost_usd: null },
};

const USAGE = {
  turns: 1,
  input_tokens: 1,
  output_tokens: 1,
  cached_tokens: 1,
  cost_usd: null,
  told_usd: 0.5,
  untold_turns: 1,
};

const FAILURE = { code: "internal", message: "No.", hint: "Try again.", details: {} } as const;

/** One event of each type, with every field. */
async function written(): Promise<JsonObject[]> {
  const stream = new PassThrough();
  const out = outputOn(stream as unknown as NodeJS.WriteStream);
  const now = () => ({
    state: "running",
    counts: {},
    turns: 1,
    usage: USAGE,
    waiting: 0,
    running: [TURN],
    checking: [],
    held: [],
  });
  const reporter = jsonReporter(out);
  const about = { session_id: "s-1", version: "0.0.0", requirement: "Do it", workspace: "/w", resumed: false };
  vi.useFakeTimers();
  reporter.begin({
    ...about,
    output: "/o",
    kill_grace_s: 1,
    now,
    time: Date.now,
    counts: () => ({}),
    earlier: [],
    presentation: () => schedulePresentation,
  } satisfies Opening);
  vi.advanceTimersByTime(30_000);
  vi.useRealTimers();
  reporter.event({ kind: "record", sequence: 1, record: record("report", {}) });
  reporter.event({ kind: "turn_started", ...TURN, pid: 1 });
  reporter.event({ kind: "console", ...TURN, stream: "stdout", text: "hi" });
  reporter.event({ kind: "turn_ended", ...TURN });
  reporter.event({ kind: "warning", text: "Oh." });
  reporter.childWaits({ session_id: "s-2", waiting: [QUESTION], holds: [HOLD] });
  reporter.end({
    ...{ session_id: "s-1", presentation: schedulePresentation, free: true, exit_code: 1 },
    ...{
      state: "closed",
      message: "No.",
      failure: FAILURE,
      cause: undefined,
      outcome: "failed",
      tickets: [TICKET],
      interrupted_turns: 0,
    },
    ...{
      usage: USAGE,
      elapsed_ms: 1,
      result: {},
      roles: [],
      waiting: [QUESTION],
      unheard: [{ said: "cancel", again: "bosun retry" }],
    },
    ...{ children: [], report: "/r", kept: [], log: "/l", next: [] },
  } satisfies Ending);
  reporter.close();
  failedEvent({ out } as unknown as Terminal, FAILURE, 70);
  const here = rig();
  const plan = tinyPlan([{ task_id: "write", shell: "true" }]);
  const left = await here.run(["run", "--plan", here.write("plan.json", plan), "--detach", "--json"]);
  await here.run(["attach"]);
  return [...jsonLines<JsonObject>(String(stream.read())), ...jsonLines<JsonObject>(left.stdout)];
}

test("SPEC.md has a row for every type of event that is written, and no other", () => {
  expect([...ROWS.keys()].toSorted()).toEqual([...EVENT_TYPES].toSorted());
  expect(PART).toContain(`\`hello.schema\` is the version of this table, \`${EVENTS_VERSION}\`.`);
});

test("SPEC.md names every field of every event, and no other", async () => {
  const events = await written();
  for (const event of events) {
    const { type, ...fields } = event as JsonObject & { type: string };
    const row = ROWS.get(type);
    if (!row) throw new Error(`SPEC.md has no event ${type}`);
    const names = Object.keys(fields);
    const told = row.isOpen ? names.filter((name) => row.own.includes(name)) : names;
    expect([type, told.toSorted()]).toEqual([type, row.own.toSorted()]);
    for (const [name, inner] of row.inner) {
      const [value] = [fields[name]].flat();
      expect([type, name, Object.keys(value as JsonObject).toSorted()]).toEqual([type, name, inner.toSorted()]);
    }
  }
  expect(new Set(events.map(({ type }) => type))).toEqual(new Set(EVENT_TYPES));
});
