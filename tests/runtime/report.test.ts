import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type JsonObject, listOf, objectOf } from "../../src/lib/json.ts";
import { crew, instructed, report } from "./crew.ts";
import { newRig } from "./rig.ts";
import { begin, reportOf, resume, run } from "./sessions.ts";

describe("a final report", () => {
  it("prints outputs and issues of every shape", async () => {
    const rig = newRig();
    const told = {
      outputs: ["one", { text: "two\nlines" }, { label: "three", uri: "3.txt" }],
      issues: ["five", { text: "six", metadata: { sure: true } }],
    };
    const tasks = [instructed("a")];
    const session = await begin(rig, { agentFor: crew(tasks, { instruction: () => report(told) }) });
    await run(session);
    const text = readFileSync(join(rig.home, "sessions", session.session_id, "final_report.md"), "utf8");
    const entries = ["one", "two lines", "three: 3.txt", "issue: five", "issue: six"];
    expect(text).toContain(`\n## a: Work on a\n\n> It is done.\n\n${entries.map((entry) => `- ${entry}\n`).join("")}`);
  });

  it("adds up tokens, with cached ones where they are reported", async () => {
    const used = async (usage: JsonObject) => {
      const rig = newRig();
      const agentFor = crew([instructed("a"), instructed("b")], { instruction: () => report({ usage }) });
      const session = await begin(rig, { agentFor });
      await run(session);
      const { by_role, ...total } = objectOf(reportOf(rig, session.session_id)["usage"]);
      return { total, by_role };
    };
    const most = { input_tokens: 20, output_tokens: 10, cost_usd: null };
    const cached = await used({ input_tokens: 10, output_tokens: 5, cached_tokens: 4 });
    expect(cached.total).toEqual({ turns: 5, ...most, cached_tokens: 8, untold_turns: 3 });
    expect(cached.by_role).toEqual([
      { role_id: "boss", turns: 3, input_tokens: null, output_tokens: null, cost_usd: null, untold_turns: 3 },
      { role_id: "hand", turns: 2, ...most, cached_tokens: 8 },
    ]);
    expect((await used({ input_tokens: 10, output_tokens: 5 })).total).toEqual({ turns: 5, ...most, untold_turns: 3 });
  });

  it("has no tokens where no turn told them", async () => {
    const rig = newRig();
    const session = await begin(rig, { agentFor: crew([instructed("a")]) });
    await run(session);
    const { by_role: _, ...total } = objectOf(reportOf(rig, session.session_id)["usage"]);
    expect(total).toEqual({ turns: 3, input_tokens: null, output_tokens: null, cost_usd: null, untold_turns: 3 });
  });

  it("tells what each ticket used", async () => {
    const rig = newRig();
    const usage = { input_tokens: 10, output_tokens: 5, cost_usd: 0.5 };
    const agentFor = crew([instructed("a"), instructed("b")], { instruction: () => report({ usage }) });
    const session = await begin(rig, { agentFor });
    await run(session);
    const tickets = listOf(reportOf(rig, session.session_id)["tickets"]).map((ticket) => objectOf(ticket).usage);
    // The review is about the ticket, too, and its manager tells nothing.
    const spent = { turns: 2, input_tokens: 10, output_tokens: 5, cost_usd: null, told_usd: 0.5, untold_turns: 1 };
    expect(tickets).toEqual([spent, spent]);
  });
});

describe("a final report that cannot be written", () => {
  it("fails with its path, and is written by the next resume", async () => {
    const rig = newRig();
    const session_id = "unwritten";
    const folder = join(rig.home, "sessions", session_id);
    const agentFor = crew([instructed("a")], {
      review_request: () => {
        renameSync(folder, `${folder}.aside`);
        writeFileSync(folder, "in its way");
        return { payload_type: "review", payload: { decision: "approved" } };
      },
    });
    const session = await begin(rig, { agentFor, session_id });
    const end = await session.run({ waitForPeople: false });
    expect(end).toMatchObject({ ok: false, error: { code: "storage", message: expect.stringContaining(folder) } });
    rmSync(folder);
    renameSync(`${folder}.aside`, folder);
    expect(existsSync(join(folder, "final_report.json"))).toBe(false);
    const resumed = await resume(rig, session_id, { agentFor });
    expect(reportOf(rig, session_id)).toMatchObject({ outcome: "done" });
    expect(await resumed.run({ waitForPeople: false })).toMatchObject({ ok: true });
  });
});
