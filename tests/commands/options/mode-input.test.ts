import { beforeEach, describe, expect, it } from "vitest";
import { readModeInput } from "../../../src/commands/options/mode-input.ts";
import { listOf } from "../../../src/lib/json.ts";
import type { AnyDescriptor } from "../../../src/modes/index.ts";
import { debate } from "../../../src/modes/debate/debate.ts";
import { paperTerminal } from "../in-process.ts";
import { type Rig, rig } from "../rig.ts";

/** A mode whose input is a list of steps, which one of its options spells out, and another one fills. */
const STEPWISE: AnyDescriptor = {
  ...debate,
  name: "stepwise",
  requirement: "task",
  seats: [{ at: "steps.*.role", types: ["worker"], shared: true }],
  input: {
    type: "object",
    additionalProperties: false,
    required: ["task", "steps"],
    properties: {
      task: { type: "string", pattern: "\\S" },
      steps: {
        type: "array",
        minItems: 1,
        items: {
          type: "object",
          additionalProperties: false,
          required: ["role"],
          properties: { role: { type: "string" }, on_error: { enum: ["skip", "retry", "abort"], default: "abort" } },
        },
      },
    },
  },
  command: {
    ...debate.command,
    noun: "task",
    say: "Say what to do",
    unlessFile: "steps",
    options: [
      { flags: "--steps <ids>", field: "steps", description: "the roles of the steps" },
      { flags: "--on-error <what>", field: "on_error", description: "skip, retry or abort" },
    ],
    input: ({ steps, ...each }) =>
      steps === undefined ? {} : { steps: listOf(steps).map((role) => ({ role, ...each })) },
  },
};

let here: Rig;
let roles: string[];

beforeEach(() => {
  here = rig();
  const crew = ["writer", "critic"].map((role_id) => ({ role_id, type: "manager", cli_command: ["true"] }));
  roles = [here.write("roles.json", JSON.stringify({ roles: crew }))];
});

function read(words: readonly string[], options: object = {}) {
  const { workspace: directory, environment } = here;
  const context = { terminal: paperTerminal(), directory, environment, home: undefined, leave: () => {} };
  return readModeInput(context, STEPWISE, words, { roles, ...options }, { ask: false, scheduler: "here" });
}

function step(role: string, on_error: string) {
  return { role, on_error };
}

describe("the input of a mode", () => {
  it("comes from words and options that the mode spells out, with the types of its seats", async () => {
    const input = await read(["Write it."], { steps: "writer, critic,writer", onError: "skip" });
    const steps = [step("writer", "skip"), step("critic", "skip"), step("writer", "skip")];
    expect(input).toMatchObject({ ok: true, value: { mode: "stepwise", session: { requirement: "Write it." } } });
    expect(input).toMatchObject({ value: { session: { input: { task: "Write it.", steps } } } });
    const seated = [
      { role_id: "writer", type: "worker" },
      { role_id: "critic", type: "worker" },
    ];
    expect(input).toMatchObject({ value: { session: { roles: seated } } });
  });

  it.each([
    ["in the file", []],
    ["behind it", ["Write it."]],
  ])("comes from a file, with its requirement %s", async (_, words) => {
    const task = words.length === 0 ? "task: ' Write it.'\n" : "";
    const file = here.write("input.yaml", `${task}steps:\n  - role: writer\n  - { role: critic, on_error: retry }\n`);
    const steps = [step("writer", "abort"), step("critic", "retry")];
    const session = { requirement: "Write it.", input: { task: "Write it.", steps } };
    expect(await read([file, ...words])).toMatchObject({ ok: true, value: { session } });
  });

  it("is refused for all that is wrong with the options, each once", async () => {
    const refused = await read(["Write it."], { steps: "writer,critik,writer", onError: "skp" });
    expect(refused).toMatchObject({ ok: false, error: { code: "usage" } });
    expect(refused.ok ? [] : refused.error.message.split("\n")).toEqual([
      '--on-error: must be "skip", "retry" or "abort", not "skp"; did you mean "skip"?',
      expect.stringMatching(/^--steps: names "critik".* did you mean "critic"\?$/),
      expect.stringContaining("expected: one of"),
    ]);
  });

  it("is refused for all that is wrong with a file, at its places", async () => {
    const file = here.write("input.json", '{\n "steps": [{ "role": "critik" },\n  { "rol": "writer" }]\n}');
    const refused = await read([file]);
    expect(refused).toMatchObject({ ok: false, error: { code: "configuration" } });
    const places = refused.ok ? [] : [...refused.error.message.matchAll(/^\S+input\.json:(\d+:\d+): (.*)$/gm)];
    expect(places.map(([, place, what]) => `${place} ${what}`)).toEqual([
      '1:1 "task" is missing',
      expect.stringMatching(/^2:22 "steps" names "critik"/),
      '3:5 "rol" is not a known key; did you mean "role"?',
    ]);
  });

  it.each([
    ["no word at all", [], {}, "Neither --steps nor a file"],
    ["no file of this name", ["Write it."], {}, "there is no such file"],
    ["no task", [], { steps: "writer" }, "The task is empty"],
    ["a word too many", ["one", "two"], { steps: "writer" }, 'too many: "two"'],
    ["an option that the file has in its own place", ["any.yaml"], { onError: "skip" }, "--on-error goes with --steps"],
  ])("is refused with %s", async (_, words, options, message) => {
    expect(await read(words, options)).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining(message) },
    });
  });
});
