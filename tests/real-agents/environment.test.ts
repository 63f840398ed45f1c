import { describe, expect, it } from "vitest";
import type { Role } from "../../src/protocol/roles.ts";
import { sandboxMechanism } from "../../src/agents/isolation/probe.ts";
import { crew, manager, worker } from "../model-servers/brains.ts";
import { pair, type Program } from "./crews.ts";
import { outputUnless, type Place, placeWith } from "./place.ts";
import { trap } from "./trap.ts";

const TASK = {
  task_id: "note",
  description: "Write note.txt.",
  acceptance_criteria: [{ text: "it is there", command: ["test", "-s", "note.txt"] }],
};

const brains = crew(
  manager({ tasks: [TASK] }),
  worker(() => [{ write: "note.txt", content: "A note.\n" }]),
);

/** What leads each program to its model server. */
const SERVER_OF: Partial<Record<Program, readonly string[]>> = {
  codex: ["CODEX_HOME", "CODEX_API_KEY"],
  claude: ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"],
};

/** Runs a session, and gives what it printed if it did not end well. */
async function outputOfRun(here: Place, worker: Program, more: Partial<Role> = {}): Promise<string> {
  const roles = here.write("roles.json", pair(worker, worker, more));
  return outputUnless(0, await here.bosun("run", "Write a note.", "--roles", roles, "--yes", "--reporter", "plain"));
}

describe("a program", () => {
  it.each(["codex", "claude"] as const)("contacts nothing but its model server: %s", async (program) => {
    const outside = await trap();
    const here = await placeWith(brains);
    Object.assign(here.environment, outside.environment);
    expect(await outputOfRun(here, program)).toBe("");
    expect(outside.tried).toEqual([]);
    const { host } = new URL(here.server.url);
    expect(here.server.exchanges.map((exchange) => exchange.host)).toEqual(here.server.exchanges.map(() => host));
  });

  it.each(Object.keys(SERVER_OF) as Program[])("finds its model server by the env of its role: %s", async (program) => {
    const here = await placeWith(brains);
    const names = SERVER_OF[program] ?? [];
    const env = Object.fromEntries(names.map((name) => [name, here.environment[name] ?? ""]));
    for (const name of names) Reflect.deleteProperty(here.environment, name);
    expect(await outputOfRun(here, program, { env })).toBe("");
  });

  it.each(["processes", "files"] as const)("works in the sandbox %s, where there is one", async (sandbox) => {
    const there = await sandboxMechanism(sandbox, process.env.PATH ?? "");
    const here = await placeWith(brains);
    const output = await outputOfRun(here, "claude", { sandbox });
    expect(there.ok ? output : "").toBe("");
  });

  it("reaches no model server in the sandbox offline, and the session says so", async () => {
    const here = await placeWith(brains);
    const roles = here.write("roles.json", pair("claude", "claude", { sandbox: "offline" }));
    // The role waits for its provider, until the session's time is up.
    const config = here.write("config.json", JSON.stringify({ budget: { wall_s: 10 } }));
    const args = ["--roles", roles, "--config", config, "--yes", "--reporter", "plain"];
    const { code } = await here.bosun("run", "Write a note.", ...args);
    await here.bosun("cancel", "--yes");
    const there = await sandboxMechanism("offline", process.env.PATH ?? "");
    expect({ code, requests: here.server.exchanges.length }).toEqual({ code: there.ok ? 5 : 3, requests: 0 });
  });
});
