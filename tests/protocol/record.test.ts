import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, it, test } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import { recordFault } from "../../src/protocol/record-check.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import { crew, instructed, task } from "../runtime/crew.ts";
import { newRig } from "../runtime/rig.ts";
import { begin, DONE, logOf, run } from "../runtime/sessions.ts";
import { objectsIn, changed } from "./examples.ts";

const schemas = join(import.meta.dirname, "../../schemas");

/** The published schema, as another program compiles it. */
function published(): (record: unknown) => boolean {
  const ajv = new Ajv2020({ strict: true, strictRequired: false, strictTypes: false, allowUnionTypes: true });
  for (const file of readdirSync(schemas, { recursive: true, encoding: "utf8" })) {
    if (file.endsWith(".schema.json"))
      ajv.addSchema(JSON.parse(readFileSync(join(schemas, file), "utf8")) as JsonObject, file);
  }
  const check = ajv.getSchema("record.schema.json");
  return (record) => check?.(record) === true;
}

async function recordsOfASession(): Promise<LogRecord[]> {
  const rig = newRig();
  const session = await begin(rig, { agentFor: crew([instructed("a"), task("b", ["a"])]) });
  expect(await run(session)).toEqual(DONE);
  return logOf(rig, session.session_id);
}

it("fits every record of a session, requests with their references included", async () => {
  const fits = published();
  const records = await recordsOfASession();
  const requests = records.filter(({ payload_type }) => payload_type === "turn_request");
  expect(JSON.stringify(requests)).toContain('"$history":[');
  for (const record of records) {
    const { integrity: _, ...unsealed } = record;
    const { payload_type } = record;
    expect({ payload_type, fits: fits(record), fault: recordFault(unsealed) }).toEqual({ payload_type, fits: true });
  }
});

it("refuses what the check on writing refuses, and the other way round", async () => {
  const fits = published();
  const disagreements: string[] = [];
  for (const record of await recordsOfASession()) {
    const { integrity, ...unsealed } = record;
    for (const [pointer, object] of objectsIn(unsealed)) {
      for (const key of [...Object.keys(object), "surprise"]) {
        for (const value of [7, "\n", null, {}, [], { $from: [1, "/requirement"] }, { $from: 1 }]) {
          const mutant = changed(unsealed, pointer, (inner) => ({ ...inner, [key]: value }));
          const isRefused = recordFault(mutant as unknown as LogRecord) !== undefined;
          if (isRefused === fits({ ...(mutant as JsonObject), integrity })) {
            disagreements.push(`${record.payload_type}${pointer}/${key} = ${JSON.stringify(value)}`);
          }
        }
      }
    }
  }
  expect(disagreements).toEqual([]);
});

test.each<[what: string, change: (payload: JsonObject) => JsonObject, fault: string]>([
  ["an unknown field", (payload) => ({ ...payload, surprise: 1 }), "/payload [additionalProperties]"],
  [
    "a malformed reference",
    (payload) => ({ ...payload, context: { notes: [{ $from: 4 }] } }),
    "/payload/context/notes/0/$from [type]",
  ],
  [
    "an unknown reference",
    (payload) => ({ ...payload, context: { notes: [{ $of: [1, ""] }] } }),
    "/payload/context/notes/0 [additionalProperties]",
  ],
  ["a field that is missing", ({ workspace: _workspace, ...payload }) => payload, "/payload [required]"],
])("finds %s in a recorded request", async (_what, change, fault) => {
  const record = (await recordsOfASession()).find(({ payload_type }) => payload_type === "turn_request") as LogRecord;
  const { integrity: _, ...unsealed } = record;
  expect(recordFault({ ...unsealed, payload: change(record.payload) })).toBe(fault);
});
