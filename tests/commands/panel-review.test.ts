import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { typed } from "./in-process.ts";
import { type Rig, rig } from "./rig.ts";
import { endAfterwards } from "./strays.ts";

/** An envelope, to be filled with a session's id, a role and a payload. */
const LINE =
  '{"session_id":"%s","timestamp":"2026-01-01T00:00:00Z","source":"%s","target":"scheduler","version":"1.0","payload_type":"review","payload":%s}';
const APPROVED = '{"decision":"approved","notes":"It is done."}';
const OBJECTED = '{"decision":"changes_requested","requested_changes":["Write a second line."]}';

/** Reviews what stands in the file `work`: approves once it has so many lines. */
const member = (role_id: string, lines: number) => ({
  role_id,
  type: "participant",
  cli_command: [
    "sh",
    "-c",
    `cat >/dev/null; if [ $(wc -l <work) -ge ${lines} ]; then said='${APPROVED}'; else said='${OBJECTED}'; fi; printf '${LINE}\\n' "$BOSUN_SESSION_ID" "$BOSUN_ROLE_ID" "$said"`,
  ],
});

const PLAN = JSON.stringify({
  summary: "Write",
  tasks: [
    {
      task_id: "write",
      description: "Write lines.",
      instruction: { summary: "Write.", steps: [{ text: "write", shell: "echo x >>work" }] },
    },
  ],
});

function begun(here: Rig, review: object, lines: readonly number[]): string[] {
  const roles = lines.map((count, index) => member(`m${index + 1}`, count));
  const files = {
    "--plan": here.write("plan.json", PLAN),
    "--roles": here.write("roles.json", JSON.stringify({ roles })),
    "--config": here.write("config.json", JSON.stringify({ review, retry_backoff_ms: 1 })),
  };
  return ["run", ...Object.entries(files).flat(), "--session", "s", "--yes", "--no-input", "--reporter", "plain"];
}

describe("work that a panel reviews", () => {
  it("goes back with what the panel wants changed, and is done once most approve", async () => {
    const here = endAfterwards(rig());
    const done = await typed(here, begun(here, { panel: ["m1", "m2", "m3"] }, [2, 2, 9]));
    expect([done.code, done.stderr]).toEqual([0, ""]);
    expect(done.stdout).toMatch(
      /write +STARTED panel s\.\d+[^]*write +sent back[^]*write +STARTED panel s\.\d+[^]*write +done/i,
    );
    expect(readFileSync(join(here.workspace, "work"), "utf8")).toBe("x\nx\n");
    const { children } = JSON.parse((await typed(here, ["status", "s", "--json"])).stdout) as {
      children: { session_id: string }[];
    };
    expect(children).toHaveLength(2);
    for (const id of ["s", ...children.map(({ session_id }) => session_id)])
      expect((await typed(here, ["replay", id, "--verify"])).code).toBe(0);
    const report = await typed(here, ["report", children[0]?.session_id ?? "", "--json"]);
    expect(report.stdout).toContain("2 of 3 approve");
  });

  it("is reviewed by the manager if nobody of the panel answers", async () => {
    const here = endAfterwards(rig());
    const args = begun(here, { panel: ["m1"] }, [1]);
    here.write(
      "roles.json",
      JSON.stringify({ roles: [{ role_id: "m1", type: "participant", cli_command: ["false"] }] }),
    );
    const done = await typed(here, args);
    expect(done.code).toBe(0);
    expect(done.stdout).toMatch(/s\.\d+ ENDED failed[^]*write +done/);
  });

  it.each([
    [{ panel: ["nobody"] }, /config\.json:1[^]*nobody/],
    [{ panel: [] }, /config\.json:1/],
    [{ panel: ["m1"], vote: "most" }, /config\.json:1/],
  ])("is refused before anything is created with %j", async (review, said) => {
    const here = rig();
    const refused = await typed(here, begun(here, review, [1]));
    expect([refused.code, refused.stderr]).toEqual([3, expect.stringMatching(said)]);
    expect(here.sessions()).toEqual([]);
  });
});
