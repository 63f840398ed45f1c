import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fakePrograms } from "./fake-programs.ts";
import { onlySession, typed, typedJson } from "./in-process.ts";
import { type Rig, rig, ROOT, tinyPlan, until } from "./rig.ts";
import { endAfterwards } from "./strays.ts";
import { open } from "./terminal.ts";
import { sessionCloses } from "./waiting-task.ts";

const CLAUDE = join(ROOT, "tests/fixtures/agents/asking-claude.mjs");

/** A session whose worker is a fake claude that does this; the ticket is checked with `true`. */
function asking(here: Rig, acts: string, settings: object = {}) {
  const turn = `exec "${process.execPath}" "${CLAUDE}" "$@"`;
  const task = { task_id: "a", shell: "", more: { instruction: { summary: `acts: ${acts}.` } } };
  const once = { max_retries: 0, max_escalations: 0, retry_backoff_ms: 1, kill_grace_s: 1 };
  const flags = ["--plan", here.write("plan.json", tinyPlan([task])), "--worker", "claude", "--yes"];
  const config = here.write("config.json", JSON.stringify({ ...once, ...settings }));
  return {
    args: ["run", ...flags, "--config", config],
    env: fakePrograms(here, { claude: { version: "2.1.331", turn } }),
  };
}

function heard(here: Rig): string[] {
  const file = join(here.workspace, "heard");
  return existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
}

interface Stored {
  readonly source: string;
  readonly payload_type: string;
  readonly payload: {
    readonly ask_id?: string;
    readonly notes?: string;
    readonly code?: string;
    readonly issues?: string[];
  };
}

async function records(here: Rig, session_id: string, type: string): Promise<Stored[]> {
  const { stdout } = await typed(here, ["replay", session_id, "--json"]);
  const all = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Stored);
  return all.filter(({ payload_type }) => payload_type === type);
}

/** The id of the permission that the inbox shows. */
async function openPermission(here: Rig): Promise<string> {
  let ask_id: string | undefined;
  await until("the request", async () => {
    ask_id = /\bp\d+\b/.exec((await typed(here, ["inbox"])).stdout)?.[0];
    return ask_id !== undefined;
  });
  return ask_id ?? "";
}

describe("a permission that claude asks for", () => {
  it("is allowed for the ticket at a terminal, and not asked for again", async () => {
    const here = rig();
    const { args, env } = asking(here, "ask npm publish, ask npm publish, ask true");
    const pane = open(here, args, env);
    await pane.asks("wants to run: npm publish");
    pane.type("2", "Enter");
    await pane.asks("Accept the result?");
    pane.type("1", "Enter");
    expect(await pane.exit()).toBe(0);
    expect(heard(here)).toEqual(["npm publish: allow", "npm publish: allow", "true: allow"]);
    const session_id = await onlySession(here);
    const [first] = await records(here, session_id, "approval_request");
    expect(await records(here, session_id, "approval")).toMatchObject([
      { source: "user", payload: { ask_id: first?.payload.ask_id, scope: "ticket" } },
      { source: "scheduler", payload: { notes: expect.stringContaining(first?.payload.ask_id ?? "-") } },
      // The plan checks the ticket with this command.
      { source: "scheduler", payload: { notes: expect.stringContaining("criteria") } },
      // The result.
      { source: "user" },
    ]);
    expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
  });

  it("ends a run without a terminal with 4, and the answer goes on with it", async () => {
    const here = rig();
    const program = here.write("notify.sh", 'line=$(cat); printf "%s\\n" "$line" >>told\n');
    const { args, env } = asking(here, "ask npm publish", { notify: { command: ["sh", program], on: ["question"] } });
    const stopped = await typed(here, args, env);
    expect(stopped.code).toBe(4);
    expect(stopped.stderr).toContain("worker changes files here without asking; it stops and asks you for every other");
    expect(stopped.stderr).toContain("Nobody is here to answer");
    const session_id = await onlySession(here);
    expect((await typed(here, ["plan", session_id])).stdout).toContain("worker changes files here without asking");
    const command = `bosun answer ${session_id} ${await openPermission(here)} allow`;
    expect(stopped.stdout).toContain(command);
    const told = JSON.parse(readFileSync(join(here.workspace, "told"), "utf8")) as { message: string; next: string[] };
    expect(told.message).toContain("npm publish");
    expect(told.next).toContain(command);
    expect((await typed(here, [...command.split(" ").slice(1), "--resume"], env)).code).toBe(0);
    expect(heard(here).at(-1)).toBe("npm publish: allow");
    expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
  });

  it("is denied with words for the program, whose turn times out only after the wait", async () => {
    const here = endAfterwards(rig());
    const { args, env } = asking(here, "ask npm publish, hang", { timeout_s: 2 });
    expect((await here.run([...args, "--detach"], { env })).code).toBe(0);
    const ask_id = await openPermission(here);
    const asked = performance.now();
    await until("the turn's time to be over", () => performance.now() - asked > 2_100);
    expect((await typed(here, ["answer", ask_id, "deny", "Not", "today."])).code).toBe(0);
    const session_id = await onlySession(here);
    await sessionCloses(here, session_id);
    expect(heard(here)).toEqual([expect.stringMatching(/^npm publish: deny, .*Not today\./)]);
    expect(await records(here, session_id, "turn_failed")).toMatchObject([{ payload: { code: "timeout" } }]);
    expect((await typed(here, ["inbox"])).stdout).not.toContain(ask_id);
  });

  it("is always allowed in the project at a terminal, in a file that is shown before and stays trusted", async () => {
    const here = rig();
    const { args, env } = asking(here, "ask npm run e2e -- a, ask npm run e2e -- b, ask npm run e2e; reboot");
    expect((await typed(here, ["init", "--yes", "--crew", "claude"], env)).code).toBe(0);
    const settings = join(here.workspace, ".bosun", "scheduler_config.yaml");
    const pane = open(here, args, env);
    await pane.asks("wants to run: npm run e2e -- a");
    expect(pane.screen()).toContain('adds "npm run e2e" to allowed_commands in .bosun/');
    pane.type("5", "Enter");
    // Of what goes on in a shell the prefix says nothing.
    await pane.asks("wants to run: npm run e2e; reboot");
    expect(readFileSync(settings, "utf8")).toMatch(/allowed_commands: *\n? *(?:- |\[ ?)"?npm run e2e"?/);
    expect(pane.screen()).not.toContain('Always allow it in this project: adds "npm run e2e;');
    pane.type("4", "Enter");
    await pane.asks("Accept the result?");
    pane.type("1", "Enter");
    expect(await pane.exit()).toBe(0);
    expect(heard(here)).toMatchObject([
      "npm run e2e -- a: allow",
      "npm run e2e -- b: allow",
      expect.stringMatching(/^npm run e2e; reboot: deny/),
    ]);
    expect(readFileSync(settings, "utf8")).toContain("# max_workers: 4");
    expect((await typed(here, ["roles"], env)).code).toBe(0);
    const session_id = await onlySession(here);
    expect(await records(here, session_id, "report")).toMatchObject([
      { payload: { issues: [expect.stringMatching(/^Denied: run: npm run e2e; reboot/)] } },
    ]);
    expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
  });

  it("is withdrawn when the program exits while it waits", async () => {
    const here = endAfterwards(rig());
    const { args, env } = asking(here, "exit npm publish");
    expect((await here.run([...args, "--detach"], { env })).code).toBe(0);
    const session_id = await onlySession(here);
    await sessionCloses(here, session_id);
    expect(await records(here, session_id, "approval_request")).toHaveLength(1);
    expect(await records(here, session_id, "turn_failed")).toMatchObject([{ payload: { code: "agent_failed" } }]);
    expect(await typedJson(here, ["inbox", "--json"])).toEqual([]);
  });
});
