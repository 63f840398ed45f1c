import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Ajv2020 } from "ajv/dist/2020.js";
import { build } from "rolldown";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import { validatePayload } from "../../src/protocol/envelope.ts";
import {
  CONFIGURATION_DEFAULTS,
  PAYLOAD_TYPES,
  type PayloadByType,
  type PayloadType,
} from "../../src/protocol/payload.ts";
import { changed, objectsIn, schemaFiles, validate } from "./examples.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");
const examples = schemaFiles.flatMap(({ name, schema }) =>
  (schema.examples ?? []).map((example) => ({ name, example })),
);

let scratch: string;
beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), "bosun-schemas-"));
});
afterEach(() => rm(scratch, { recursive: true }));

/** The required fields by SPEC.md, and those of the scheduler's own payloads; `*` is any entry of a list. */
const required: { [name: string]: string } = {
  envelope: "/session_id /timestamp /source /target /payload_type /version /payload",
  requirement: "/text /attachments/*/label /attachments/*/uri",
  clarification: "/questions /status /questions/*/question_id /questions/*/text",
  clarification_response: "/answers /status /answers/*/question_id /answers/*/text",
  plan: "/tasks /tasks_ref /tasks/*/task_id /tasks/*/description /tasks/*/assigned_to/capability /tasks/*/acceptance_criteria/*/text /tasks_ref/label /tasks_ref/uri",
  ticket:
    "/ticket_id /task_id /status /task/task_id /task/description /history/*/sequence /history/*/at /history/*/event",
  instruction_proposal: "/summary",
  instruction: "/summary /steps/*/shell /acceptance_criteria/*/text",
  report:
    "/status /outputs/*/label /outputs/*/text /evidence/*/text /issues/*/text /questions/*/question_id /questions/*/text",
  review_request:
    "/ticket_id /report /instruction/summary /report/status /checks/*/criterion /checks/*/exit_code /checks/*/passed /checks/*/output /checks/*/criterion/text",
  review: "/decision",
  artifact_ref: "/label /uri",
  error: "/code /message",
  approval_request: "/subject /ask_id",
  approval: "/decision",
  opinion: "/round /position",
  verdict: "/conclusion",
  meeting_state:
    "/topic /scratchpad /current_round /max_rounds /agents /scratchpad/*/agent_name /scratchpad/*/content /scratchpad/*/timestamp /agents/*/agent_name /agents/*/role /agents/*/entries",
  agenda_item: "/title",
  comment: "/text",
  council_state:
    "/topic /asked /state /round /max_rounds /participants /agenda /proposals /participants/*/agent_id /participants/*/status",
  participant: "/agent_id /status",
  pass: "/reason",
  proposal: "/title /details /proposal_id /status",
  proposal_result:
    "/proposal_id /status /counts /weights /base /base_size /quorum /quorum_met /voted /rule /decided_early /missing /dissent /counts/yes /counts/no /counts/abstain /weights/yes /weights/no /weights/abstain /dissent/*/agent_id /dissent/*/vote",
  state_change: "/new_state /reason",
  summary: "/summary_text",
  vote: "/proposal_id /vote",
  meeting_message: "/message_id /meeting_id /timestamp_utc /agent_id /message_type /text /proposal_id /vote",
  pm_decision: "/analysis /next_action /target_agent /prompt_for_agent /final_report",
  turn_request:
    "/turn_id /role_id /expects /message /context /workspace /artifacts_dir /message/payload_type /message/payload /context/clarifications/*/question /context/clarifications/*/answer",
  turn_failed: "/turn_id /code /message /refused/*/payload_type /refused/*/code /refused/*/pointer /refused/*/message",
  timer_fired: "/timer_id /due_at",
  time_shifted: "/cause /shift_ms",
  check_result:
    "/check_id /results /results/*/criterion /results/*/exit_code /results/*/passed /results/*/output /results/*/criterion/text",
  user_command: "/command",
  session_opened: `/mode /rules /version /config /roles /schemas /workspace /roles/*/role_id /roles/*/type /roles/*/cli_command /schemas/digest /started_by/user /started_by/host /started_by/via ${[...Object.keys(CONFIGURATION_DEFAULTS), "plan_approval", "workspace"].map((key) => `/config/${key}`).join(" ")}`,
  session_stopped: "/reason /message",
  session_recovered: "/graceful /epoch /turns /turns/*/turn_id /turns/*/run",
  session_reopened: "/reason",
  merge_begun: "/check_id /ticket_id /commit /tip",
  session_begun: "/session_id /mode /budget",
  session_finished:
    "/session_id /outcome /usage /log /usage/turns /usage/input_tokens /usage/output_tokens /usage/cost_usd /log/records /log/head",
  final_report:
    "/session_id /mode /outcome /started_at /finished_at /tickets /usage /recoveries /next_steps /log /tickets/*/ticket_id /tickets/*/task_id /tickets/*/description /tickets/*/status /clarifications/*/question /clarifications/*/answer /usage/turns /usage/input_tokens /usage/output_tokens /usage/cost_usd /log/records /log/head",
  message: "/sender /receiver /content /msg_type",
  shared_state:
    "/task /plan /results /messages /status /current_step /max_steps /messages/*/sender /messages/*/receiver /messages/*/content /messages/*/msg_type /agents/*/agent_name /agents/*/role /steps/*/step /steps/*/role_id /steps/*/task /steps/*/status",
  plan_decision: "/analysis /next_action /steps /steps/*/agent /steps/*/task /final_report",
  session_closed: "/outcome /exit_code",
  roles: "/roles /roles/*/role_id /roles/*/type /roles/*/cli_command /roles/*/backend",
  scheduler_config: "/checks/ticket/*/text",
  agent_file: "/name /role /system_prompt",
  answers: "/*/question_id /*/text /*/match",
  plan_file:
    "/tasks /questions/*/question_id /questions/*/text /tasks/*/task_id /tasks/*/description /tasks/*/instruction/summary /tasks/*/instruction/steps/*/shell /tasks/*/acceptance_criteria/*/text",
};

/** The objects in the examples that may have any fields: Bosun does not read them, or passes them on. */
const open = [
  "answers",
  "approval_request/about",
  "approval_request/estimate",
  "envelope/payload",
  "message/metadata",
  "roles/roles/*/metadata",
  "session_finished/result",
  "turn_failed/details",
  "turn_request/message/payload",
];

/** Objects with numbers that are added up, or added to a time. */
const COUNTING: { [name: string]: JsonObject } = {
  plan: { tasks: [{ task_id: "a", description: "b", budget: {} }] },
  plan_file: { tasks: [{ task_id: "a", description: "b", budget: {} }] },
  report: { status: "completed", usage: {} },
  user_command: { command: "limits", limits: {} },
  scheduler_config: { budget: { ticket: {} }, discussion: { mode: "debate", budget: {} } },
  roles: { roles: [{ role_id: "a", type: "worker", cli_command: ["a"], budget: {}, rate_limit: {} }] },
};

function without(object: JsonObject, key: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== key));
}

function generalised(pointer: string): string {
  return pointer.replace(/\/\d+(?=\/|$)/g, "/*");
}

describe("every schema", () => {
  it.each(schemaFiles)("$name has a dialect, a title, a description and examples", ({ schema }) => {
    expect(schema).toMatchObject({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      title: expect.stringMatching(/^[A-Z]/),
      description: expect.stringMatching(/\.$/),
    });
    expect(schema.examples?.length).toBeGreaterThan(0);
  });

  it.each(examples)("$name accepts its example $example", ({ name, example }) => {
    expect(validate(name, example)).toMatchObject({ ok: true });
  });

  it.each(schemaFiles)("$name requires exactly the fields of SPEC.md", ({ name, schema }) => {
    const missed = new Set<string>();
    for (const example of schema.examples ?? []) {
      for (const [pointer, object] of objectsIn(example)) {
        for (const key of Object.keys(object)) {
          const checked = validate(
            name,
            changed(example, pointer, (object) => without(object, key)),
          );
          if (checked.ok) continue;
          missed.add(generalised(`${pointer}/${key}`));
          expect(checked.error.message).toMatch(/\[(?:required|anyOf|minProperties)\]$/);
        }
      }
    }
    expect([...missed].toSorted()).toEqual(required[name]?.split(" ").toSorted());
  });

  it("refuses an unknown field wherever Bosun reads the fields", () => {
    const accepted = new Set<string>();
    const astray: string[] = [];
    for (const { name, example } of examples) {
      for (const [pointer] of objectsIn(example)) {
        const place = `${name}${pointer}`;
        const checked = validate(
          name,
          changed(example, pointer, (object) => ({ ...object, surprise: 1 })),
        );
        if (checked.ok) accepted.add(generalised(place));
        else if (checked.error.pointer !== `${pointer}/surprise`) astray.push(place);
      }
    }
    expect([...accepted].toSorted()).toEqual(open);
    // There the number of fields is refused first.
    expect(astray).toEqual(["plan/tasks/0/assigned_to"]);
  });

  test.each(PAYLOAD_TYPES)("%s takes metadata of any content if it is an object", (type) => {
    const example = schemaFiles.find((file) => file.name === type)?.schema.examples?.[0] as JsonObject;
    expect(validatePayload(type, { ...example, metadata: { anything: [{}, null] } }).ok).toBe(true);
    expect(validatePayload(type, { ...example, metadata: "text" })).toMatchObject({
      ok: false,
      error: { pointer: "/metadata", message: expect.stringContaining("[type]") },
    });
  });

  it("takes a plain string as every text", () => {
    const texts = ["plain", { text: "object" }];
    expect(validatePayload("review", { decision: "changes_requested", requested_changes: texts }).ok).toBe(true);
    expect(
      validatePayload("report", { status: "blocked", issues: texts, evidence: texts, next_actions: texts }).ok,
    ).toBe(true);
    expect(
      validatePayload("instruction", { summary: "s", steps: texts, resources: texts, acceptance_criteria: texts }).ok,
    ).toBe(true);
  });

  it("bounds every string and list of an agent", () => {
    const unbounded: string[] = [];
    for (const { name, schema } of schemaFiles) {
      for (const [pointer, object] of objectsIn({ ...schema, examples: [] })) {
        if (object["type"] === "string" && !("maxLength" in object) && !("pattern" in object))
          unbounded.push(name + pointer);
        if (object["type"] === "array" && !("maxItems" in object)) unbounded.push(name + pointer);
      }
    }
    expect(unbounded).toEqual([]);
  });

  it.each([
    ["plan", "/tasks/0/budget/wall_s", 31_536_000],
    ["plan_file", "/tasks/0/budget/wall_s", 31_536_000],
    ["report", "/usage/cost_usd", 1_000_000_000],
    ["report", "/usage/input_tokens", Number.MAX_SAFE_INTEGER],
    ["user_command", "/limits/wall_s", 31_536_000],
    ["user_command", "/limits/usd", 1_000_000_000],
    ["scheduler_config", "/budget/wall_s", 31_536_000],
    ["scheduler_config", "/budget/usd", 1_000_000_000],
    ["scheduler_config", "/budget/ticket/wall_s", 31_536_000],
    ["scheduler_config", "/discussion/budget/wall_s", 31_536_000],
    ["roles", "/roles/0/budget/wall_s", 31_536_000],
    ["roles", "/roles/0/timeout_s", 604_800],
    ["roles", "/roles/0/idle_timeout_s", 604_800],
    ["roles", "/roles/0/rate_limit/turns_per_minute", 10_000],
    ["roles", "/roles/0/rate_limit/messages_per_minute", 10_000],
  ])("bounds the number in %s at %s", (name, pointer, most) => {
    const [, place = "", key = ""] = /^(.*)\/(.*)$/.exec(pointer) ?? [];
    const whole = (value: number) => changed(COUNTING[name] ?? {}, place, (inner) => ({ ...inner, [key]: value }));
    expect(validate(name, whole(most))).toMatchObject({ ok: true });
    for (const beyond of [most + 1, 1e300]) {
      expect(validate(name, whole(beyond))).toMatchObject({ ok: false, error: { pointer } });
    }
  });

  it("refuses a rate so low that the next turn would never begin", () => {
    const roles = (rate: number) => ({
      roles: [{ role_id: "a", type: "worker", cli_command: ["a"], rate_limit: { turns_per_minute: rate } }],
    });
    expect(validate("roles", roles(0.00001))).toMatchObject({ ok: true });
    expect(validate("roles", roles(1e-12))).toMatchObject({ ok: false });
  });

  it("means the same to ajv when it compiles the files", async () => {
    const ajv = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true, ownProperties: true });
    for (const { path, schema } of schemaFiles) ajv.addSchema(schema, path.slice(path.indexOf("/schemas/") + 1));
    ajv.addSchema(
      JSON.parse(await readFile(join(root, "schemas/common.schema.json"), "utf8")) as JsonObject,
      "schemas/common.schema.json",
    );
    for (const { name, path, schema } of schemaFiles) {
      const check = ajv.getSchema(path.slice(path.indexOf("/schemas/") + 1));
      for (const example of schema.examples ?? []) {
        expect(check?.(example), `${name}: ${JSON.stringify(check?.errors)}`).toBe(true);
        for (const [pointer, object] of objectsIn(example)) {
          for (const key of Object.keys(object)) {
            for (const value of ["", 0, null, {}, [7], "\n"]) {
              const mutant = changed(example, pointer, (inner) => ({ ...inner, [key]: value }));
              const ours = validate(name, mutant);
              // A schema does not check the calendar.
              if (!ours.ok && ours.error.message.includes("[instant]")) continue;
              expect(ours.ok, `${name}${pointer}/${key} = ${JSON.stringify(value)}`).toBe(check?.(mutant));
            }
          }
        }
      }
    }
  });
});

describe("configuration", () => {
  it("has defaults that fit its schema", () => {
    expect(validate("scheduler_config", CONFIGURATION_DEFAULTS)).toEqual({ ok: true, value: CONFIGURATION_DEFAULTS });
  });

  it("is complete with every default, an approval policy and a workspace", () => {
    const opened = schemaFiles.find((file) => file.name === "session_opened")?.schema.examples?.[0] as JsonObject;
    const config = { ...CONFIGURATION_DEFAULTS, plan_approval: "ask", workspace: "/srv/project" };
    expect(validatePayload("session_opened", { ...opened, config }).ok).toBe(true);
  });
});

describe("the generated code", () => {
  it("names the type of each payload file", () => {
    const files = schemaFiles.filter((file) => file.path.includes("/payloads/")).map((file) => file.name);
    expect([...PAYLOAD_TYPES]).toEqual(files);
  });

  it("types every payload as read-only JSON", () => {
    const json: { [K in PayloadType]: PayloadByType[K] extends JsonObject ? true : never } = Object.fromEntries(
      PAYLOAD_TYPES.map((type) => [type, true]),
    ) as never;
    const tasks: PayloadByType["plan"]["tasks"] = Object.freeze([]);
    expect([Object.keys(json).length, tasks]).toEqual([PAYLOAD_TYPES.length, []]);
  });

  it("fails the check when a schema has changed", async () => {
    for (const name of ["schemas", "src", "config", "SPEC.md"])
      await cp(join(root, name), join(scratch, name), { recursive: true });
    await symlink(join(root, "node_modules"), join(scratch, "node_modules"));
    await writeFile(join(scratch, "package.json"), '{"type":"module"}');
    const generate = join(scratch, "schemas/generate.ts");
    const schema = join(scratch, "schemas/payloads/review.schema.json");
    await writeFile(schema, (await readFile(schema, "utf8")).replace('"notes"', '"remarks"'));
    await expect(run(process.execPath, [generate, "--check"])).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        "types.ts, validators.js, shapes.ts, answers.ts, digest.ts. Run: npm run schemas",
      ),
    });
  });

  it("validates in a bundle without ajv, require or the schema files", async () => {
    const outfile = join(scratch, "bundle.mjs");
    const { output } = await build({
      input: join(root, "src/protocol/envelope.ts"),
      platform: "node",
      output: { file: outfile },
    });
    expect(output).toHaveLength(1);
    expect(output[0].moduleIds.filter((id) => id.includes("node_modules"))).toEqual([]);
    expect((await readFile(outfile, "utf8")).includes("require(")).toBe(false);
    const program = `import { validatePayload } from ${JSON.stringify(outfile)};
      console.log(JSON.stringify([validatePayload("review", { decision: "approved" }), validatePayload("review", {})]));`;
    const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", program], { cwd: scratch });
    expect(JSON.parse(stdout)).toMatchObject([{ ok: true }, { ok: false, error: { pointer: "/decision" } }]);
  });
});
