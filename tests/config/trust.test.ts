import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Configuration, readProject, readUser } from "../../src/config/configuration.ts";
import { loadCrew } from "../../src/config/crews.ts";
import { findProjectConfiguration } from "../../src/config/found.ts";
import { isTrusted, rememberTrust, rolePowers, settingPowers, trustNeeded } from "../../src/config/trust.ts";
import { loadPrompts } from "../../src/config/prompts.ts";
import { loadRoles } from "../../src/config/roles.ts";
import { resolveSettings } from "../../src/config/settings.ts";
import { changedByOthers } from "../../src/lib/files.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import type { Fallible } from "../../src/protocol/failure.ts";
import { errorOf, type Scratch, scratch, valueOf } from "./scratch.ts";

const FILES = {
  "roles.yaml": "roles: [{role_id: w, type: worker, cli_command: [GOOD]}]",
  "crews/night.yaml": "roles: [{role_id: n, type: worker, cli_command: [GOOD]}]",
  "prompts/ticket.md": "GOOD",
  "scheduler_config.yaml": "notify: {command: [GOOD]}",
};

function project(files: { readonly [name: string]: string } = FILES): Scratch & { readonly folder: string } {
  const place = scratch();
  const folder = join(place.directory, ".bosun");
  for (const [name, content] of Object.entries(files)) place.write(join(".bosun", name), content);
  return { ...place, folder };
}

function readIn({ directory }: Scratch): Fallible<Configuration> {
  const found = valueOf(findProjectConfiguration(directory));
  if (found === undefined) throw new Error("the project's configuration was not found");
  return readProject(found);
}

/** Everything that a session takes from a project's configuration. */
async function usedOf({ roles, crews, prompts, settings }: Configuration, directory: string): Promise<string> {
  const sources = { flags: [], environment: {}, directory, roles: [], at_terminal: false, project: settings };
  return JSON.stringify([
    valueOf(await loadRoles([], roles ? [roles] : [])),
    valueOf(await loadCrew("night", [crews])),
    valueOf(loadPrompts([prompts])).map(({ text }) => text),
    valueOf(await resolveSettings(sources)).values.notify,
  ]);
}

describe("a trusted configuration", () => {
  test("is used as it was read, even if every file is replaced before it is used", async () => {
    const place = project();
    const environment = { XDG_STATE_HOME: join(place.directory, "state") };
    const read = valueOf(readIn(place));
    valueOf(rememberTrust(environment, read));
    const again = valueOf(readIn(place));
    for (const [name, content] of Object.entries(FILES))
      place.write(join(".bosun", name), content.replaceAll("GOOD", "EVIL"));
    place.write(".bosun/crews/added.yaml", FILES["crews/night.yaml"]);
    expect(isTrusted(environment, again)).toBe(true);
    expect(valueOf(trustNeeded(again, undefined))).toHaveLength(4);
    const used = await usedOf(again, place.directory);
    expect([used.match(/GOOD/g)?.length, used.includes("EVIL")]).toEqual([4, false]);
    expect(errorOf(await loadCrew("added", [again.crews])).code).toBe("usage");
    expect(isTrusted(environment, valueOf(readIn(place)))).toBe(false);
  });

  test("is remembered in a file of the user alone, and lines in a file that others may write do not count", () => {
    const place = project();
    const environment = { XDG_STATE_HOME: join(place.directory, "state") };
    const read = valueOf(readIn(place));
    const trusted = join(place.directory, "state", "bosun", "trusted");
    mkdirSync(dirname(trusted), { recursive: true });
    writeFileSync(trusted, `${read.content}\nsha256:0 "/elsewhere"\n`);
    chmodSync(trusted, 0o666);
    expect(isTrusted(environment, read)).toBe(false);
    valueOf(rememberTrust(environment, read));
    expect(isTrusted(environment, read)).toBe(true);
    expect([statSync(trusted).mode & 0o777, readFileSync(trusted, "utf8")]).toEqual([0o600, `${read.content}\n`]);
  });
});

const MIB = 1024 * 1024;

function sparse(file: string, bytes: number): void {
  writeFileSync(file, "");
  truncateSync(file, bytes);
}

describe("what others can change", () => {
  const me: [number, number] = [1000, 1000];
  test.each([
    ["a file of this user", { uid: 1000, gid: 1000, mode: 0o100_644 }, "nobody"],
    ["a file of root", { uid: 0, gid: 0, mode: 0o100_644 }, "nobody"],
    ["a file that the user's own group may write", { uid: 1000, gid: 1000, mode: 0o100_664 }, "nobody"],
    ["a file of another user", { uid: 1001, gid: 1000, mode: 0o100_600 }, "1001"],
    ["a file that a shared group may write", { uid: 1000, gid: 100, mode: 0o100_664 }, "group (100)"],
    ["a file that everybody may write", { uid: 1000, gid: 1000, mode: 0o100_646 }, "every user"],
    ["a folder that everybody may write", { uid: 0, gid: 0, mode: 0o041_777 }, "every user"],
  ])("is told from owner and mode: %s", (_, stat, why) => {
    expect(changedByOthers(stat, me) ?? "nobody").toContain(why);
  });
  test("is told with the numbers of this process", () => {
    const own = statSync(scratch().directory);
    expect(changedByOthers(own)).toBeUndefined();
    const { gid, mode } = own;
    expect(changedByOthers({ uid: own.uid + 1, gid, mode })).toContain(String(own.uid + 1));
  });

  test.each([".bosun", ".bosun/roles.yaml", ".bosun/crews", ".bosun/prompts/ticket.md"])(
    "is not read in a project: %s",
    (name) => {
      const place = project();
      chmodSync(join(place.directory, name), statSync(join(place.directory, name)).mode | 0o002);
      const { code, message, hint } = errorOf(readIn(place));
      expect([code, place.plain(message)]).toEqual(["trust", expect.stringContaining(`~/${name} `)]);
      expect(hint).toMatch(/chmod go-w .*--config.*--roles/);
    },
  );
  test("is not read in the user's own folder, where links are followed", () => {
    const place = scratch();
    const environment = { XDG_CONFIG_HOME: place.directory };
    const file = place.write("dotfiles/roles.yaml", FILES["roles.yaml"]);
    mkdirSync(join(place.directory, "bosun"));
    symlinkSync(file, join(place.directory, "bosun", "roles.yaml"));
    expect(Buffer.from(valueOf(readUser(environment))?.roles?.bytes ?? []).toString()).toBe(FILES["roles.yaml"]);
    place.write("bosun/.git/config", "");
    chmodSync(join(place.directory, "bosun/.git/config"), 0o666);
    expect(readUser(environment).ok).toBe(true);
    for (const [path, mode] of [
      [file, 0o644],
      [join(place.directory, "bosun"), 0o755],
    ] as const) {
      chmodSync(path, mode | 0o002);
      expect(errorOf(readUser(environment)).code).toBe("trust");
      chmodSync(path, mode);
    }
  });
  test.each([
    ["a link to a folder", (folder: string) => symlinkSync("/etc", join(folder, "more"))],
    ["a link that leads in a circle", (folder: string) => symlinkSync("..", join(folder, "crews", "up"))],
    ["a link without a target", (folder: string) => symlinkSync("nowhere", join(folder, "prompts", "turn.md"))],
    ["a file of three gigabytes", (folder: string) => sparse(join(folder, "big"), 3 * 1024 * MIB)],
    [
      "files that are too large together",
      (folder: string) => ["one", "two"].forEach((name) => sparse(join(folder, name), 20 * MIB)),
    ],
  ])("is refused in a project: %s", (_, add) => {
    const place = project();
    add(place.folder);
    expect(errorOf(readIn(place)).code).toBe("trust");
  });
});

describe("the fields of a project", () => {
  /** What a project may set without the user's trust, as far as the user's own settings are not exceeded. To open a field, add it here. */
  const FREE = [
    ...["accounts.x.reserve", "answer_grace_s", "budget.ticket.tokens", "budget.ticket.turns", "budget.ticket.usd"],
    ...["budget.ticket.wall_s", "budget.tokens", "budget.turns", "budget.usd", "budget.wall_s", "check_rounds"],
    ...["dependency_notice_s", "discussion.budget.tokens", "discussion.budget.turns", "discussion.budget.usd"],
    ...["discussion.budget.wall_s", "discussion.input", "discussion.mode", "discussion.timeout_s", "idle_timeout_s"],
    ...["kill_grace_s", "max_attempts", "max_clarification_rounds", "max_escalations", "max_hold_s", "max_line_bytes"],
    ...["max_output_bytes", "max_recoveries", "max_retries", "max_review_rounds", "max_workers", "metadata"],
    ...["retry_backoff_ms", "timeout_s"],
  ];

  test("of its settings need trust, but for a list", () => {
    const open = leavesOf("scheduler_config.schema.json", schemaOf("scheduler_config"))
      .filter(({ path, value }) => settingPowers(nested(path, value), {}).length === 0)
      .map(({ path }) => path.join("."));
    expect(open.sort()).toEqual(FREE);
  });
  test("that a newer version may know need trust", () => {
    const powers = settingPowers({ hooks: { before: ["sh"] }, budget: { calls: 1 } }, {});
    expect(powers.map(({ pointer }) => pointer)).toEqual(["/hooks/before", "/budget/calls"]);
  });
  test("of its roles are all shown", () => {
    const role = (schemaOf("roles")["$defs"] as { role: JsonObject }).role;
    const fields = Object.keys(role["properties"] as JsonObject);
    const [power] = rolePowers({ roles: [Object.fromEntries(fields.map((field) => [field, `<${field}>`]))] });
    for (const field of fields) expect(power?.what).toContain(`<${field}>`);
  });
  test("are shown on one line, whatever they hold, with the length of what is cut", () => {
    const env = { PATH: "./bin:/usr/bin", "A=1\nB": "\u001b[2J\n", LONG: "x".repeat(5000) };
    const file = {
      "roles.json": JSON.stringify({ roles: [{ role_id: "w", type: "worker", cli_command: ["c"], env }] }),
    };
    const [power] = valueOf(trustNeeded(valueOf(readIn(project(file))), undefined));
    expect(power?.what).toMatch(/"PATH":"\.\/bin:\/usr\/bin".*5000 characters/);
    expect([power?.what.includes("\n"), power?.what.includes("\u001b"), (power?.what.length ?? 0) < 1000]).toEqual([
      ...[false, false, true],
    ]);
  });
});

function schemaOf(name: string): JsonObject {
  const file = join(import.meta.dirname, "..", "..", "schemas", `${name}.schema.json`);
  return JSON.parse(readFileSync(file, "utf8")) as JsonObject;
}

interface Leaf {
  readonly path: readonly string[];
  /** A value that no rule knows as harmless, if there is one. */
  readonly value: string | number | boolean | readonly string[];
}

/** Every field of a schema that holds no named fields itself, `x` for any name. */
function leavesOf(file: string, schema: JsonObject, path: readonly string[] = []): Leaf[] {
  const { $ref, properties, additionalProperties, type, enum: words } = schema as Record<string, JsonObject>;
  if (typeof $ref === "string") {
    const [other, pointer = ""] = ($ref as string).split("#");
    const named = other === "" ? file : (other ?? file);
    let at = schemaOf(named.replace(".schema.json", ""));
    for (const key of pointer.split("/").slice(1)) at = at[key] as JsonObject;
    return leavesOf(named, at, path);
  }
  if (properties !== undefined)
    return Object.entries(properties).flatMap(([key, one]) => leavesOf(file, one as JsonObject, [...path, key]));
  if (typeof additionalProperties === "object") return leavesOf(file, additionalProperties, [...path, "x"]);
  const value =
    { number: 7, integer: 7, boolean: false, array: [{ command: ["zz"] }] }[type as unknown as string] ?? "zz";
  return [{ path, value: words === undefined ? value : "zz" } as Leaf];
}

function nested([head = "", ...rest]: readonly string[], value: Leaf["value"]): JsonObject {
  return { [head]: rest.length === 0 ? value : nested(rest, value) };
}
