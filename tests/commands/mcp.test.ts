import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { isJsonObject, type JsonObject, listOf, objectOf, textOf } from "../../src/lib/json.ts";
import { built } from "../built.ts";
import { typed, typedJson } from "./in-process.ts";
import { connect } from "./mcp-client.ts";
import { type Rig, rig, tinyPlan, until } from "./rig.ts";
import { endAfterwards, strays } from "./strays.ts";
import { ASK, letGo, sessionCloses, statusOf, taskRuns, WAIT } from "./waiting-task.ts";

const ONE = JSON.parse(tinyPlan([{ task_id: "one", shell: "echo done > out.txt" }])) as JsonObject;
const TURN = { BOSUN_SESSION_ID: "s-abc", BOSUN_ARTIFACTS_DIR: "/artifacts", BOSUN_TURN_ID: "t3" };

/** The first record of a type in the log of a session. */
function recorded(here: Rig, session_id: string, type: string): JsonObject {
  const folder = join(here.home, "logs", session_id);
  const name = readdirSync(folder).find((file) => file.endsWith(`-${type}.json`)) ?? "";
  return JSON.parse(readFileSync(join(folder, name), "utf8")) as JsonObject;
}

async function proved(here: Rig, session_id: string): Promise<void> {
  await sessionCloses(here, session_id);
  expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
}

describe("session_status", () => {
  it("tells how a session stands, or lists all", async () => {
    const here = rig();
    const served = await connect(here);
    expect((await served.call("session_status")).value).toEqual({ sessions: [] });
    const plan = here.write("plan.json", JSON.stringify(ONE));
    expect((await here.run(["run", "--plan", plan, "--session", "s-one", "--no-input"])).code).toBe(0);
    const { isError, text, value } = await served.call("session_status", { session: "s-one" });
    expect([isError, JSON.parse(text)]).toEqual([false, value]);
    expect(value).toEqual(await typedJson(here, ["status", "s-one", "--json"]));
    expect((await served.call("session_status")).value).toMatchObject({ sessions: [{ session_id: "s-one" }] });
  });
});

describe("session_start", () => {
  it("begins a session with a plan in a process of its own, which outlives the server", async () => {
    const here = endAfterwards(rig());
    const served = await connect(here);
    const { isError, value } = await served.call("session_start", { plan: JSON.parse(WAIT) as JsonObject });
    const session_id = textOf(value.session_id);
    expect([isError, value.resource]).toEqual([false, `bosun://sessions/${session_id}`]);
    expect(existsSync(textOf(value.log))).toBe(true);
    await served.close();
    expect(await taskRuns(here)).toMatchObject({ session_id, owner: value.pid });
    letGo(here);
    await proved(here, session_id);
  });

  it("takes the path of a plan file, a workspace and limits", async () => {
    const here = endAfterwards(rig());
    const plan = here.write("plan.json", JSON.stringify(ONE));
    const workspace = join(here.workspace, "inner");
    mkdirSync(workspace);
    const served = await connect(here);
    const given = { plan, workspace, requirement: "As planned.", budget_turns: 9, deadline: "1h" };
    const session_id = textOf((await served.call("session_start", given)).value.session_id);
    await proved(here, session_id);
    expect(existsSync(join(workspace, "out.txt"))).toBe(true);
    expect(recorded(here, session_id, "session_opened").payload).toMatchObject({
      requirement: "As planned.",
      config: { budget: { turns: 9, wall_s: 3600 } },
    });
  });

  it("warns as the command does", async () => {
    const here = endAfterwards(rig());
    const served = await connect(here);
    const { value } = await served.call("session_start", { plan: JSON.parse(WAIT) as JsonObject });
    const second = await served.call("session_start", { plan: ONE });
    expect(second.value.warnings).toEqual([expect.stringContaining(`${textOf(value.session_id)} also works`)]);
    letGo(here);
    await sessionCloses(here, textOf(value.session_id));
    await sessionCloses(here, textOf(second.value.session_id));
  });

  it.each([
    ["nothing to do", {}, "usage", "The requirement is empty"],
    ["what would be read from standard input", { requirement: "-" }, "usage", "The requirement is empty"],
    ["such a plan", { plan: "-" }, "configuration", "standard input"],
    ["a base without copies", { plan: ONE, base: "HEAD" }, "usage", "--base"],
    ["nobody to plan it", { requirement: "Do it." }, "configuration", "No agent is configured"],
    ["a crew that is not there", { requirement: "Do it.", crew: "ghosts" }, "usage", "ghosts"],
    ["a plan that is none", { plan: { tasks: [{}] } }, "configuration", "task_id"],
    ["a cycle", { plan: { tasks: cycle() } }, "invalid_plan", "a"],
    ["a file that is not there", { plan: "none.yaml" }, "not_found", "none.yaml"],
    ["no folder", { plan: ONE, workspace: "/none/there" }, "usage", "/none/there"],
  ])("refuses %s, and begins nothing", async (_, given, code, message) => {
    const here = rig();
    const served = await connect(here);
    const refused = await served.call("session_start", given);
    expect(refused).toMatchObject({ isError: true, value: { error: { code } } });
    expect(refused.text).toContain(message);
    expect((await served.call("session_status")).value).toEqual({ sessions: [] });
    expect(here.sessions()).toEqual([]);
  });

  it("refuses what the project's configuration may not do without trust", async () => {
    const here = endAfterwards(rig());
    const folder = join(here.workspace, ".bosun");
    mkdirSync(folder, { mode: 0o700 });
    writeFileSync(join(folder, "scheduler_config.yaml"), "notify: {command: [sh], on: [closed]}\n", { mode: 0o600 });
    const served = await connect(here);
    const refused = await served.call("session_start", { plan: ONE });
    expect(refused).toMatchObject({ isError: true, value: { error: { code: "trust" } } });
    expect(here.sessions()).toEqual([]);
    expect((await typed(here, ["trust", "--yes"])).code).toBe(0);
    const { value } = await served.call("session_start", { plan: ONE });
    await sessionCloses(here, textOf(value.session_id));
  });
});

describe("session_answer", () => {
  it("answers a question of a running session, for this user by a client", async () => {
    const here = endAfterwards(rig());
    const served = await connect(here);
    const { value } = await served.call("session_start", { plan: JSON.parse(ASK) as JsonObject });
    const session = textOf(value.session_id);
    const asked = await asks(here, session, "pending_questions");
    const wrong = await served.call("session_answer", { session, id: "q9", answer: "Ada" });
    expect([wrong.isError, wrong.text]).toEqual([true, expect.stringMatching(/does not ask "q9"[^]*\(Ada, Bob\)/)]);
    const unfit = await served.call("session_answer", { session, answer: "7" });
    expect(unfit).toMatchObject({ isError: true, value: { error: { code: "usage" } } });
    expect((await served.call("session_answer", { session, id: asked.question_id, answer: "2" })).value).toEqual({
      session_id: session,
      took: "taken",
    });
    await proved(here, session);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Bob\n");
    expect(recorded(here, session, "clarification_response")).toMatchObject({ record: { actor: { via: "mcp" } } });
    const late = await served.call("session_answer", { session, answer: "Ada" });
    expect([late.isError, late.text]).toEqual([true, expect.stringContaining("asks nothing")]);
  });

  it("decides on a plan, which may be sent back with a reason", async () => {
    const here = endAfterwards(rig());
    const served = await connect(here);
    const { value } = await served.call("session_start", { plan: ONE, ask_plan: true });
    const session = textOf(value.session_id);
    await asks(here, session, "pending_decisions");
    const silent = await served.call("session_answer", { session, answer: "changes_requested" });
    expect([silent.isError, silent.text]).toEqual([true, expect.stringContaining("Say what to change")]);
    const odd = await served.call("session_answer", { session, answer: "yes" });
    expect([odd.isError, odd.text]).toEqual([true, expect.stringContaining("approved, changes_requested, rejected")]);
    expect((await served.call("session_answer", { session, answer: "approved" })).isError).toBe(false);
    await proved(here, session);
    expect(await statusOf(here, session)).toMatchObject({ outcome: "done" });
  });

  it("resumes a session that has stopped, unless it is told not to", async () => {
    const here = endAfterwards(rig());
    const plan = here.write("plan.json", ASK);
    expect((await here.run(["run", "--plan", plan, "--session", "s-ask", "--no-input"])).code).toBe(4);
    const served = await connect(here);
    const given = { session: "s-ask", answer: "Bob" };
    expect((await served.call("session_answer", { ...given, resume: false })).value).toMatchObject({ took: "waits" });
    const again = await served.call("session_answer", given);
    expect([again.isError, again.text]).toEqual([true, expect.stringContaining("has a decision already")]);
    expect((await here.run(["run", "--plan", plan, "--session", "s-two", "--no-input"])).code).toBe(4);
    expect((await served.call("session_answer", { ...given, session: "s-two" })).value).toMatchObject({
      took: "resumed",
      resumed: { session_id: "s-two" },
    });
    await proved(here, "s-two");
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Bob\n");
  });
});

describe("session_cancel", () => {
  it("ends a ticket, a running session, and one that has stopped", async () => {
    const here = endAfterwards(rig());
    const served = await connect(here);
    const { value } = await served.call("session_start", { plan: JSON.parse(WAIT) as JsonObject });
    const session = textOf(value.session_id);
    await taskRuns(here);
    const none = await served.call("session_cancel", { session, ticket: "none" });
    expect(none).toMatchObject({ isError: true, value: { error: { code: "not_found" } } });
    expect((await served.call("session_cancel", { session, ticket: "wait" })).value).toMatchObject({ took: "taken" });
    await proved(here, session);
    const over = await served.call("session_cancel", { session });
    expect([over.isError, over.text]).toEqual([true, expect.stringContaining("is closed")]);

    expect((await here.run(["run", "--plan", here.write("ask.json", ASK), "--session", "s-ask"])).code).toBe(4);
    const stopped = await served.call("session_cancel", { session: "s-ask", reason: "No longer needed." });
    expect(stopped.value).toEqual({ session_id: "s-ask", took: "closed" });
    expect(await statusOf(here, "s-ask")).toMatchObject({ state: "closed", outcome: "cancelled", owner: null });
    const unnamed = await served.call("session_cancel");
    expect([unnamed.isError, unnamed.text]).toEqual([true, expect.stringContaining('"session" is missing')]);
  });
});

describe("inside a turn or a check", () => {
  const { BOSUN_TURN_ID: _, ...CHECK } = TURN;

  it.each([
    ["a turn", { env: TURN }, "turn t3 of s-abc"],
    ["a check", { env: CHECK }, "a check of s-abc"],
    ["a turn whose program hides its variables from servers", { env: TURN, hidden: true }, "turn t3 of s-abc"],
  ])("nobody decides by a tool: %s", async (_name, { env, ...how }, where) => {
    const here = endAfterwards(rig());
    expect((await here.run(["run", "--plan", here.write("ask.json", ASK), "--session", "s-ask"])).code).toBe(4);
    const hidden = "hidden" in how ? ["env", ...Object.keys(env).flatMap((name) => ["-u", name])] : [];
    const served = await connect(here, env, hidden);
    for (const [name, given] of [
      ["session_answer", { session: "s-ask", answer: "Ada" }],
      ["session_cancel", { session: "s-ask" }],
    ] as const) {
      const refused = await served.call(name, given);
      expect(refused).toMatchObject({ isError: true, value: { error: { code: "not_permitted" } } });
      expect(refused.text).toContain(where);
    }
    expect((await served.call("session_status", { session: "s-ask" })).value).toMatchObject({ state: "waiting" });
    const { value } = await served.call("session_start", { plan: ONE });
    const session_id = textOf(value.session_id);
    await sessionCloses(here, session_id);
    expect(recorded(here, session_id, "session_opened")).toMatchObject({ payload: { started_by: { via: "agent" } } });
  });
});

describe("resources", () => {
  it("are sessions, tickets and reports", async () => {
    const here = rig();
    const served = await connect(here);
    expect(await served.client.listResources()).toMatchObject({ resources: [] });
    const plan = here.write("plan.json", JSON.stringify(ONE));
    expect((await here.run(["run", "--plan", plan, "--session", "s-one", "--no-input"])).code).toBe(0);
    const { resources } = await served.client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual(["bosun://sessions/s-one", "bosun://sessions/s-one/report"]);
    const { resourceTemplates } = await served.client.listResourceTemplates();
    expect(resourceTemplates.map(({ name }) => name)).toEqual(["session", "ticket", "report"]);
    const read = async (uri: string) => {
      const [content] = (await served.client.readResource({ uri })).contents;
      return content && "text" in content ? content.text : "";
    };
    const status = await typedJson<JsonObject>(here, ["status", "s-one", "--json"]);
    expect(JSON.parse(await read("bosun://sessions/s-one"))).toEqual(status);
    expect(JSON.parse(await read("bosun://sessions/s-one/tickets/one"))).toEqual(listOf(status.tickets)[0]);
    const { stdout } = await typed(here, ["report", "s-one", "--md"]);
    expect(await read("bosun://sessions/s-one/report")).toBe(stdout);
    for (const [uri, allowed] of [
      ["bosun://sessions/s-none", "no session"],
      ["bosun://sessions/s-one/tickets/two", "It has one."],
      ["bosun://sessions/..%2F..%2Fetc/report", "no resource"],
      ["bosun://sessions/../report", "no session"],
      ["bosun://sessions/s-one/log", "bosun://sessions/{session}/tickets/{ticket}"],
      ["file:///etc/passwd", "bosun://sessions/{session}"],
    ] as const)
      await expect(read(uri)).rejects.toThrow(allowed);
  });
});

describe("the protocol", () => {
  it("has every line of stdout, whatever packages print and clients send", async () => {
    const here = endAfterwards(rig());
    // As a package does that logs while the server is at work.
    const noise = `const noisy = setInterval(() => {
      if (process.stdin.listenerCount("data") === 0) return;
      for (const level of ["log", "info", "debug", "warn", "error"]) console[level]("noise of " + level);
      clearInterval(noisy);
    }, 1);`;
    const served = await connect(here, { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(noise)}` });
    await served.client.listTools();
    const { value } = await served.call("session_start", { plan: JSON.parse(ASK) as JsonObject });
    const session = textOf(value.session_id);
    await asks(here, session, "pending_questions");
    await served.call("session_answer", { session, answer: "Ada" });
    await sessionCloses(here, session);
    await served.call("ghost");
    await served.call("session_cancel", { session });
    await expect(served.client.readResource({ uri: "bosun://none" })).rejects.toThrow("no resource");
    await served.close();
    const messages = served.lines().map((line) => JSON.parse(line) as JsonObject);
    expect(messages.length).toBeGreaterThan(6);
    expect(messages.every((one) => isJsonObject(one) && one.jsonrpc === "2.0")).toBe(true);
    for (const level of ["log", "info", "debug"]) expect(served.stderr()).toContain(`noise of ${level}`);
  });

  it("answers an unknown tool and wrong arguments with what is allowed", async () => {
    const served = await connect(rig());
    const unknown = await served.call("session_stat");
    expect([unknown.isError, unknown.text]).toEqual([true, expect.stringContaining("The tools are session_start, ")]);
    for (const [given, allowed] of [
      [{ sesion: "s-one" }, 'did you mean "session"?'],
      [{ session: 7 }, '"session" must be a string, not a number'],
      [{ session: "" }, '"session" must not be empty'],
      [{ token: "secret" }, '"token" is not a known key (session)'],
    ] as const) {
      const wrong = await served.call("session_status", given);
      expect([wrong.isError, wrong.text]).toEqual([true, expect.stringContaining(allowed)]);
    }
    const none = await served.call("session_status", { session: "s-none" });
    expect(none).toMatchObject({ isError: true });
  });

  it("tells what tools only show, which of them a client should ask about, and what they take", async () => {
    const served = await connect(rig());
    const { tools } = await served.client.listTools();
    const shown = tools.filter(({ annotations }) => annotations?.readOnlyHint === true).map(({ name }) => name);
    expect(shown).toEqual(["session_status", "meeting_discover", "meeting_info", "meeting_read"]);
    const grave = tools.filter(({ annotations }) => annotations?.destructiveHint === true).map(({ name }) => name);
    expect(grave).toEqual(["session_start", "session_answer", "session_cancel"]);
    for (const { name, inputSchema } of tools)
      expect([name, objectOf(inputSchema as JsonObject).additionalProperties]).toEqual([name, false]);
  });

  it("ends with stdin, when the call that came before is done", async () => {
    const here = endAfterwards(rig());
    const { child, exited } = callAtOnce(here, "session_start", { plan: ONE });
    child.stdin.end();
    expect(await exited).toBe(0);
    const [session_id = ""] = here.sessions();
    await proved(here, session_id);
  });

  it.each<[string, (here: Rig) => boolean]>([
    ["the call is sent", () => true],
    ["the database is there", ({ home }) => existsSync(join(home, "bosun.db"))],
    ["the session has a folder", (here) => here.sessions().length > 0],
    ["the session is on record", ({ home }) => existsSync(join(home, "logs"))],
  ])("leaves nothing half written when it is killed as soon as %s", async (_, isSoFar) => {
    const here = endAfterwards(rig());
    const { child, exited } = callAtOnce(here, "session_start", { plan: ONE });
    await until("the call to be so far", () => isSoFar(here));
    child.kill("SIGKILL");
    await exited;
    const schedulers = () => strays(here).filter((pid) => pid !== child.pid).length;
    await until("what it started to end", () => schedulers() === 0);
    const sessions = await typedJson<JsonObject[]>(here, ["status", "--all", "--json"]);
    expect(sessions.length).toBeLessThan(2);
    for (const session of sessions) await proved(here, textOf(session.session_id));
  });
});

/** Starts `bosun mcp`, and calls a tool without waiting for anything. */
function callAtOnce(here: Rig, name: string, given: object) {
  const child = spawn(process.execPath, [built("cli.js"), "mcp"], {
    cwd: here.workspace,
    env: { ...here.environment, BOSUN_HOME: here.home },
    stdio: ["pipe", "ignore", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const exited = new Promise((resolve) => child.once("exit", resolve));
  child.stdin.write(
    calling(name, given)
      .map((message) => `${JSON.stringify(message)}\n`)
      .join(""),
  );
  return { child, exited };
}

/** The messages with which a client calls a tool at once. */
function calling(name: string, given: object): object[] {
  const hello = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } };
  return [
    { jsonrpc: "2.0", id: 1, method: "initialize", params: hello },
    { jsonrpc: "2.0", method: "notifications/initialized" },
    { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name, arguments: given } },
  ];
}

async function asks(here: Rig, session: string, field: string): Promise<JsonObject> {
  let asked: JsonObject = {};
  await until("the session to ask", async () => {
    const status = await typedJson<JsonObject>(here, ["status", session, "--json"]);
    asked = objectOf(listOf(status[field])[0]);
    return listOf(status[field]).length > 0;
  });
  return asked;
}

function cycle(): object[] {
  const task = (task_id: string, needed: string) => ({ task_id, description: task_id, dependencies: [needed] });
  return [task("a", "b"), task("b", "a")];
}
