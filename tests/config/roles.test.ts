import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { listCrews, loadCrew } from "../../src/config/crews.ts";
import { shipped } from "../../src/config/installation.ts";
import { completeRole, costsMoney, dialectOf } from "../../src/config/role-defaults.ts";
import { checkSeats, loadRoles } from "../../src/config/roles.ts";
import { resolveSettings } from "../../src/config/settings.ts";
import { CONFIGURATION_DEFAULTS, type ResolvedConfiguration } from "../../src/protocol/payload.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { crewProgram } from "../installation.ts";
import { errorOf, scratch, valueOf } from "./scratch.ts";

const settings: ResolvedConfiguration = { ...CONFIGURATION_DEFAULTS, plan_approval: "ask", workspace: "/" };

async function wrong(text: string, crew: readonly Role[] = []): Promise<string> {
  const place = scratch();
  const failure = errorOf(await loadRoles(crew, [place.write("roles.yaml", text)]));
  expect(failure.code).toBe("configuration");
  return place.plain(`\n${failure.message}\n`);
}

describe("a wrong role registry", () => {
  test("names every problem with its place, in order", async () => {
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
    expect(await wrong(text)).toMatchInlineSnapshot(`
      "
      ~/roles.yaml:2:14: "worker one" is not right here
        2 |   - role_id: worker one
          |              ^
        expected: letters, digits, ".", "_" and "-", first a letter or digit, at most 64
      ~/roles.yaml:3:11: "wroker" is not right here; did you mean "worker"?
        3 |     type: wroker
          |           ^
        expected: manager, worker or participant
      ~/roles.yaml:4:5: a role has no key "cli_comand"; did you mean "cli_command"?
        4 |     cli_comand: [codex]
          |     ^
      ~/roles.yaml:5:16: 0 is too small
        5 |     timeout_s: 0
          |                ^
        expected: more than 0
      ~/roles.yaml:8:18: "codex exec --json" is not right here
        8 |     cli_command: codex exec --json
          |                  ^
        expected: a list, such as ["codex", "exec", "--json"]
      ~/roles.yaml:9:20: 1.5 is not right here
        9 |     max_instances: 1.5
          |                    ^
        expected: a whole number
      ~/roles.yaml:10:5: "nobody" is not right here
        10 |   - nobody
           |     ^
        expected: a mapping (key: value)
      "
    `);
  });
  test("as a list", async () => {
    expect(await wrong("- role_id: a\n")).toMatchInlineSnapshot(`
      "
      ~/roles.yaml:1:1: a list is not right here
        1 | - role_id: a
          | ^
        expected: a mapping (key: value)
      "
    `);
  });
  test("without roles", async () => {
    expect(await wrong("rolles: []\n")).toMatchInlineSnapshot(`
      "
      ~/roles.yaml:1:1: a role registry has no key "rolles"; did you mean "roles"?
        1 | rolles: []
          | ^
      "
    `);
  });
  test("with a cli role that has no command", async () => {
    expect(await wrong("roles:\n  - {role_id: a, type: worker}\n")).toMatchInlineSnapshot(`
      "
      ~/roles.yaml:2:5: this mapping needs the key "cli_command"
        2 |   - {role_id: a, type: worker}
          |     ^
      "
    `);
  });
  test("with a role twice", async () => {
    const role = "  - {role_id: a, type: worker, cli_command: [x]}\n";
    expect(await wrong(`roles:\n${role}${role}`)).toMatchInlineSnapshot(`
      "
      ~/roles.yaml:3:15: the role "a" stands twice in this file, first in line 2
        3 |   - {role_id: a, type: worker, cli_command: [x]}
          |               ^
        expected: one entry for each role
      "
    `);
  });
  test("with the id of somebody who is no role", async () => {
    expect(await wrong("roles:\n  - {role_id: user, type: worker, cli_command: [x]}\n")).toMatchInlineSnapshot(`
      "
      ~/roles.yaml:2:15: the role id "user" is taken: envelopes of the user bear it
        2 |   - {role_id: user, type: worker, cli_command: [x]}
          |               ^
        expected: another id
      "
    `);
    expect(await wrong("roles:\n  - {role_id: scheduler, type: worker, cli_command: [x]}\n")).toContain("scheduler");
  });
  test("with what no process can be given", async () => {
    const text = [
      "roles:",
      '  - {role_id: w, type: worker, cli_command: [codex, "a\\0b"],',
      '     env: {KEY: "x\\0y", "A=B": c, "": d}}',
    ].join("\n");
    expect(await wrong(text)).toMatchInlineSnapshot(`
      "
      ~/roles.yaml:2:53: there is a NUL byte in it
        2 |   - {role_id: w, type: worker, cli_command: [codex, "a\\0b"],
          |                                                     ^
        expected: a text without one
      ~/roles.yaml:3:17: there is a NUL byte in it
        3 |      env: {KEY: "x\\0y", "A=B": c, "": d}}
          |                 ^
        expected: a text without one
      ~/roles.yaml:3:25: "A=B" cannot be a variable's name
        3 |      env: {KEY: "x\\0y", "A=B": c, "": d}}
          |                         ^
        expected: a name without "="
      ~/roles.yaml:3:35: "" cannot be a variable's name
        3 |      env: {KEY: "x\\0y", "A=B": c, "": d}}
          |                                   ^
        expected: a name without "="
      "
    `);
  });
  test("with an empty command", async () => {
    expect(await wrong("roles:\n  - {role_id: a, type: worker, cli_command: []}\n")).toMatchInlineSnapshot(`
      "
      ~/roles.yaml:2:45: this list is too short
        2 |   - {role_id: a, type: worker, cli_command: []}
          |                                             ^
        expected: at least 1 entry
      "
    `);
    expect(await wrong("roles:\n  - {role_id: a, type: worker, cli_command: ['']}\n")).toMatchInlineSnapshot(`
      "
      ~/roles.yaml:2:46: the program's name is empty
        2 |   - {role_id: a, type: worker, cli_command: ['']}
          |                                              ^
        expected: a program
      "
    `);
  });
  test("with instances it cannot have", async () => {
    const role = "{role_id: a, type: worker, cli_command: [x], supports_multiple_instances: false, max_instances: 3}";
    expect(await wrong(`roles:\n  - ${role}\n`)).toMatchInlineSnapshot(`
      "
      ~/roles.yaml:2:101: "max_instances" is 3, but "supports_multiple_instances" is false
        2 | … pports_multiple_instances: false, max_instances: 3}
          |                                                    ^
        expected: 1, or true there
      "
    `);
  });
  test("with a budget that nothing would hold it to", async () => {
    const budget = { turns: 0, tokens: 1000, usd: 2, wall_s: 60 };
    const text = JSON.stringify({ roles: [{ role_id: "a", type: "worker", cli_command: ["a"], budget }] }, null, 1);
    expect(await wrong(text)).toMatchInlineSnapshot(`
      "
      ~/roles.yaml:11:5: the budget of a role cannot be in tokens
        11 |     "tokens": 1000,
           |     ^
        expected: "turns" or "wall_s"; tokens: only for the whole session, by the setting budget.tokens
      ~/roles.yaml:12:5: the budget of a role cannot be in money
        12 |     "usd": 2,
           |     ^
        expected: "turns" or "wall_s"; money: only for the whole session, by the setting budget.usd
      ~/roles.yaml:10:14: a role without any turn comes to nothing
        10 |     "turns": 0,
           |              ^
        expected: at least 1, or no such limit
      "
    `);
  });

  test("shows ten problems and counts the rest", async () => {
    const text = `roles:\n${Array.from({ length: 14 }, (_, index) => `  - ${index}\n`).join("")}`;
    expect(await wrong(text)).toContain("and 4 more problems");
  });
  test("that is not there", async () => {
    const failure = errorOf(await loadRoles([], [join(scratch().directory, "roles.json")]));
    expect(failure.code).toBe("configuration");
  });
});

describe("laying one registry over another", () => {
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

  test("changes only the fields that are named, in the place where the role stands", async () => {
    expect(await load("roles: [{role_id: boss, type: manager, timeout_s: 90}]")).toEqual([
      { ...crew[0], timeout_s: 90 },
      crew[1],
    ]);
  });
  test("adds roles that are new", async () => {
    const roles = await load("roles: [{role_id: second, type: worker, cli_command: [x]}]");
    expect(roles.map(({ role_id }) => role_id)).toEqual(["boss", "hand", "second"]);
  });
  test("lets the last of several files win", async () => {
    const one = "roles: [{role_id: hand, type: worker, timeout_s: 1, capabilities: [a]}]";
    const two = "roles: [{role_id: hand, type: worker, timeout_s: 2}]";
    expect((await load(one, two))[1]).toEqual({ ...crew[1], timeout_s: 2, capabilities: ["a"] });
  });
  test("drops the dialect and model of a command that is replaced", async () => {
    const [boss] = await load("roles: [{role_id: boss, type: manager, cli_command: [python3, boss.py]}]");
    expect(boss).toEqual({ role_id: "boss", type: "manager", cli_command: ["python3", "boss.py"], timeout_s: 60 });
  });
  test("shows a problem of an override in its own file", async () => {
    expect(
      await wrong("roles:\n  - role_id: hand\n    type: worker\n    timeout_s: soon\n", crew),
    ).toMatchInlineSnapshot(`
      "
      ~/roles.yaml:4:16: "soon" is not right here
        4 |     timeout_s: soon
          |                ^
        expected: a number of seconds
      "
    `);
  });
});

describe("the seats", () => {
  const boss: Role = { role_id: "boss", type: "manager", cli_command: ["x"] };
  test("are taken when there is a role of each type", () => {
    expect(checkSeats([boss], ["manager"]).ok).toBe(true);
  });
  test("nobody takes are named with what would take them", () => {
    expect(errorOf(checkSeats([boss], ["manager", "worker"]))).toMatchInlineSnapshot(`
      {
        "code": "configuration",
        "hint": "Add one with --worker CMD, or take a whole crew with --crew NAME.",
        "message": "No role is a worker: there are only boss (manager).",
      }
    `);
    expect(errorOf(checkSeats([], ["manager", "worker"])).message).toMatchInlineSnapshot(
      `"No role is a manager and none a worker: there are no roles at all."`,
    );
  });
});

describe("what a role leaves out", () => {
  const role = (more: Partial<Role>): Role => ({ role_id: "a", type: "worker", cli_command: ["x"], ...more });
  test("comes from its type and the configuration", () => {
    expect(completeRole(role({}), settings)).toEqual({
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
    });
  });
  test("of a manager is one turn at a time", () => {
    expect(completeRole(role({ type: "manager" }), settings)).toMatchObject({
      supports_multiple_instances: false,
      max_instances: 1,
    });
  });
  test("never changes what it says", () => {
    const said = role({
      max_instances: 3,
      timeout_s: 5,
      idle_timeout_s: 4,
      recovery: "ask",
      dialect: "codex",
      capabilities: ["a"],
    });
    expect(completeRole(said, settings)).toMatchObject(said);
    expect(completeRole(role({ supports_multiple_instances: false }), settings).max_instances).toBe(1);
    expect(completeRole(role({ max_instances: 1 }), settings).supports_multiple_instances).toBe(false);
  });
  test.each([
    [["codex", "cli"], "codex"],
    [["/usr/local/bin/claude"], "claude"],
    [["gemini"], "gemini"],
    [["opencode", "run"], "opencode"],
    [["python3", "codex"], "envelope"],
  ] as const)("%j speaks %s", (cli_command, dialect) => {
    expect(dialectOf(role({ cli_command }))).toBe(dialect);
  });
  test("is no dialect where there is no program of that kind", () => {
    expect(dialectOf({ role_id: "me", type: "manager", backend: "human" })).toBeUndefined();
    expect(completeRole({ role_id: "me", type: "manager", backend: "human" }, settings)).not.toHaveProperty("dialect");
  });
  test("says whether it costs money", () => {
    expect(
      [
        role({}),
        role({ cli_command: ["codex"] }),
        role({ backend: "model" }),
        role({ backend: "acp" }),
        role({ backend: "human" }),
      ].map(costsMoney),
    ).toEqual([false, true, true, true, false]);
  });
});

describe("the shipped crews", () => {
  const shippedCrews = valueOf(listCrews([])).map(({ name }) => name);
  test("are these", () => {
    expect(shippedCrews).toEqual(["claude", "codex", "codex-claude", "embedded"]);
  });
  test.each(shippedCrews)("%s has a manager and a worker", async (name) => {
    const roles = valueOf(await loadCrew(name, []));
    expect(checkSeats(roles, ["manager", "worker"]).ok).toBe(true);
  });
  test("the embedded one runs programs that are there, with this Node, and costs nothing", async () => {
    const roles = valueOf(await loadCrew("embedded", []));
    for (const { cli_command } of roles) {
      expect(cli_command).toHaveLength(2);
      expect(cli_command?.[0]).toBe(process.execPath);
      expect(existsSync(cli_command?.[1] ?? "")).toBe(true);
    }
    expect(roles.some(costsMoney)).toBe(false);
  });
  test("the example registry is the pair of the first design, and loads", async () => {
    const file = shipped("config", "roles.json");
    const roles = valueOf(await loadRoles([], [file]));
    expect(roles).toEqual((JSON.parse(readFileSync(file, "utf8")) as { roles: unknown }).roles);
    expect(roles.map(dialectOf)).toEqual(["codex", "claude"]);
  });
  test("can be joined and replaced by one's own", async () => {
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
  test("of a folder that cannot be read are told, and not taken for none", async () => {
    const place = scratch();
    const folder = join(place.directory, "crews");
    symlinkSync(folder, folder);
    const failure = errorOf(await loadCrew("night", [folder]));
    expect([failure.code, place.plain(failure.message)]).toEqual([
      "configuration",
      "The configuration in ~/crews cannot be read (ELOOP).",
    ]);
  });
  test("an unknown one is told with the nearest", async () => {
    expect(errorOf(await loadCrew("codex-cluade", []))).toMatchInlineSnapshot(`
      {
        "code": "usage",
        "hint": "The crews are claude, codex, codex-claude, embedded.",
        "message": "There is no crew called "codex-cluade". Did you mean codex-claude?",
      }
    `);
  });
});

test("the default settings complete every shipped role", async () => {
  const roles = valueOf(await loadCrew("codex-claude", []));
  const resolved = valueOf(await resolveSettings({ flags: [], environment: {}, directory: "/", roles }));
  expect(roles.map((role) => completeRole(role, resolved.values).recovery)).toEqual(["resume", "resume"]);
});
