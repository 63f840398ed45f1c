import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { typed } from "./in-process.ts";
import { rig } from "./rig.ts";
import { endAfterwards } from "./strays.ts";

/** An envelope, to be filled with a session's id, a role, a type and a payload. */
const LINE =
  '{"session_id":"%s","timestamp":"2026-01-01T00:00:00Z","source":"%s","target":"scheduler","version":"1.0","payload_type":"%s","payload":%s}';

const PLAN = JSON.stringify({
  summary: "Rename a column",
  tasks: [
    {
      task_id: "rename",
      description: "Rename the column",
      risks: ["data loss"],
      review: "checks",
      acceptance_criteria: [{ text: "it is done", command: ["test", "-e", "renamed"] }],
      instruction: { summary: "Rename it", steps: [{ text: "rename", shell: "touch renamed" }] },
    },
  ],
});

describe("bosun run with a council as its discussion", () => {
  it("lets a council of roles decide it, whose accepted proposal the manager instructs by", async () => {
    const here = endAfterwards(rig());
    const input = { participants: ["one", "two"], facilitator: "wise", max_rounds: 1 };
    const speaks = `request=$(cat)
case $request in
*'"asked":"vote"'*) type=vote; payload='{"proposal_id":"p1","vote":"yes"}' ;;
*'"asked":"lead"'*'"status":"proposed"'*) type=state_change; payload='{"new_state":"voting","reason":"Enough."}' ;;
*'"asked":"lead"'*) type=summary; payload='{"summary_text":"It is decided."}' ;;
*'"role_id":"one"'*) type=proposal; payload='{"title":"Two steps","details":"Copy, then drop."}' ;;
*) type=pass; payload='{"reason":"All is said."}' ;;
esac
printf '${LINE}\n' "$BOSUN_SESSION_ID" "$BOSUN_ROLE_ID" "$type" "$payload"`;
    const member = (role_id: string) => ({ role_id, type: "participant", cli_command: ["sh", "-c", speaks] });
    const files = {
      "--plan": here.write("plan.json", PLAN),
      "--roles": here.write("roles.json", JSON.stringify({ roles: ["one", "two", "wise"].map(member) })),
      "--config": here.write("config.json", JSON.stringify({ discussion: { mode: "council", input } })),
    };
    const args = ["run", ...Object.entries(files).flat(), "--session", "s", "--no-input", "--reporter", "plain"];
    const done = await typed(here, args);
    expect([done.code, done.stderr]).toEqual([0, ""]);
    expect(done.stdout).toMatch(/rename +STARTED council s\.\d+[^]*rename +s\.\d+ ENDED done/);
    const logs = readdirSync(join(here.home, "logs", "s")).toSorted();
    const ended = logs.find((name) => name.endsWith("-session_finished.json")) ?? "";
    expect(readFileSync(join(here.home, "logs", "s", ended), "utf8")).toContain(
      '"conclusion":"Two steps\\nCopy, then drop."',
    );
    const { children } = JSON.parse((await typed(here, ["status", "s", "--json"])).stdout) as {
      children: { session_id: string }[];
    };
    for (const id of ["s", children[0]?.session_id ?? ""])
      expect((await typed(here, ["replay", id, "--verify"])).code).toBe(0);
    const report = await typed(here, ["report", children[0]?.session_id ?? "", "--json"]);
    expect(report.stdout).toContain("2 seats, 1 vendor");
  });
});
