import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { listCrews, loadCrew } from "../../src/config/crews.ts";
import { shipped } from "../../src/lib/files.ts";
import { completeRole, costsMoney, dialectOf } from "../../src/config/role-defaults.ts";
import { checkSeats, loadRoles } from "../../src/config/roles.ts";
import { resolveSettings } from "../../src/config/settings.ts";
import { CONFIGURATION_DEFAULTS, type ResolvedConfiguration } from "../../src/protocol/payload.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { crewProgram } from "../installation.ts";
import { errorOf, problemsOf, scratch, valueOf } from "./scratch.ts";

const settings: ResolvedConfiguration = { ...CONFIGURATION_DEFAULTS, plan_approval: "ask", workspace: "/" };

async function wrong(text: string, crew: readonly Role[] = []): Promise<[where: string, said: string][]> {
  return problemsOf(errorOf(await loadRoles(crew, [scratch().write("roles.yaml", text)])));
}

const role = (more: string): string => `roles:\n  - {role_id: a, type: worker, ${more}}\n`;

describe("a wrong role registry", () => {
  test("is refused with every problem, in order", async () => {
    const text = [
      "roles:",
      "  - role_id: worker one",
      "    type: wroker",
      "    cli_comand: [codex]",
      "    timeout_s: 0",
      "  - role_id: manager",
      "    type: manager",
      "    cli_command: codex exec --json",
      "    max_instances: 1.5",
      "  - nobody",
      "",
    ].join("\n");
    expect(await wrong(text)).toEqual([
      ["2:14", expect.stringContaining('"worker one"')],
      ["3:11", expect.stringMatching(/"wroker".* worker$/)],
      ["4:5", expect.stringMatching(/"cli_comand".* cli_command$/)],
      ["5:16", expect.stringMatching(/"timeout_s".*more than 0/)],
      ["8:18", expect.stringContaining('["codex", "exec", "--json"]')],
      ["9:20", expect.stringContaining("an integer")],
      ["10:5", expect.stringContaining("an object, not a string")],
    ]);
  });
  test.each<[of: string, text: string, where: string, fact: string]>([
    ["a list", "- role_id: a\n", "1:1", "not a list"],
    ["a misspelt list of roles", "rolles: []\n", "1:1", "roles"],
    ["a cli role without a command", role("capabilities: []"), "2:5", '"cli_command"'],
    ["a role twice", `${role("cli_command: [x]")}  - {role_id: a, type: worker, cli_command: [x]}\n`, "3:15", "line 2"],
    ["the id of the user", "roles: [{role_id: user, type: worker, cli_command: [x]}]\n", "1:19", '"user"'],
    ["the scheduler's id", "roles: [{role_id: scheduler, type: worker, cli_command: [x]}]\n", "1:19", '"scheduler"'],
    ["a duration instead of seconds", role("cli_command: [x], timeout_s: 2h"), "2:61", "7200"],
    ["a yes of YAML 1.1", role("cli_command: [x], supports_multiple_instances: yes"), "2:79", "true"],
    ["a number as a variable", role("cli_command: [x], env: {PORT: 08}"), "2:62", 'quotes: "08"'],
    ["an unknown rate", role("cli_command: [x], metadata: {rate_limit: often}"), "2:61", '"often"'],
    [
      "a rate below the least",
      role("cli_command: [x], metadata: {rate_limit: {turns_per_minute: 0}}"),
      "2:92",
      "0.00001",
    ],
    ["a misspelt permission", role("cli_command: [x], metadata: {permissions: [read, wrte]}"), "2:61", "write"],
    ["an unknown permission", role("cli_command: [x], metadata: {permissions: {fly: true}}"), "2:75", '"fly"'],
    ["an empty command", role("cli_command: []"), "2:45", "empty"],
    ["a program without a name", role("cli_command: ['']"), "2:46", "program"],
    ["a NUL byte in an argument", role(String.raw`cli_command: [codex, "a\0b"]`), "2:53", "NUL"],
    ["a NUL byte in a variable", role(String.raw`cli_command: [x], env: {KEY: "x\0y"}`), "2:61", "NUL"],
    ["a variable with =", role("cli_command: [x], env: {A=B: c}"), "2:56", '"A=B"'],
    ["a variable without a name", role("cli_command: [x], env: {'': c}"), "2:56", '""'],
    [
      "instances it cannot have",
      role("cli_command: [x], supports_multiple_instances: false, max_instances: 3"),
      "2:101",
      "3",
    ],
    ["permissions of old", role("cli_command: [x], permissions: {allow: [a]}"), "2:64", '"allow"'],
    ["a network that is not known", role("cli_command: [x], metadata: {network: isloated}"), "2:70", "isolated"],
    ["a budget in tokens", role("cli_command: [x], budget: {tokens: 5}"), "2:59", "budget.tokens"],
    ["a budget in money", role("cli_command: [x], budget: {wall_s: 60, usd: 2}"), "2:71", "budget.usd"],
    ["a budget of no turns", role("cli_command: [x], budget: {turns: 0}"), "2:66", "at least 1"],
  ])("is refused for %s", async (_, text, where, fact) => {
    expect(await wrong(text)).toEqual([[where, expect.stringContaining(fact)]]);
  });
  test("shows ten problems and counts the rest", async () => {
    const text = `roles:\n${Array.from({ length: 14 }, (_, index) => `  - ${index}\n`).join("")}`;
    const failure = errorOf(await loadRoles([], [scratch().write("roles.yaml", text)]));
    expect(problemsOf(failure)).toHaveLength(10);
    expect(failure.message).toContain("and 4 more problems");
  });
  test("is refused when it does not exist", async () => {
    const failure = errorOf(await loadRoles([], [join(scratch().directory, "roles.json")]));
    expect(problemsOf(failure)).toEqual([["roles.json", expect.stringContaining("no such file")]]);
  });
});

describe("a registry that overrides another", () => {
  const crew: Role[] = [
    { role_id: "boss", type: "manager", cli_command: ["codex"], model: "big", timeout_s: 60 },
    { role_id: "hand", type: "worker", cli_command: ["claude"], capabilities: ["coding"] },
  ];
  const load = async (...texts: string[]) => {
    const place = scratch();
    return valueOf(
      await loadRoles(
        crew,
        texts.map((text, index) => place.write(`${index}.yaml`, text)),
      ),
    );
  };

  test("changes only the fields it names and keeps the order", async () => {
    expect(await load("roles: [{role_id: boss, type: manager, timeout_s: 90}]")).toEqual([
      { ...crew[0], timeout_s: 90 },
      crew[1],
    ]);
  });
  test("adds new roles", async () => {
    const roles = await load("roles: [{role_id: second, type: worker, cli_command: [x]}]");
    expect(roles.map(({ role_id }) => role_id)).toEqual(["boss", "hand", "second"]);
  });
  test("has less weight than a later one", async () => {
    const one = "roles: [{role_id: hand, type: worker, timeout_s: 1, capabilities: [a]}]";
    const two = "roles: [{role_id: hand, type: worker, timeout_s: 2}]";
    expect((await load(one, two))[1]).toEqual({ ...crew[1], timeout_s: 2, capabilities: ["a"] });
  });
  test("drops the dialect and model of a replaced command", async () => {
    const [boss] = await load("roles: [{role_id: boss, type: manager, cli_command: [python3, boss.py]}]");
    expect(boss).toEqual({ role_id: "boss", type: "manager", cli_command: ["python3", "boss.py"], timeout_s: 60 });
  });
  test("shows a problem of an override in its own file", async () => {
    const override = "roles:\n  - role_id: hand\n    type: worker\n    timeout_s: soon\n";
    expect(await wrong(override, crew)).toEqual([["4:16", expect.stringContaining("a number of seconds")]]);
  });
});

describe("the metadata of a role", () => {
  test.each<[metadata: string, more: string, fields: object]>([
    ["rate_limit: 10/min", "", { rate_limit: { turns_per_minute: 10 } }],
    ["rate_limit: 90 turns per hour", "", { rate_limit: { turns_per_minute: 1.5 } }],
    ["rate_limit: 0.5", "", { rate_limit: { turns_per_minute: 0.5 } }],
    ["rate_limit: {messages_per_minute: 5}", "", { rate_limit: { messages_per_minute: 5 } }],
    ["rate_limit: 10/min", "rate_limit: {turns_per_minute: 3}", { rate_limit: { turns_per_minute: 3 } }],
    ["permissions: [read]", "", { permissions: { write: "none", network: false } }],
    ["permissions: [write, network]", "", { permissions: { write: "workspace", network: true } }],
    ["permissions: [read], network: full", "", { permissions: { write: "none" } }],
    [
      "permissions: {ask: deny}",
      "permissions: {commands: [make]}",
      { permissions: { ask: "deny", commands: ["make"] } },
    ],
  ])("%s is read as its fields, which count before: %s", async (metadata, more, fields) => {
    const text = role(`cli_command: [x], metadata: {${metadata}}${more === "" ? "" : `, ${more}`}`);
    const [read] = valueOf(await loadRoles([], [scratch().write("roles.yaml", text)]));
    expect(read).toMatchObject(fields);
    expect(Object.keys(read?.permissions ?? {})).toEqual(
      Object.keys("permissions" in fields ? (fields.permissions as object) : {}),
    );
  });
  test("changes the permissions of the role that it overrides", async () => {
    const crew: Role[] = [{ role_id: "a", type: "worker", cli_command: ["x"], permissions: { write: "workspace" } }];
    const text = "roles: [{role_id: a, type: worker, metadata: {permissions: [read]}}]\n";
    const [read] = valueOf(await loadRoles(crew, [scratch().write("roles.yaml", text)]));
    expect(read?.permissions).toEqual({ write: "none", network: false });
  });
});

describe("the seats", () => {
  const boss: Role = { role_id: "boss", type: "manager", cli_command: ["x"] };
  test("are filled by a role of each type", () => {
    expect(checkSeats([boss], ["manager"]).ok).toBe(true);
  });
  test("that no role fills are named with the option that fills them", () => {
    const { code, message, hint } = errorOf(checkSeats([boss], ["manager", "worker"]));
    expect([code, message]).toEqual(["configuration", expect.stringMatching(/worker.*boss \(manager\)/)]);
    expect(hint).toMatch(/--worker CMD.*--crew NAME/);
    expect(errorOf(checkSeats([], ["manager", "worker"])).message).toMatch(/manager.*worker/);
  });
});

describe("a default of a role", () => {
  const worker = (more: Partial<Role>): Role => ({ role_id: "a", type: "worker", cli_command: ["x"], ...more });
  test("comes from its type and the settings", () => {
    expect(completeRole(worker({}), settings, {})).toEqual({
      role_id: "a",
      type: "worker",
      cli_command: ["x"],
      backend: "cli",
      dialect: "envelope",
      capabilities: [],
      supports_multiple_instances: true,
      max_instances: settings.max_workers,
      timeout_s: 1800,
      idle_timeout_s: 600,
      recovery: "restart",
      permissions: { write: "workspace", commands: [], ask: "user" },
    });
  });
  test.each<[of: string, role: Partial<Role>, permissions: object]>([
    ["lets a manager write nothing and ask nobody", { type: "manager" }, { write: "none", ask: "deny" }],
    ["lets a reviewer write nothing and ask nobody", { capabilities: ["review"] }, { write: "none", ask: "deny" }],
    ["lets a worker that also reviews write", { capabilities: ["review", "coding"] }, { write: "workspace" }],
    ["reads the network of the metadata", { metadata: { network: "isolated" } }, { network: false }],
    ["reads an open network of the metadata", { metadata: { network: "full" } }, { network: true }],
    [
      "gives way to permissions",
      { type: "manager", metadata: { network: "isolated" }, permissions: { commands: ["git *"], network: true } },
      { write: "none", commands: ["git *"], network: true, ask: "deny" },
    ],
  ])("%s", (_, given, permissions) => {
    expect(completeRole(worker(given), settings, {}).permissions).toMatchObject(permissions);
  });
  test("lets workers that may write run the commands of the project, also with more arguments", () => {
    const own = { ...settings, allowed_commands: ["npm test"] };
    const commandsOf = (given: Partial<Role>) => completeRole(worker(given), own, {}).permissions.commands;
    expect(commandsOf({ permissions: { commands: ["make", "npm test"] } })).toEqual(["make", "npm test", "npm test *"]);
    expect([commandsOf({ type: "manager" }), commandsOf({ capabilities: ["review"] })]).toEqual([[], []]);
  });
  test("gives a manager one turn at a time", () => {
    expect(completeRole(worker({ type: "manager" }), settings, {})).toMatchObject({
      supports_multiple_instances: false,
      max_instances: 1,
    });
  });
  test("never replaces a given value", () => {
    const said = worker({
      max_instances: 3,
      timeout_s: 5,
      idle_timeout_s: 4,
      recovery: "ask",
      dialect: "codex",
      capabilities: ["a"],
    });
    expect(completeRole(said, settings, {})).toMatchObject(said);
    expect(completeRole(worker({ supports_multiple_instances: false }), settings, {}).max_instances).toBe(1);
    expect(completeRole(worker({ max_instances: 1 }), settings, {}).supports_multiple_instances).toBe(false);
  });
  test.each([
    [["codex", "cli"], "codex"],
    [["/usr/local/bin/claude"], "claude"],
    [["gemini"], "gemini"],
    [["opencode", "run"], "opencode"],
    [["python3", "codex"], "envelope"],
  ] as const)("%j speaks %s", (cli_command, dialect) => {
    expect(dialectOf(worker({ cli_command }))).toBe(dialect);
  });
  test("of the dialect is for cli roles only", () => {
    expect(dialectOf({ role_id: "me", type: "manager", backend: "human" })).toBeUndefined();
    expect(completeRole({ role_id: "me", type: "manager", backend: "human" }, settings, {})).not.toHaveProperty(
      "dialect",
    );
  });
  test("depends on whether a role costs money", () => {
    expect(
      [
        worker({}),
        worker({ cli_command: ["codex"] }),
        worker({ backend: "model" }),
        worker({ backend: "acp" }),
        worker({ backend: "human" }),
      ].map(costsMoney),
    ).toEqual([false, true, true, true, false]);
  });
});

describe("the shipped crews", () => {
  const shippedCrews = valueOf(listCrews([])).map(({ name }) => name);
  test("are known by name", () => {
    expect(shippedCrews).toEqual(["claude", "codex", "codex-claude", "embedded", "gemini", "model", "opencode"]);
  });
  test.each(shippedCrews)("%s has a manager and a worker", async (name) => {
    const roles = valueOf(await loadCrew(name, []));
    expect(checkSeats(roles, ["manager", "worker"]).ok).toBe(true);
  });
  test("the embedded one runs existing programs with this Node, and costs nothing", async () => {
    const roles = valueOf(await loadCrew("embedded", []));
    for (const { cli_command } of roles) {
      expect(cli_command).toHaveLength(2);
      expect(cli_command?.[0]).toBe(process.execPath);
      expect(existsSync(cli_command?.[1] ?? "")).toBe(true);
    }
    expect(roles.some(costsMoney)).toBe(false);
  });
  test("the example registry is a pair of codex and claude, and loads", async () => {
    const file = shipped("config", "roles.json");
    const roles = valueOf(await loadRoles([], [file]));
    expect(roles).toEqual((JSON.parse(readFileSync(file, "utf8")) as { roles: unknown }).roles);
    expect(roles.map(dialectOf)).toEqual(["codex", "claude"]);
  });
  test("can be extended and replaced", async () => {
    const place = scratch();
    place.write(
      "mine/night.yaml",
      "roles: [{role_id: a, type: worker, cli_command: ['${crew.shell}', '${node}', '${other}', 'x ${node}']}]",
    );
    place.write("mine/codex.json", '{"roles": []}');
    place.write("mine/notes.txt", "not a crew");
    const folders = [join(place.directory, "mine"), join(place.directory, "missing")];
    expect(valueOf(await loadCrew("codex", folders))).toEqual([]);
    const [night] = valueOf(await loadCrew("night", folders));
    expect(night?.cli_command).toEqual([crewProgram("shell"), process.execPath, "${other}", "x ${node}"]);
    expect(valueOf(listCrews(folders)).map(({ name }) => name)).not.toContain("notes");
  });
  test("are refused with a folder that cannot be read", async () => {
    const folder = join(scratch().directory, "crews");
    symlinkSync(folder, folder);
    const { code, message } = errorOf(await loadCrew("night", [folder]));
    expect([code, message]).toEqual(["configuration", expect.stringContaining("ELOOP")]);
    expect(message).toContain(folder);
  });
  test("are named when an unknown one is asked for", async () => {
    const { code, message, hint } = errorOf(await loadCrew("codex-cluade", []));
    expect([code, message]).toEqual(["usage", expect.stringMatching(/codex-cluade.*codex-claude/)]);
    expect(hint).toContain(shippedCrews.join(", "));
  });
});

test("the default settings complete the roles of a shipped crew", async () => {
  const roles = valueOf(await loadCrew("codex-claude", []));
  const resolved = valueOf(
    await resolveSettings({ flags: [], environment: {}, directory: "/", roles, at_terminal: false }),
  );
  expect(roles.map((role) => completeRole(role, resolved.values, {}).recovery)).toEqual(["resume", "resume"]);
});
