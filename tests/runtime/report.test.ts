import { existsSync, mkdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { crew, task } from "./crew.ts";
import { begin, cleanUp, newRig, reportOf, resume } from "./rig.ts";

afterEach(cleanUp);

describe("a final report that cannot be written", () => {
  it("fails naming the place, and is written by whoever resumes the closed session", async () => {
    const rig = newRig();
    const agentFor = crew([task("a", [], { instruction: { summary: "Do it." } })]);
    const session = await begin(rig, { agentFor });
    const folder = join(rig.home, "sessions", session.session_id);
    const inTheWay = join(folder, "final_report.json.tmp");
    mkdirSync(inTheWay, { recursive: true });
    const end = await session.run({ waitForPeople: false });
    expect(end).toMatchObject({ ok: false, error: { code: "storage", message: expect.stringContaining(inTheWay) } });
    expect(existsSync(join(folder, "final_report.json"))).toBe(false);
    rmdirSync(inTheWay);
    const resumed = await resume(rig, session.session_id, { agentFor });
    expect(await resumed.run({ waitForPeople: false })).toMatchObject({ ok: true });
    expect(reportOf(rig, session.session_id)).toMatchObject({ outcome: "done" });
  });
});
