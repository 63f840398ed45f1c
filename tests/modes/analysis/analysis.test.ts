import { describe, expect, it } from "vitest";
import { ANALYSIS_PRESETS } from "../../../src/harness/analysis-presets.ts";
import { readInput } from "../../../src/kernel/kit/input.ts";
import { type JsonObject, objectOf } from "../../../src/lib/json.ts";
import { analysis } from "../../../src/modes/analysis/analysis.ts";
import { analysisMode } from "../../../src/modes/analysis/mode.ts";
import type { ResolvedConfiguration } from "../../../src/protocol/payload.ts";
import type { Role } from "../../../src/protocol/roles.ts";
import { kitRules } from "../kit-rules.ts";
import { ModeSession } from "../kit.ts";
import { transcriptOf } from "../transcripts.ts";

const ROLES: readonly Role[] = [{ role_id: "judge", type: "manager", backend: "scripted" }];

const SCORE = {
  type: "object",
  additionalProperties: false,
  required: ["score"],
  properties: { score: { type: "integer", minimum: 1, maximum: 10 } },
};

const transcript = transcriptOf(["ann", "One."], ["ben", "Two."]);
const INPUT = { transcript, reader: "judge", prompt: "Who won?" };

function begun(input: JsonObject = {}, config: Partial<ResolvedConfiguration> = {}) {
  return new ModeSession(analysisMode, kitRules(analysis), { roles: ROLES, input: { ...INPUT, ...input }, config });
}

const said = (session: ReturnType<typeof begun>, summary: string) =>
  session.answer("judge", "report", { status: "completed", summary });

const resultOf = ({ ended }: ReturnType<typeof begun>) => objectOf(ended?.report["result"]);

const request = (session: ReturnType<typeof begun>) => session.resolved(session.draft("judge"));

describe("an analysis", () => {
  it("asks one role once, with the question and the transcript", () => {
    const session = begun();
    expect(session.open).toEqual(["judge requirement judge"]);
    expect(request(session)).toMatchObject({
      message: { payload_type: "requirement", payload: { text: "Who won?" } },
      context: { transcript: transcript.entries, metadata: { session_id: "c-before", up_to: 40 } },
    });
    expect(said(session, "Ann.").ended).toMatchObject({ outcome: "done" });
  });

  it("has the answer as its result, with the session that was read and up to which record", () => {
    const session = said(begun(), "Ann.\nBy far.");
    const result = { reader: "judge", subject_session: "c-before", up_to_seq: 40, result: "Ann.\nBy far." };
    expect(resultOf(session)).toEqual(result);
    expect(session.records[0]?.payload["input"]).toMatchObject({ transcript });
    const title = "Analysis of c-before up to record 40, by judge";
    expect(analysis.presentation.parts(result)).toEqual([{ title, text: "Ann.\nBy far.", points: [] }]);
  });

  it("is failed when no answer was accepted, and shows that there is none", () => {
    const session = begun({}, { max_retries: 1 }).fail("judge").fireTimer("retry:judge");
    session.answer("judge", "report", { status: "blocked" });
    expect(session.ended).toMatchObject({ outcome: "failed", reason: "no_analysis" });
    expect(resultOf(session)).not.toHaveProperty("result");
    expect(analysis.presentation.parts(resultOf(session))[0]?.text).toBe("There is none.");
  });

  it("is cancelled with its reader", () => {
    expect(begun().command("cancel", "judge").ended).toMatchObject({ outcome: "cancelled" });
  });

  it("is asked again after a stop, and shows a person's note", () => {
    const session = begun().command("tell", "judge", { text: "Briefly." }).admit("judge").stop().recover();
    expect(request(session).context["notes"]).toEqual(["Briefly."]);
    expect(said(session, "Ann.").ended).toMatchObject({ outcome: "done" });
  });
});

describe("an analysis with a schema", () => {
  it.each([
    ["bare", '{"score": 7}'],
    ["in a fence", '```json\n{"score": 7}\n```'],
  ])("takes JSON that fits, %s, as its result", (_how, summary) => {
    const session = begun({ schema: SCORE });
    expect(request(session).context["metadata"]).toMatchObject({ schema: SCORE });
    const result = resultOf(said(session, summary));
    expect(result["result"]).toEqual({ score: 7 });
    expect(analysis.presentation.parts(result)[0]?.text).toBe('{\n  "score": 7\n}');
  });

  it.each<[string, string, RegExp]>([
    ["is no JSON", "Ann: 7.", /The summary is not JSON/],
    ["has more than JSON", 'So: {"score": 7}', /The summary is not JSON/],
    ["does not fit", '{"score": 70}', /"score" must be at most 10, not 70 \(at \/score in it\)/],
    ["lacks a field", "{}", /"score" is missing/],
    ["has a key twice", '{"score": 7, "score": 8}', /duplicate/],
    ["could reach a prototype", '{"__proto__": {}}', /prototype/],
  ])("refuses an answer that %s, and says why", (_what, summary, why) => {
    const session = said(begun({ schema: SCORE }), summary);
    expect([session.refused, session.open]).toEqual(["validation_failed /summary", ["judge requirement judge"]]);
    expect(request(session).context).toMatchObject({
      refused: [{ pointer: "/summary", message: expect.stringMatching(why) }],
    });
  });

  it("asks at most twice more, then fails", () => {
    const session = begun({ schema: SCORE }, { max_retries: 5 });
    for (const answer of ["no", "{}"]) expect(said(session, answer).ended).toBeUndefined();
    expect(said(session, '{"score": 0}').ended).toMatchObject({ outcome: "failed", reason: "no_analysis" });
  });

  it("takes null and texts for results, if the schema does", () => {
    expect(resultOf(said(begun({ schema: {} }), "null"))).toHaveProperty("result", null);
    expect(resultOf(said(begun({ schema: {} }), '"Ann."'))).toHaveProperty("result", "Ann.");
  });
});

describe("the input of an analysis", () => {
  const wrong = (input: JsonObject) => {
    const read = readInput(analysis, { ...INPUT, ...input }, ROLES);
    return read.ok ? [] : read.error.map(({ pointer, what }) => `${pointer} ${what}`);
  };

  it("may name a preset, whose prompt it has", () => {
    for (const [preset, prompt] of Object.entries(ANALYSIS_PRESETS)) {
      expect(analysis.command.input?.({ preset })).toEqual({ preset, prompt });
      expect(wrong({ preset, prompt })).toEqual([]);
    }
    expect(wrong({ preset: "judge" })).toEqual(["/preset a preset goes without another prompt"]);
  });

  it("has a JSON Schema that can be used, of 2020-12 or an earlier draft", () => {
    const draft = "http://json-schema.org/draft-07/schema#";
    expect(wrong({ schema: { $schema: draft, definitions: { a: {} }, $ref: "#/definitions/a" } })).toEqual([]);
    expect(wrong({ schema: { type: "objekt" } })).toEqual([
      expect.stringMatching(/^\/schema "schema" is no JSON Schema:/),
    ]);
    expect(wrong({ schema: { $ref: "https://example.org/x" } })).toEqual([
      expect.stringMatching(/^\/schema .*example/),
    ]);
  });

  it("has a transcript in its form", () => {
    expect(wrong({ transcript: { session_id: "c-1", mode: "debate", up_to: 3, entries: [] } })).toEqual([
      expect.stringContaining("/transcript/entries"),
    ]);
  });
});
