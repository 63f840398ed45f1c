import { describe, expect, test } from "vitest";
import { EnvelopeReader, requestLine } from "../../src/agents/cli/dialects/envelope.ts";
import type { TurnEvent, TurnRequest } from "../../src/kernel/agent.ts";
import { validateEnvelope } from "../../src/protocol/envelope.ts";
import { envelope, REPORT } from "./rig.ts";

const REQUEST: TurnRequest = {
  session_id: "s-1",
  at: "2026-01-02T03:04:05Z",
  role: { role_id: "worker", type: "worker", cli_command: ["agent"] },
  stamp: { turn_id: "t7", subject: "T-1", attempt: 1, run: 1 },
  payload: {
    turn_id: "t7",
    role_id: "worker",
    expects: ["report"],
    message: { payload_type: "instruction", payload: { summary: "Line\u2028separators and\nnewlines." } },
    context: {},
    workspace: "/w",
    artifacts_dir: "/a",
  },
  timeout_ms: 1_000,
  idle_timeout_ms: 1_000,
  slot: 1,
  output_directory: "/o",
};

function hear(...lines: (string | Buffer)[]) {
  const events: TurnEvent[] = [];
  const reader = new EnvelopeReader(REQUEST, (event) => events.push(event));
  const kinds = lines.map((line) => reader.read(Buffer.from(typeof line === "string" ? line.trimEnd() : line), false));
  return { reader, events, kinds };
}

describe("the request line", () => {
  test("is one line with a valid envelope, and the same for the same request", () => {
    const line = requestLine(REQUEST);
    expect(line.indexOf("\n")).toBe(line.length - 1);
    const envelope = JSON.parse(line) as Record<string, unknown>;
    expect(validateEnvelope(envelope)).toMatchObject({ ok: true });
    expect(envelope).toMatchObject({
      timestamp: REQUEST.at,
      source: "scheduler",
      target: "worker",
      payload_type: "turn_request",
    });
    expect(requestLine(REQUEST)).toBe(line);
  });
});

describe("the envelope reader", () => {
  test("takes only lines with a brace first and a payload_type for messages", () => {
    const { kinds, events, reader } = hear(
      "plain text",
      '{"level":"info"}',
      ` ${REPORT}`,
      "{ not json",
      "[1]",
      "",
      "{}",
    );
    expect(kinds).toEqual(Array(7).fill("console"));
    expect(events).toEqual([]);
    expect(reader.end().answer).toBeUndefined();
  });

  test("takes the first message that the turn expects as the answer", () => {
    const { reader, events } = hear(REPORT);
    expect(reader.end().answer).toEqual({ payload_type: "report", payload: { status: "completed", summary: "Done." } });
    expect(events).toEqual([]);
  });

  test("takes the largest plan where a plan is expected, and nothing as large elsewhere", () => {
    const tasks = Array.from({ length: 100_000 }, (_, n) => ({ task_id: `t${n}`, description: "Do it" }));
    const plan = Buffer.from(envelope("plan", { summary: "Much", tasks }).trimEnd());
    const ask = (expects: readonly string[]) => {
      const request = { ...REQUEST, payload: { ...REQUEST.payload, expects } };
      const reader = new EnvelopeReader(request, () => {});
      reader.read(plan, false);
      return reader.end();
    };
    expect(ask(["plan"]).answer?.payload).toMatchObject({ tasks: { length: 100_000 } });
    expect(ask(["report"])).toMatchObject({ answer: undefined, refused: [{ code: "output_limit" }] });
  });

  test("takes an error as the answer to any turn", () => {
    const { reader } = hear(envelope("error", { code: "conflict", message: "I cannot." }));
    expect(reader.end().answer?.payload_type).toBe("error");
  });

  test("emits artifacts and progress before the answer", () => {
    const { reader, events } = hear(
      envelope("artifact_ref", { label: "log", uri: "log.txt" }),
      envelope("report", { status: "progress", summary: "Half." }),
      REPORT,
    );
    expect(events.map((event) => event.kind)).toEqual(["envelope", "envelope"]);
    expect(reader.end().answer?.payload).toMatchObject({ status: "completed" });
  });

  test("distinguishes a repeated answer from a late one", () => {
    const { reader, events } = hear(REPORT, REPORT, envelope("report", { status: "error", summary: "No." }));
    expect(events).toEqual([
      { kind: "duplicate", payload_type: "report" },
      { kind: "late", payload_type: "report", payload: { status: "error", summary: "No." } },
    ]);
    expect(reader.end().answer?.payload).toMatchObject({ status: "completed" });
  });

  test("takes the same payload of another type for late, not for a duplicate", () => {
    const payload = { summary: "Do it." };
    const [proposal, instruction] = ["instruction_proposal", "instruction"].map((type) =>
      Buffer.from(envelope(type, payload).trimEnd()),
    ) as [Buffer, Buffer];
    const events: TurnEvent[] = [];
    const expects = ["instruction_proposal", "instruction"];
    const request = { ...REQUEST, payload: { ...REQUEST.payload, expects } };
    const reader = new EnvelopeReader(request, (event) => events.push(event));
    expect([reader.read(proposal, false), reader.read(instruction, false)]).toEqual(["answer", "message"]);
    expect(events).toEqual([{ kind: "late", payload_type: "instruction", payload }]);
  });

  test("refuses a message with a reason and takes the answer after it", () => {
    const { reader, events } = hear(envelope("report", { status: "fine" }), REPORT);
    expect(events).toMatchObject([{ kind: "refused", refusal: { payload_type: "report", code: "validation_failed" } }]);
    expect(reader.end().refused).toHaveLength(1);
    expect(reader.end().answer).toBeDefined();
  });

  test.each([
    ["another session", { session_id: "s-2" }],
    ["another role", { source: "manager" }],
    ["the person", { source: "user" }],
    ["another target", { target: "worker" }],
  ])("refuses a message that claims %s", (_, claim) => {
    const { reader, events } = hear(envelope("report", { status: "completed" }, claim));
    expect(events).toMatchObject([{ kind: "refused", refusal: { code: "not_permitted" } }]);
    expect(reader.end().answer).toBeUndefined();
  });

  test("refuses a type that does not answer the turn, and names those that do", () => {
    const { reader, events } = hear(envelope("review", { decision: "approved" }));
    expect(events).toMatchObject([{ refusal: { code: "not_permitted", pointer: "/payload_type" } }]);
    expect(reader.end().refused[0]?.message).toContain("report, error");
  });

  test("refuses lines that look like broken messages; other lines are console text", () => {
    const broken = '{"payload_type":"report","payload":{"status":';
    const badBytes = Buffer.concat([
      Buffer.from('{"payload_type":"report","x":"'),
      Buffer.from([0xff, 0xfe]),
      Buffer.from('"}'),
    ]);
    const { kinds, reader } = hear(broken, badBytes, '{"half":');
    expect(kinds).toEqual(["message", "message", "console"]);
    expect(reader.end().refused.map(({ code }) => code)).toEqual(["malformed_output", "malformed_output"]);
  });

  test("refuses a cut message with output_limit", () => {
    const events: TurnEvent[] = [];
    const reader = new EnvelopeReader(REQUEST, (event) => events.push(event));
    expect(reader.read(Buffer.from('{"payload_type":"report","payload":{"summary":"xxx'), true)).toBe("message");
    expect(reader.read(Buffer.from('{"payload":{"status":"completed","summary":"xxx'), true)).toBe("message");
    expect(reader.read(Buffer.from('{"something":"else'), true)).toBe("console");
    const refused = { kind: "refused", refusal: { code: "output_limit" } };
    expect(events).toMatchObject([refused, refused]);
  });

  test("keeps 8 refusals and emits 1,000 events, then a note, and takes the answer", () => {
    const bad = Array.from({ length: 1_200 }, (_, index) => envelope("report", { status: `no-${index}` }));
    const { reader, events } = hear(...bad, REPORT);
    expect(reader.end().refused).toHaveLength(8);
    expect(events).toHaveLength(1_001);
    const said = { code: "output_limit", message: expect.stringContaining("later ones") as string };
    expect(events.at(-1)).toMatchObject({ kind: "refused", refusal: said });
    expect(reader.end().refused).not.toContainEqual(expect.objectContaining({ code: "output_limit" }));
    expect(reader.end().answer).toBeDefined();
  });
});
