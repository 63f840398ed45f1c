import { describe, expect, it, onTestFinished } from "vitest";
import { DashboardAsker } from "../../../src/commands/interaction/dashboard-asker.ts";
import type { OpenAsk } from "../../../src/commands/interaction/interaction.ts";
import type { Refusal } from "../../../src/commands/interaction/put.ts";
import { rig } from "../rig.ts";

type Parts = ConstructorParameters<typeof DashboardAsker>;

/** At a dashboard where `bosun` is a program that exits with 9. */
function asker(): DashboardAsker {
  const here = rig();
  const [, program = ""] = process.argv;
  process.argv[1] = here.write("nine.mjs", "process.exit(9);\n");
  onTestFinished(() => void (process.argv[1] = program));
  const context = { terminal: { err: { alert() {} } }, directory: here.workspace, environment: here.environment };
  const store = { session: () => ({ ok: false }), record: () => undefined };
  return new DashboardAsker(
    { context, home: here.home, session_id: "s", store } as unknown as Parts[0],
    {} as Parts[1],
  );
}

function result(ask_id: string, refused?: Refusal): OpenAsk {
  const waiting = () => [{ kind: "approval", about: "result", ask_id }] as const;
  return { ask_id, waiting, say: () => Promise.resolve(refused) } as unknown as OpenAsk;
}

describe("a result that is accepted at the dashboard to be merged", () => {
  it("is merged, with the exit code of that", async () => {
    const here = asker();
    here.ask(result("a1"));
    expect(await here.mergeAccepted()).toBe(0);
    await here.merge();
    expect(await here.mergeAccepted()).toBe(9);
  });

  it("is not merged if that was refused, or if the session goes on and asks again", async () => {
    const here = asker();
    here.ask(result("a1", { message: "No." }));
    await here.merge();
    expect(await here.mergeAccepted()).toBe(0);
    here.ask(result("a1"));
    await here.merge();
    here.ask(result("a2"));
    expect(await here.mergeAccepted()).toBe(0);
  });
});
