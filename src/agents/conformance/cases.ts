import { readFileSync } from "node:fs";
import { shipped } from "../../lib/files.ts";
import { type JsonObject, objectOf } from "../../lib/json.ts";
import { parseDocument } from "../../protocol/document/document.ts";
import type { Case, Inspection, Seat, Trial } from "./case.ts";

/** The program exits with 0 and has printed one accepted answer, with no message after it. An `error` is an answer, too. */
const answers: Inspection = (trial) => {
  const { end, heard, surplus } = trial;
  const [refused] = heard.refused;
  if (refused) return `it wrote a line that is refused: ${refused.message}`;
  if (heard.answer === undefined) return `it gave no answer${howItEnded(trial)}`;
  if (end.cause !== "exited") return `it did not exit after its answer${howItEnded(trial)}`;
  if (end.exit?.code !== 0) return `it answered, but${howItEnded(trial)}`;
  return surplus === 0 ? undefined : `it printed ${surplus} more messages after its answer`;
};

/** The program ends by itself, with no answer other than an `error`. */
const declines: Inspection = (trial) => {
  const { end, heard } = trial;
  if (heard.answer !== undefined && heard.answer.payload_type !== "error")
    return `it answered with ${heard.answer.payload_type}, although it could not know what was asked`;
  return end.cause === "exited" ? undefined : `it did not end by itself${howItEnded(trial)}`;
};

/** The program ends by itself and prints no message at all. */
const staysSilent: Inspection = (trial) => {
  const { end, heard } = trial;
  if (heard.answer !== undefined || heard.refused.length > 0) return "it printed a message, although nothing was asked";
  return end.cause === "exited" ? undefined : `it did not end by itself${howItEnded(trial)}`;
};

/** SIGTERM is enough to end the program. */
const yieldsToTerm: Inspection = ({ end }) =>
  end.exit?.signal === "SIGKILL" || end.exit === undefined ? "it ignored SIGTERM and had to be killed" : undefined;

function howItEnded({ end, stderr, elapsed_ms }: Trial): string {
  const said = stderr === "" ? "" : `; on stderr: ${stderr.split("\n").at(-1) ?? ""}`;
  const { code, signal } = end.exit ?? { code: null, signal: null };
  if (end.cause === "timeout" || end.cause === "idle_timeout")
    return ` within ${Math.round(elapsed_ms / 1_000)} s${said}`;
  return `${signal === null ? ` it exited with ${code ?? "nothing"}` : ` it was ended by ${signal}`}${said}`;
}

/** All cases for a seat: a turn of each kind, the same turn in other circumstances, and input that is not a request. */
export function casesFor(seat: Seat): readonly Case[] {
  const turns = turnsOf(seat);
  const [plain = {}] = Object.values(turns);
  const kinds = Object.entries(turns).map(([name, turn]) => good(name, "answers it with one message", { turn }));
  return [...kinds, ...circumstances(plain), ...badInput()].map((one) => ({ turn: plain, ...one }));
}

/** The turns of a seat by name: one for each kind of message that it gets. Every program can answer the first. */
function turnsOf(seat: Seat): Readonly<Record<string, JsonObject>> {
  const file = shipped("config", "conformance.yaml");
  const document = parseDocument(file, readFileSync(file, "utf8"));
  if (!document.ok) throw new Error(`${file}: ${document.error.what}`);
  const { context: usual, [seat]: turns } = objectOf(document.value.value);
  const named = Object.entries(objectOf(turns)).map(([name, turn]) => {
    const { message, payload, context = usual, ...more } = objectOf(turn);
    return [name, { ...more, message: { payload_type: message, payload }, context }] as const;
  });
  return Object.fromEntries(named);
}

/** A case of the plain turn that must be answered, unless `more` says otherwise. */
function good(name: string, what: string, more: Partial<Case> = {}): Omit<Case, "turn"> & Partial<Pick<Case, "turn">> {
  return { name, what, level: "must", inspect: answers, ...more };
}

/** 2 MB, in texts that an agent may quote. */
const LONG = Array.from({ length: 20 }, () => "tide ".repeat(20_000));

function circumstances(plain: JsonObject): readonly ReturnType<typeof good>[] {
  const given = (name: string, what: string, context: JsonObject) =>
    good(name, what, { turn: { ...plain, context: { ...objectOf(plain["context"]), ...context } } });
  return [
    good("in pieces", "reads a request that arrives in pieces", { delivery: { piece_bytes: 97 } }),
    good("slowly", "waits for the end of a slow request", { delivery: { piece_bytes: 400, pause_ms: 100 } }),
    given("2 MB of context", "reads a long request", { notes: LONG }),
    given("1,000 notes", "reads many notes", { notes: Array.from({ length: 1_000 }, (_, index) => `Note ${index}`) }),
    given("any language", "reads CJK, emoji and combining characters", { requirement: "潮汐页面 🚢 e\u0301 שלום" }),
    given("odd characters", "reads quotes, backslashes, tabs and U+2028 in texts", {
      requirement: '"quoted" \\ back\\slash \t tab \u2028 line $HOME `id` %s \u0007',
    }),
    given("its refused answers", "takes what was refused before", {
      refused: [
        { payload_type: "report", code: "validation_failed", pointer: "/payload/status", message: "It is missing." },
      ],
    }),
    given("a note of the person", "takes notes", { notes: ["Be brief."] }),
    given("an interrupted turn", "takes the note that work may be half done", {
      notes: ["This turn was begun before and was interrupted, so its work may be half done."],
    }),
    given("metadata", "ignores what it does not know in metadata", { metadata: { future: { deep: [[[[{}]]]] } } }),
    good("an empty context", "does without context", { level: "should", turn: { ...plain, context: {} } }),
    good("an unknown field", "ignores fields of later versions", {
      level: "should",
      turn: { ...plain, metadata: { later: true }, conversation: { how: "alone" } },
    }),
    good("a third attempt", "does not depend on the attempt", { attempt: 3 }),
    good("without HOME and LANG", "does without HOME, LANG and USER", {
      level: "should",
      without: ["HOME", "LANG", "LC_ALL", "USER"],
    }),
    good("two at once", "works beside another of its kind", { twice: true }),
    good("SIGTERM", "ends at SIGTERM", { ends: true, inspect: yieldsToTerm }),
  ];
}

function badInput(): readonly ReturnType<typeof good>[] {
  const given = (name: string, what: string, bytes: (line: Buffer) => Buffer, more: Partial<Case> = {}) =>
    good(name, what, { delivery: { bytes }, inspect: declines, ...more });
  const text = (value: string) => () => Buffer.from(value);
  const envelope = (change: (request: JsonObject) => JsonObject) => (line: Buffer) =>
    Buffer.from(`${JSON.stringify(change(JSON.parse(line.toString("utf8")) as JsonObject))}\n`);
  return [
    given("end of file", "exits without working", text(""), { inspect: staysSilent }),
    given("an empty line", "does not take an empty line for a request", text("\n")),
    given("half a line", "does not guess at a request that is cut off", (line) => line.subarray(0, line.length / 2)),
    given("no JSON", "declines what is no JSON", text("hello\n")),
    given("a list", "declines JSON that is no object", text("[]\n")),
    given("an empty object", "declines an object without a request", text("{}\n"), { level: "should" }),
    given("broken UTF-8", "declines broken UTF-8", () => Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x0a])),
    given("binary", "declines binary input", () => Buffer.alloc(4_096, 7)),
    given(
      "another envelope",
      "declines an envelope that is no request",
      envelope((value) => ({ ...value, payload_type: "final_report", payload: {} })),
      { level: "should" },
    ),
    given(
      "an unknown message",
      "declines a message that it does not know",
      envelope((value) => {
        const message = { payload_type: "weather", payload: { text: "Rain" } };
        return { ...value, payload: { ...(value["payload"] as JsonObject), message, expects: ["error"] } };
      }),
      { level: "should" },
    ),
    given("a second line", "answers the first line only", (line) => Buffer.concat([line, line]), { inspect: answers }),
    given("no line feed", "reads a request whose line feed is missing", (line) => line.subarray(0, -1), {
      level: "should",
      inspect: answers,
    }),
  ];
}
