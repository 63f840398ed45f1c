import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { typed, typedJson } from "./in-process.ts";
import { type Rig, rig, tinyPlan } from "./rig.ts";

/** A manager with two tasks: about one it asks, the other fails until there is a file. */
const MANAGER = `
const request = JSON.parse(require("node:fs").readFileSync(0, "utf8").split("\\n")[0]);
const { role_id, message, context } = request.payload;
const say = (payload_type, payload) => console.log(JSON.stringify({
  session_id: request.session_id, source: role_id, target: "scheduler", payload_type, version: "1.0", payload,
}));
const ticket = context.ticket?.ticket_id;
if (message.payload_type === "requirement")
  say("plan", { tasks: ["ask", "crash"].map((task_id) => ({ task_id, description: "Do " + task_id })) });
else if (message.payload_type === "review_request") say("review", { decision: "approved" });
else if (ticket === "ask") say("clarification", { status: "open", questions: [{ question_id: "which", text: "Which?" }] });
else say("instruction", { summary: "Do it", steps: [{ text: "it", shell: "test -e good" }] });
`;

/** A session that has stopped: of its tickets one waits for an answer, the other is in error and would be done now. */
async function stopped(): Promise<Rig> {
  const here = rig();
  const manager = `${process.execPath} ${here.write("manager.cjs", MANAGER)}`;
  const config = here.write("config.json", JSON.stringify({ max_retries: 0, max_escalations: 0 }));
  const ran = await typed(here, ["run", "Two.", "--manager", manager, "--config", config, "--session", "kq"]);
  expect([ran.code, ran.stderr]).toEqual([4, ""]);
  expect(await ticketsOf(here)).toEqual({ ask: "pending", crash: "error" });
  writeFileSync(join(here.workspace, "good"), "");
  return here;
}

async function ticketsOf(here: Rig): Promise<Record<string, string>> {
  const status = ["status", "kq", "--json"];
  const { tickets } = await typedJson<{ tickets: { ticket_id: string; status: string }[] }>(here, status);
  return Object.fromEntries(tickets.map(({ ticket_id, status }) => [ticket_id, status]));
}

async function keep(here: Rig, ...words: readonly string[]): Promise<void> {
  expect((await typed(here, words)).stdout).toContain("Kept for kq");
}

describe("a kept retry after the end of the last open ticket", () => {
  it("is taken first: the session would close without it", async () => {
    const here = await stopped();
    await keep(here, "cancel", "ask");
    await keep(here, "retry", "crash");
    const resumed = await typed(here, ["resume", "kq"]);
    expect([resumed.code, resumed.stdout]).toEqual([1, expect.not.stringContaining("Not taken")]);
    expect(await ticketsOf(here)).toEqual({ ask: "error", crash: "done" });
    expect((await typed(here, ["replay", "kq", "--verify"])).code).toBe(0);
  });

  it("stays behind messages about its own ticket, or about none", async () => {
    const here = await stopped();
    await keep(here, "tell", "crash", "Hurry.");
    await keep(here, "retry", "crash");
    await keep(here, "cancel", "crash");
    const resumed = await typed(here, ["resume", "kq"]);
    expect(resumed.stdout).toMatch(/crash +TELL by[^]*crash +pending[^]*crash +cancelled/);
  });
});

describe("a message that came too late for a session", () => {
  it("is shown with the command that does it now", async () => {
    const here = await stopped();
    await keep(here, "cancel", "ask");
    await keep(here, "tell", "Hurry.");
    await keep(here, "retry", "crash");
    const told = "Not taken, because the session closed first: ";
    const lines = `${told}tell\n${told}retry crash\n  bosun retry kq crash\n`;
    for (const words of [["resume"], ["resume"], ["status"], ["attach"]]) {
      const { stdout } = await typed(here, [...words, "kq"]);
      expect(`${words.join(" ")}\n${stdout}`).toContain(lines);
    }
    expect((await typed(here, ["resume", "kq", "--reporter", "silent"])).stderr).toContain(lines);
    const unheard = [{ said: "tell" }, { said: "retry crash", again: "bosun retry kq crash" }];
    const events = (await typed(here, ["resume", "kq", "--json"])).stdout.trimEnd().split("\n");
    expect(JSON.parse(events.at(-1) ?? "")).toMatchObject({ type: "result", unheard });
    expect(await typedJson(here, ["status", "kq", "--json"])).toMatchObject({
      kept: [{ said: "tell" }, { said: "retry crash", command: "retry", ticket_id: "crash" }],
    });
    const retried = await typed(here, ["retry", "kq", "crash"]);
    expect(retried.stdout).toMatch(/closed before .*"retry crash"/);
    expect(retried.stdout).not.toContain(told);
    expect(await ticketsOf(here)).toEqual({ ask: "error", crash: "done" });
  });
});

describe("a command that is kept until resume", () => {
  it("is shown by status and inbox; a cancelled ticket asks nothing", async () => {
    const here = await stopped();
    expect((await typed(here, ["status", "kq"])).stdout).toContain("bosun answer kq");
    await keep(here, "cancel", "ask");
    await keep(here, "retry", "crash");
    for (const words of [["status", "kq"], ["inbox"]]) {
      const { stdout } = await typed(here, words);
      const lines = "  cancel ask; to deliver it: bosun resume kq\n  retry crash; to deliver it: bosun resume kq\n";
      expect(stdout).toContain(lines);
      expect(stdout).not.toContain("bosun answer");
    }
    const kept = [
      { said: "cancel ask", command: "cancel", ticket_id: "ask" },
      { said: "retry crash", command: "retry", ticket_id: "crash" },
    ];
    expect(await typedJson(here, ["status", "kq", "--json"])).toMatchObject({
      pending_questions: [{ ticket_id: "ask", kept: "cancel ask" }],
      kept,
    });
    expect(await typedJson(here, ["inbox", "--json"])).toMatchObject([
      { session_id: "kq", kind: "question", kept: "cancel ask" },
      ...kept.map((word) => ({ session_id: "kq", kind: "kept", ...word })),
    ]);
    const answered = await typed(here, ["answer", "kq", "this"]);
    expect([answered.code, answered.stderr]).toEqual([2, expect.stringContaining("bosun resume kq")]);
  });

  it("cancels a ticket instead of its review", async () => {
    const here = rig();
    const plan = tinyPlan([{ task_id: "write", shell: "true", more: { review: "user" } }]);
    const ran = await typed(here, ["run", "--plan", here.write("plan.json", plan), "--session", "kq"]);
    expect(ran.code).toBe(4);
    await keep(here, "cancel", "write");
    expect((await typed(here, ["review", "kq"])).stdout).not.toContain("bosun review");
    const approved = await typed(here, ["review", "kq", "write", "--approve"]);
    expect([approved.code, approved.stdout]).toEqual([2, ""]);
  });
});
