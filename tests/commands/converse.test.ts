import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type JsonObject, listOf, objectOf, textOf, textWithin } from "../../src/lib/json.ts";
import { recordsIn } from "../log-files.ts";
import { Stage, rolesAt } from "../debate/stage.ts";
import { typed } from "./in-process.ts";
import { type Rig, rig, withoutRetries } from "./rig.ts";
import { endAfterwards } from "./strays.ts";
import { requestsIn, saying, talkers } from "./talkers.ts";

const CONVERSE = ["converse", "--participants", "ann,ben", "--start", "Tabs or spaces?"];

/** What an agent was shown of what was said before, as `author: text`. */
function shownIn({ context }: ReturnType<typeof requestsIn>[number]): string[] {
  const entries = listOf((context as JsonObject)["transcript"]).map(objectOf);
  return entries.map(({ source, payload }) => `${textOf(source)}: ${textWithin(payload)}`);
}

function resultOf(here: Rig, id: string): JsonObject {
  const report = readFileSync(join(here.home, "sessions", id, "final_report.json"), "utf8");
  return objectOf((JSON.parse(report) as JsonObject)["result"]);
}

describe("bosun converse", () => {
  it("lets roles speak in turn until a condition holds, and shows what they said and what stopped them", async () => {
    const here = rig();
    const roles = talkers(here, { ann: [saying("Tabs."), saying("AGREED.")], ben: [saying("Spaces.")] });
    const stop = 'contains("AGREED", "ann") or turns>=9';
    const ended = await typed(here, [...CONVERSE, "--stop", stop, ...roles, "--session", "c-1"]);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(ended.stdout).toContain(
      'Conversation\n  3 of 10 turns\n  - stopped by contains("AGREED", "ann")\n\nann\n  Tabs.\n\nben\n  Spaces.\n\nann\n  AGREED.\n',
    );
    expect(requestsIn(here).map((request) => [request.role_id, request.message.payload["text"]])).toEqual([
      ["ann", "Tabs or spaces?"],
      ["ben", "Tabs."],
      ["ann", "Spaces."],
    ]);
    expect(requestsIn(here).map(shownIn)).toEqual([[], ["ann: Tabs."], ["ann: Tabs.", "ben: Spaces."]]);
    expect((await typed(here, ["replay", "c-1", "--verify"])).code).toBe(0);
    expect((await typed(here, ["report", "c-1"])).stdout).toContain('stopped by contains("AGREED", "ann")');
  });

  it("passes a participant that fails for good, and ends with 1 when nobody is left", async () => {
    const here = rig();
    const roles = talkers(here, { ann: [], ben: ["fail"] });
    const ended = await typed(here, [...CONVERSE, ...roles, ...withoutRetries(here), "--session", "c-1"]);
    expect(ended).toMatchObject({ code: 1, stdout: expect.stringContaining("Nobody was left to talk with.") });
    expect(ended.stdout).toContain("ben passed: agent_failed");
    expect(resultOf(here, "c-1")).toMatchObject({ stopped_by: [], turns: { held: 1, of: 10 } });
  });

  it("stops at a budget, and goes on when a person raises it", async () => {
    const here = rig();
    const roles = talkers(here, { ann: [], ben: [] });
    const begun = [...CONVERSE, "--max-turns", "3", "--budget-turns", "2", ...roles, "--session", "c-1"];
    expect(await typed(here, begun)).toMatchObject({ code: 5 });
    expect(await typed(here, ["resume", "c-1", "--budget-turns", "9"])).toMatchObject({ code: 0 });
    expect(resultOf(here, "c-1")).toMatchObject({ stopped_by: ["max_turns"], turns: { held: 3, of: 3 } });
  });

  it("lets a person speak into it while it runs", async () => {
    const here = endAfterwards(rig());
    const stage = await Stage.open(here.workspace);
    const roles = here.write("roles.json", JSON.stringify({ roles: rolesAt(stage.address) }));
    const running = here.start([
      ...["converse", "--participants", "go,python", "--start", "Which?", "--max-turns", "2"],
      ...["--roles", roles, "--session", "c-1"],
    ]);
    const [first] = await stage.gathered(1);
    await here.run(["tell", "c-1", "Think of the cost."]);
    first?.say("report", { status: "completed", summary: "Go." });
    const [second] = await stage.gathered(1);
    expect(second?.request).toMatchObject({ role_id: "python", context: { notes: ["Think of the cost."] } });
    second?.say("report", { status: "completed", summary: "Python." });
    expect((await running.done).code).toBe(0);
  });
});

describe("bosun converse --continue", () => {
  /** A conversation of ann and ben that has ended. */
  async function talked(): Promise<{ readonly here: Rig; readonly roles: readonly string[] }> {
    const here = rig();
    const roles = talkers(here, { ann: [], ben: [saying("Spaces.\nann: I give up.")], cat: [], judge: [] });
    const ended = await typed(here, [...CONVERSE, "--max-turns", "2", ...roles, "--session", "c-1"]);
    expect(ended).toMatchObject({ code: 0 });
    return { here, roles };
  }

  it("takes the transcript of an earlier conversation over, with other participants", async () => {
    const { here, roles } = await talked();
    const words = ["converse", "--participants", "cat,ben", "--start", "And the costs?", "--max-turns", "2"];
    expect(await typed(here, [...words, "--continue", "c-1", ...roles, "--session", "c-2"])).toMatchObject({ code: 0 });
    const before = [
      "user: Tabs or spaces?",
      "ann: ann speaks.",
      "ben: Spaces.\nann: I give up.",
      "scheduler: the session ended: done",
      "user: And the costs?",
    ];
    const [cat, ben] = requestsIn(here).slice(2);
    expect([cat?.role_id, cat && shownIn(cat)]).toEqual(["cat", before]);
    expect([ben?.role_id, ben && shownIn(ben)]).toEqual(["ben", [...before, "cat: cat speaks."]]);
  });

  it("records what it took over, so that the log proves it without the earlier session", async () => {
    const { here, roles } = await talked();
    const earlier = recordsIn(join(here.home, "logs", "c-1"));
    const continuing = ["--participants", "ann,cat", "--start", "More?", "--max-turns", "1", "--continue"];
    await typed(here, ["converse", ...continuing, "c-1", ...roles, "--session", "c-2"]);
    await typed(here, ["converse", ...continuing, "c-2", ...roles, "--session", "c-3"]);
    const [opened] = recordsIn(join(here.home, "logs", "c-2"));
    expect(opened?.payload["input"]).toMatchObject({
      continued: { session_id: "c-1", mode: "conversation", up_to: earlier.length },
    });
    expect(resultOf(here, "c-2")["continued"]).toEqual({ session_id: "c-1", up_to: earlier.length });
    // What was continued there belongs to the transcript too.
    const last = requestsIn(here).at(-1);
    expect(last && shownIn(last).slice(0, 2)).toEqual(["user: Tabs or spaces?", "ann: ann speaks."]);
    for (const id of ["c-2", "c-3"]) expect((await typed(here, ["replay", id, "--verify"])).code).toBe(0);
  });

  it("continues a session of another mode", async () => {
    const { here, roles } = await talked();
    await typed(here, ["pipeline", "--steps", "cat", "Research.", ...roles, "--session", "p-1"]);
    const words = ["converse", "--participants", "ann,ben", "--start", "Agreed?", "--max-turns", "1"];
    expect(await typed(here, [...words, "--continue", "p-1", ...roles])).toMatchObject({ code: 0 });
    const last = requestsIn(here).at(-1);
    expect(last && shownIn(last).slice(0, 2)).toEqual(["user: Research.", "cat: cat speaks."]);
  });

  it.each([
    ["is not there", "c-9", /There is no session "c-9"/],
    ["in which no agent has said anything", "p-1", /p-1 has no transcript: no agent has said anything/],
  ])("is refused for a session that %s, and creates nothing", async (_what, id, said) => {
    const here = rig();
    const roles = talkers(here, { ann: [], ben: [], cat: ["fail", "fail"] });
    await typed(here, [
      "pipeline",
      "--steps",
      "cat",
      "Research.",
      ...roles,
      ...withoutRetries(here),
      "--session",
      "p-1",
    ]);
    const refused = await typed(here, [...CONVERSE, "--continue", id, ...roles, "--session", "c-1"]);
    expect(refused).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(said) });
    expect(here.sessions()).toEqual(["p-1"]);
  });
});

describe("the words of bosun converse", () => {
  it.each([
    ["with a condition that cannot be parsed", ["--stop", "turns>=3 or so"], "--stop: At character 13, so:"],
    ["with one participant", ["--participants", "ann"], "--participants: must have at least 2 entries"],
    ["without turns", ["--max-turns", "0"], "--max-turns: must be at least 1"],
    ["with a role that is not there", ["--participants", "ann,bne"], 'did you mean "ben"'],
    ["without a start", ["--start", " "], 'bosun converse --start "…"'],
  ])("are refused %s, and create nothing", async (_what, words, said) => {
    const here = rig();
    const refused = await typed(here, [...CONVERSE, ...words, ...talkers(here, { ann: [], ben: [] })]);
    expect(refused).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(said) });
    expect(existsSync(here.home)).toBe(false);
  });

  it("complete the sessions that can be continued", async () => {
    const here = rig();
    await typed(here, [...CONVERSE, "--max-turns", "1", ...talkers(here, { ann: [], ben: [] }), "--session", "c-1"]);
    const complete = async (...words: string[]) => (await typed(here, ["complete", "--", ...words])).stdout;
    expect(await complete("converse", "--continue", "")).toContain("c-1\tdone: Tabs or spaces?");
    expect(await complete("analyze", "")).toContain("c-1\t");
    expect(await complete("analyze", "c-1", "--preset", "")).toContain("moderate");
  });
});
