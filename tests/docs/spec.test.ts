import { onAsk } from "../runtime/sessions.ts";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { requestLine } from "../../src/agents/cli/dialects/envelope.ts";
import { embeddedLauncher } from "../../src/agents/embedded-launcher.ts";
import { scriptedAgent } from "../../src/agents/scripted.ts";
import { DESCRIPTORS } from "../../src/modes/index.ts";
import { beginningOf } from "../../src/kernel/kit/descriptor.ts";
import { CATALOGUE } from "../../src/commands/catalogue.ts";
import type { Answer, TurnContext, TurnRequest, TurnResult } from "../../src/kernel/agent.ts";
import type { Mode } from "../../src/kernel/mode.ts";
import type { Json, JsonObject } from "../../src/lib/json.ts";
import { canonicalJson } from "../../src/lib/canonical.ts";
import type { Result } from "../../src/lib/result.ts";
import { expectedHash, seal } from "../../src/log/chain.ts";
import { verifyFolder } from "../../src/log/verify.ts";
import { scheduleMode } from "../../src/modes/schedule/mode.ts";
import { SCHEDULE_RIGHTS } from "../../src/modes/schedule/rights.ts";
import { ticketLifecycle, ticketMachine } from "../../src/modes/schedule/ticket.machine.ts";
import { validateEnvelope } from "../../src/protocol/envelope.ts";
import { WIRE_CODES } from "../../src/protocol/failure.ts";
import { MAX_DEPTH, MAX_LINE_BYTES, MAX_MEMBERS, MAX_PLAN_MEMBERS } from "../../src/protocol/limits.ts";
import { CONFIGURATION_DEFAULTS, isPayloadType, type ResolvedConfiguration } from "../../src/protocol/payload.ts";
import { expectedAnswers } from "../../src/protocol/rights.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { systemClock } from "../../src/runtime/time/clock.ts";
import type { SessionEnd } from "../../src/runtime/bus.ts";
import * as exits from "../../src/runtime/exit.ts";
import { createSession } from "../../src/runtime/create.ts";
import { verifySession } from "../../src/runtime/proof.ts";
import type { Session } from "../../src/runtime/session.ts";
import { openStore } from "../../src/store/sqlite-store.ts";
import { schemaFiles, validate } from "../protocol/examples.ts";
import { FENCES, quoted, ROOT, SPEC } from "./spec.ts";

/** The cells of the table with these headings, row by row. */
function table(...headings: readonly string[]): string[][] {
  const lines = SPEC.split("\n");
  const at = lines.findIndex((line) => line.startsWith(`| ${headings.join(" | ")} |`));
  const end = lines.findIndex((line, index) => index > at && !line.startsWith("|"));
  if (at < 0) throw new Error(`SPEC.md has no table ${headings.join(", ")}`);
  const cells = (line: string) => line.slice(1, -1).split(/(?<= )\|(?= )/);
  return lines.slice(at + 2, end).map((line) => cells(line).map((cell) => cell.trim()));
}

/** The names in code spans; a longer span is split into its names. */
function coded(text: string | undefined): string[] {
  return [...(text ?? "").matchAll(/`([^`\n]+)`/g)].flatMap(([, code = ""]) => code.match(/[A-Za-z_$][\w]*/g) ?? []);
}

/** The description of a payload type: the section under its heading, or its table row. */
function partAbout(type: string): string | undefined {
  const elsewhere = { turn_request: "## 6. `turn_request`", final_report: "### 13.1 `final_report`" };
  const heading = elsewhere[type as keyof typeof elsewhere] ?? `### \`${type}\``;
  const row = new RegExp(`^\\| \`${type}\` \\| (?!\\(r\\)).*\\(r\\).*$`, "m").exec(SPEC)?.[0];
  const at = SPEC.indexOf(`\n${heading}\n`);
  return at < 0 ? row : SPEC.slice(at, SPEC.indexOf("\n##", at + 1));
}

/** Every property in a schema, at any depth. */
function propertiesOf(schema: Json, base: string, seen = new Set<string>()): Set<string> {
  const names = new Set<string>();
  const walk = (node: Json | undefined): void => {
    if (typeof node !== "object" || node === null) return;
    if (Array.isArray(node)) return node.forEach((one) => walk(one as Json));
    const { $ref, properties, examples: _, $defs: __, ...rest } = node as JsonObject;
    for (const [name, inner] of Object.entries((properties ?? {}) as JsonObject)) {
      names.add(name);
      walk(inner);
    }
    if (typeof $ref === "string") for (const name of referred($ref, base, seen)) names.add(name);
    for (const inner of Object.values(rest)) walk(inner);
  };
  walk(schema);
  return names;
}

function referred(reference: string, base: string, seen: Set<string>): Set<string> {
  const [file = "", pointer = ""] = reference.split("#");
  const path = file === "" ? base : join(base, "..", file);
  if (seen.has(`${path}#${pointer}`)) return new Set();
  seen.add(`${path}#${pointer}`);
  const keys = pointer.split("/").slice(1);
  const whole = JSON.parse(readFileSync(path, "utf8")) as JsonObject;
  return propertiesOf(
    keys.reduce((node, key) => node[key] as JsonObject, whole),
    path,
    seen,
  );
}

describe("the text of SPEC.md", () => {
  it("names every payload type with its fields", () => {
    const ABOUT_ALL = ["turn_id", "ticket_id", "usage", "metadata"];
    const payloads = schemaFiles.filter(({ name }) => isPayloadType(name));
    const unsaid = payloads.flatMap(({ name, schema }) => {
      const said = new Set([...ABOUT_ALL, ...coded(partAbout(name))]);
      const fields = Object.keys(schema.properties as object).filter((field) => !said.has(field));
      return fields.map((field) => `${name}.${field}`);
    });
    expect(unsaid).toEqual([]);
  });

  it("names every property of every schema, at any depth", () => {
    const said = new Set(coded(SPEC));
    const unsaid = schemaFiles.flatMap(({ name, path, schema }) => {
      const properties = [...propertiesOf(schema, path)].filter((property) => !said.has(property));
      return properties.map((property) => `${name}: ${property}`);
    });
    expect(unsaid).toEqual([]);
  });

  it("lists the messages and answers that the rights allow", () => {
    const rows = table("message", "put when").map(([message, , to, answers]) => {
      return `${to} ${coded(message)[0]}: ${coded(answers).toSorted().join()}`;
    });
    const rightful = (["manager", "worker"] as const).flatMap((role) => {
      const messages = new Set(
        Object.values(SCHEDULE_RIGHTS[role]).flatMap((right) => (typeof right === "string" ? [] : right)),
      );
      return [...messages].map((message) => {
        const answers = expectedAnswers(SCHEDULE_RIGHTS, role, message).filter((type) => type !== "error");
        return `${role} ${message}: ${answers.toSorted().join()}`;
      });
    });
    expect(rows.toSorted()).toEqual(rightful.toSorted());
  });

  it("lists what each type of role may send", () => {
    const rows = table("role type", "answers").map(([role, answers]) => [role, coded(answers).toSorted()]);
    const rightful = (["manager", "worker"] as const).map((role) => {
      const types = Object.entries(SCHEDULE_RIGHTS[role]).filter(([, right]) => right !== "always");
      return [role, types.map(([type]) => type).toSorted()];
    });
    expect(rows).toEqual(rightful);
  });

  it("lists exactly the arrows of the ticket machine", () => {
    const told = table("event", "from", "to").flatMap(([event, from, to]) =>
      coded(from).map((state) => `${state} ${coded(event)[0]} ${coded(to)[0]}`),
    );
    const real = Object.keys(ticketMachine.states).flatMap((state) =>
      ticketMachine.events.flatMap((event) => {
        const to = ticketLifecycle.next(state as never, event as never);
        return to === undefined ? [] : [`${state} ${event} ${to}`];
      }),
    );
    expect(told.toSorted()).toEqual(real.toSorted());
  });

  it("lists wire limits, wire codes, configuration defaults and exit codes", () => {
    const limits = table("an envelope line", "limit").map(([, limit]) => limit);
    expect(limits[0]).toContain(`${MAX_LINE_BYTES / 2 ** 20} MiB`);
    expect(limits[1]).toContain(`${MAX_DEPTH} levels`);
    for (const members of [MAX_MEMBERS, MAX_PLAN_MEMBERS]) expect(limits[2]).toContain(members.toLocaleString("en-US"));
    const codes = coded(SPEC.split("codes of `error` that Bosun gives: ")[1]?.split("\n\n")[0]);
    expect(WIRE_CODES.filter((code) => !codes.includes(code))).toEqual([]);
    const given = table("key", "default").filter(([, value]) => value !== "");
    const defaults = given.map(([key, value]) => `${key?.replaceAll("`", '"')}:${value?.replaceAll("`", "")}`);
    expect(JSON.parse(`{${defaults.join()}}`)).toEqual(CONFIGURATION_DEFAULTS);
    const told = table("code", "meaning").flatMap(([codes]) => (codes ?? "").split(", ").map(Number));
    const real = Object.entries(exits).flatMap(([name, code]) => (name.startsWith("EXIT_") ? [code as number] : []));
    expect(told).toEqual(real.toSorted((a, b) => a - b));
  });

  it("lists every command with its summary", () => {
    const told = table("command", "what it does").map(([name, summary]) => [name?.replaceAll("`", ""), summary]);
    const modes = new Set(DESCRIPTORS.map(beginningOf));
    const others = CATALOGUE.filter(({ name }) => !modes.has(name));
    expect(told).toEqual(others.map(({ name, summary }) => [name, summary]));
  });

  test.each(["sh", "py"])("quotes the minimal worker in %s unchanged", (ending) => {
    const file = `examples/agents/minimal-worker.${ending}`;
    expect(quoted(file)).toBe(readFileSync(join(ROOT, file), "utf8"));
  });

  const examples = FENCES.filter(({ language }) => language === "json");
  test.each(examples)("has a valid example of $about", ({ about, text }) => {
    expect(whatIsWrongWith(about, text)).toBeUndefined();
  });
});

function whatIsWrongWith(about: string, text: string): unknown {
  const [kind, name = ""] = about.split("=");
  const example = JSON.parse(text) as JsonObject;
  if (["command=status", "command=replay", "command=report", "notify=question"].includes(about)) return undefined;
  if (kind !== "schema") return "its fence does not name a schema";
  if (name === "record") {
    if (`${canonicalJson(example)}\n` !== text) return "it is not canonical";
    return expectedHash(text) === (example.integrity as JsonObject).hash ? undefined : "its hash is wrong";
  }
  const checked = name === "envelope" ? validateEnvelope(example) : validate(name, example);
  return checked.ok ? undefined : checked.error;
}

function value<T>(result: Result<T, unknown>): T {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}

/** The scripted agents' answers, message by message. */
const MANAGER: readonly (readonly [message: string, answer: Answer])[] = [
  ["requirement", say("clarification", { status: "open", questions: [{ question_id: "q", text: "For whom?" }] })],
  ["clarification_response", say("plan", { summary: "One", tasks: tasksOf("a") })],
  ["requirement", say("plan", { summary: "Two", tasks: tasksOf("a", "b") })],
  ["ticket", say("instruction", { summary: "Do a so" })],
  ["review_request", say("review", { decision: "approved", notes: "1 < 2 — „ja“ 😀" })],
  ["ticket", say("instruction_proposal", { summary: "Perhaps so", risks: ["none"] })],
  ["report", say("instruction", { summary: "Do b so" })],
  ["report", say("clarification", { status: "open", questions: [{ question_id: "q", text: "Which colour?" }] })],
  ["report", say("instruction", { summary: "Do b in blue" })],
  ["review_request", say("review", { decision: "changes_requested", requested_changes: ["more"] })],
  ["review_request", say("review", { decision: "approved" })],
];
const WORKER: readonly (readonly [message: string, answer: Answer | TurnResult])[] = [
  ["instruction", { failure: { code: "agent_failed", message: "It broke." }, refused: [] }],
  ["instruction", say("report", { status: "proposal", summary: "No answer to this" })],
  ["instruction", say("report", { status: "completed", outputs: [{ label: "a", uri: "a.txt" }] })],
  ["instruction_proposal", say("report", { status: "proposal", summary: "Good" })],
  ["instruction", say("report", { status: "blocked", questions: [{ question_id: "q", text: "Which colour?" }] })],
  ["instruction", say("report", { status: "completed" })],
  ["instruction", say("report", { status: "completed", usage: { input_tokens: 3, cost_usd: 0.1 } })],
];

function tasksOf(...ids: readonly string[]): JsonObject[] {
  return ids.map((task_id) => ({ task_id, description: `Do ${task_id}` }));
}

function say(payload_type: Answer["payload_type"], payload: JsonObject): Answer {
  return { payload_type, payload };
}

const SESSION = "s-spec";
const ADA = { user: "ada", host: "here", via: "test" };
const ROLES: Role[] = [
  { role_id: "boss", type: "manager", backend: "scripted" },
  { role_id: "hand", type: "worker", backend: "scripted" },
];
const given: TurnRequest[] = [];

/** Plays both scripts and keeps every request. */
function agent() {
  const scripts = { manager: [...MANAGER], worker: [...WORKER] };
  return scriptedAgent((request: TurnRequest, context: TurnContext) => {
    given.push(structuredClone(request));
    const { message, artifacts_dir } = request.payload;
    const [expected, answer] = scripts[request.role.type as "manager" | "worker"].shift() ?? [];
    if (!answer || expected !== message.payload_type) throw new Error(`${message.payload_type} is not in the script`);
    if ("payload" in answer && answer.payload["outputs"] !== undefined) {
      mkdirSync(artifacts_dir, { recursive: true });
      writeFileSync(join(artifacts_dir, "a.txt"), "a\n");
      context.emit({ kind: "envelope", payload_type: "artifact_ref", payload: { label: "a", uri: "a.txt" } });
    }
    return answer;
  });
}

/** A person who sends the first plan back, edits the second, answers every question and leaves a note at the start. */
function person<S>(session: Session<S>): void {
  let plans = 0;
  const put = (payload_type: Answer["payload_type"], payload: JsonObject) =>
    session.submit({ source: "user", payload_type, payload, actor: ADA });
  put("user_command", { command: "tell", text: "Be brief." });
  onAsk(session, ({ kind, ask_id }) => {
    if (kind === "questions")
      put("clarification_response", { status: "answered", answers: [{ question_id: `${ask_id}.q`, text: "Blue" }] });
    else if (plans++ === 0) put("approval", { decision: "changes_requested", notes: "Two tasks.", ask_id });
    else {
      const [a = {}, b = {}] = tasksOf("a", "b");
      const tasks = [a, { ...b, description: "Do b well", dependencies: ["a"], risks: ["colour"] }];
      put("approval", { decision: "approved", ask_id, plan: { summary: "Edited", tasks } });
    }
  });
}

describe("a session's files", () => {
  let home: string;
  let folder: string;
  let end: SessionEnd;

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), "bosun-spec-"));
    folder = join(home, "logs", SESSION);
    const store = value(openStore(home));
    const scripted = agent();
    const with_store = { home, store, clock: systemClock, launcher: embeddedLauncher(), files: true };
    const around = { ...with_store, version: "0.0.0", agentFor: () => scripted };
    const settings = { ...CONFIGURATION_DEFAULTS, plan_approval: "ask", workspace: home, retry_backoff_ms: 1 };
    const session = value(
      await createSession(around, scheduleMode, {
        session_id: SESSION,
        requirement: "Mend it",
        config: settings as ResolvedConfiguration,
        roles: ROLES,
        workspace: home,
        started_by: ADA,
        facts: [{ payload_type: "requirement", payload: { text: "Mend it" } }],
      }),
    );
    person(session);
    end = value(await session.run({ waitForPeople: true }));
    store.close();
    for (const script of ["verify.py", "sent.py"]) writeFileSync(join(home, script), quoted(script));
  });
  afterAll(() => rmSync(home, { recursive: true, force: true }));

  function python(script: string, ...rest: readonly string[]): string {
    return execFileSync("python3", [join(home, script), ...rest], { encoding: "utf8" });
  }

  const isRecord = (name: string) => name.endsWith(".json");
  const names = () => readdirSync(folder).filter(isRecord).toSorted();

  it("verify with the quoted program", () => {
    expect(end).toEqual({ kind: "closed", outcome: "done" });
    const whole = { ok: true, records: names().length, integrity: "ok", completeness: "closed", problems: [] };
    expect(JSON.parse(python("verify.py", folder))).toEqual(whole);
    const proof = value(verifySession(folder, new Map([["schedule", scheduleMode as Mode<unknown>]])));
    expect(proof).toMatchObject({ ...whole, decisions: "ok" });
  });

  const DAMAGE: Readonly<Record<string, (copy: string, file: (sequence: number) => string) => void>> = {
    "a changed letter": (_copy, file) => edit(file(2), (line) => line.replace("Mend it", "Bend it")),
    "a changed hash": (_copy, file) => edit(file(9), (line) => line.replace(/"sha256:./, '"sha256:_')),
    "a rewritten and resealed record": (_copy, file) => reseal(file(5), (record) => ({ ...record, source: "eve" })),
    "a last record with a wrong sequence": (_copy, file) =>
      reseal(file(names().length), (record) => ({ ...record, integrity: { ...record.integrity, sequence: 9 } })),
    "no opening": (_copy, file) => {
      for (let sequence = 2; sequence <= names().length; sequence++) rmSync(file(sequence));
      reseal(file(1), (record) => ({ ...record, payload_type: "session_closed" }));
      renameSync(file(1), file(1).replace("session_opened", "session_closed"));
    },
    "a removed record": (_copy, file) => rmSync(file(7)),
    "a truncated log": (_copy, file) => rmSync(file(names().length)),
    "a record copied over another": (_copy, file) => edit(file(4), () => readFileSync(file(5), "utf8")),
    "a record renamed to another type": (_copy, file) =>
      renameSync(file(6), file(6).replace(/-\w+\.json$/, "-report.json")),
    "a foreign file": (copy) => writeFileSync(join(copy, "notes.txt"), ""),
    "an empty file": (_copy, file) => writeFileSync(file(3), ""),
    "a space instead of the line feed": (_copy, file) => edit(file(3), (line) => `${line.trimEnd()} `),
  };
  test.each(Object.keys(DAMAGE))("do not verify with %s, in the quoted program and in Bosun", (damage) => {
    const copy = join(home, "damaged", damage);
    cpSync(folder, copy, { recursive: true });
    DAMAGE[damage]?.(copy, (sequence) => join(copy, names()[sequence - 1] ?? ""));
    const { ok, records, integrity, completeness } = value(verifyFolder(copy));
    expect(ok).toBe(false);
    expect(JSON.parse(python("verify.py", copy))).toMatchObject({ ok, records, integrity, completeness });
  });

  it("let the quoted program rebuild every request byte for byte", () => {
    const requests = names().filter((name) => name.includes("turn_request"));
    const record = (name: string) => JSON.parse(readFileSync(join(folder, name), "utf8")) as LogRecord;
    expect(requests).toHaveLength(given.length);
    for (const name of requests) {
      const { record: meta, integrity } = record(name);
      const request = given.find(({ stamp }) => stamp.turn_id === meta.turn_id && stamp.run === meta.run);
      if (!request) throw new Error(`no agent received ${name}`);
      expect(python("sent.py", folder, String(integrity.sequence))).toBe(requestLine(request));
    }
    const recorded = requests.map((name) => readFileSync(join(folder, name), "utf8")).join("");
    for (const kind of ["$from", "$history", "$events", "$file", "$first"]) expect(recorded).toContain(`"${kind}"`);
  });

  test.each([
    ["status", ["status", SESSION, "--json"]],
    ["replay", ["replay", SESSION, "--verify", "--json"]],
    ["report", ["report", SESSION, "--json"]],
  ])("have the shape of the example in bosun %s --json", (name, words) => {
    const program = [join(ROOT, "src/cli.ts"), "--home", home, ...words];
    const told = spawnSync(process.execPath, program, { encoding: "utf8" });
    expect(told.stderr).toBe("");
    const example = JSON.parse(FENCES.find(({ about }) => about === `command=${name}`)?.text ?? "{}") as JsonObject;
    expect(shape(JSON.parse(told.stdout) as Json)).toEqual(shape(example));
  });
});

function edit(file: string, change: (text: string) => string): void {
  writeFileSync(file, change(readFileSync(file, "utf8")));
}

function reseal(file: string, change: (record: LogRecord) => LogRecord): void {
  edit(file, (line) => {
    const { integrity, ...record } = change(JSON.parse(line) as LogRecord);
    return seal(record, integrity).line;
  });
}

/** The keys of a value, at any depth; the first entry stands for a whole list. */
function shape(told: Json | undefined): Json {
  if (Array.isArray(told)) return told.length === 0 ? [] : [shape(told[0] as Json)];
  if (typeof told !== "object" || told === null) return typeof told === "number" ? 0 : "";
  return Object.fromEntries(Object.entries(told).map(([key, inner]) => [key, shape(inner)]));
}
