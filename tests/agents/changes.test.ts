import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { tellingChanges } from "../../src/agents/changes.ts";
import type { TurnContext, TurnRequest } from "../../src/kernel/agent.ts";
import type { Json } from "../../src/lib/json.ts";

/** A folder with a file, committed if it is a repository. */
function workspace(isRepository: boolean): string {
  const folder = mkdtempSync(join(tmpdir(), "bosun-changes-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "kept.txt"), "one\n");
  const git = (...words: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...words], { cwd: folder });
  if (isRepository) {
    git("init", "--quiet");
    git("add", ".");
    git("commit", "--quiet", "-m", "one");
  }
  return folder;
}

/** The `diff_stat` that an agent is given in a turn with this message. */
async function toldIn(folder: string, payload_type: string, dialect: string): Promise<Json | undefined> {
  let told: Json | undefined;
  const agent = tellingChanges(
    {
      turn: ({ payload }) => {
        told = payload.message.payload["diff_stat"];
        return Promise.resolve({ refused: [] });
      },
    },
    process.env,
  );
  const request = {
    role: { role_id: "a", type: "manager", dialect },
    payload: { workspace: folder, message: { payload_type, payload: {} } },
  };
  await agent.turn(request as unknown as TurnRequest, {} as TurnContext);
  return told;
}

describe("a reviewer is told what changed since the last commit", () => {
  it("in files that git has, and which files are new", async () => {
    const folder = workspace(true);
    writeFileSync(join(folder, "kept.txt"), "one\ntwo\n");
    writeFileSync(join(folder, "new.txt"), "");
    const told = await toldIn(folder, "review_request", "claude");
    expect(told).toMatch(/^ new\.txt \| not in git yet\n kept\.txt \| 1 \+\n 1 file changed, 1 insertion\(\+\)$/);
  });

  it.each([
    ["in a turn that is no review", true, "instruction", "claude"],
    ["without a repository", false, "review_request", "claude"],
    ["if it speaks envelopes", true, "review_request", "envelope"],
  ])("but not %s", async (_, isRepository, payload_type, dialect) => {
    const folder = workspace(isRepository);
    writeFileSync(join(folder, "new.txt"), "");
    expect(await toldIn(folder, payload_type, dialect)).toBeUndefined();
  });
});
