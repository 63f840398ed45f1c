import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { cycleIn, importsOf, withoutComments } from "./imports.ts";
import { difference, filesBelow, ROOT, type Source, SOURCES } from "./sources.ts";

/** A folder of `src/` imports only from earlier rows; siblings in a row never import each other. */
const ORDER = [
  ["lib"],
  ["protocol"],
  ["harness"],
  ["kernel"],
  ["modes"],
  ["config", "store", "log", "agents", "copies"],
  ["runtime"],
  ["ui"],
  ["commands"],
  ["cli"],
  ["bin", "index", "kit"],
];

/** The rooms of `src/commands`, under the same rule. A command may import all of them, but no other command. */
const ROOMS = [
  ["context"],
  ["lookup"],
  ["examination"],
  ["options"],
  ["interaction"],
  ["presenters"],
  ["driver"],
  ["mcp"],
  ["completion"],
];

/** The crew is external to the product: nothing imports it, and it knows only the wire. */
const CREW_MAY_IMPORT = ["lib", "protocol", "crew"];

/** The registry of the modes: the one file of the modes that imports them. They never import it. */
const REGISTRY = "modes/index.ts";

/** Pure folders: no files, processes, time, randomness or environment. */
const PURE = ["lib", "protocol", "kernel", "modes"];
const PURE_MAY_IMPORT = ["node:crypto", "node:util", "node:buffer"];

/** Words of single modes. The engine knows subjects, turns and facts; shared screens use the schedule's words only. */
const SCHEDULE_WORDS = ["ticket", "task", "plan", "instruction", "proposal", "review"];
const OTHER_WORDS = ["debate", "debater", "opinion", "verdict", "judge", "meeting", "agenda", "vote"];

/** Where the engine names such a word because the wire or a file format does. Add nothing for the sake of one mode. */
const WORDS_OF_THE_WIRE: Readonly<Record<string, readonly string[]>> = {
  "kernel/changes.ts": ["review_request"],
  "kernel/graph.ts": ["invalid_plan", "plan", "task", "task_id", "tasks"],
  "kernel/kit/draft.ts": ["tickets"],
  "kernel/kit/mode.ts": ["tickets"],
  "kernel/kit/people.ts": ["ticket_id"],
  "kernel/kit/shared-state.ts": ["TASK", "plan", "task"],
  // The arithmetic of every mode that counts votes.
  "kernel/kit/votes.ts": ["VotePolicy", "vote", "votes"],
  "kernel/ledger.ts": ["ticket"],
  "kernel/mode.ts": ["review"],
  "kernel/permissions.ts": ["ticket"],
  "kernel/references.ts": ["ticket_id"],
  // Seed 2 names what hooks are told.
  "runtime/hooks.ts": ["task"],
  "runtime/closing.ts": ["ticket_id", "tickets"],
  "runtime/copies/deliver.ts": ["ticket_id"],
  "runtime/copies/merge-work.ts": ["ticket_id"],
  "runtime/feed/stored-turns.ts": ["ticket_id"],
  "runtime/turns/artifacts.ts": ["ticket_id"],
  "runtime/replay.ts": ["ticket_id"],
};

/** The only files above the engine that name or import a mode. */
const KNOWING_A_MODE: Readonly<Record<string, readonly string[]>> = {
  "commands/catalogue.ts": ["meeting", "meetings", "vote"],
  "commands/driver/act.ts": ["BOSUN_MEETING_TOKEN", "meeting", "meeting_id"],
  "commands/driver/acts.ts": ["agenda_item", "vote"],
  "commands/mcp.ts": ["BOSUN_MEETING_TOKEN", "MEETING_TOOLS", "meeting"],
  "commands/mcp/meeting-tools.ts": [
    ...["MEETING", "MEETING_TOOLS", "Votes", "agenda", "meeting", "meeting_$", "meeting_create", "meeting_discover"],
    ...["meeting_info", "meeting_read", "meetings", "vote", "votes"],
  ],
  "commands/meeting-look.ts": ["meeting", "meeting_id", "vote"],
  "commands/meeting.ts": ["meeting"],
  "commands/options/children.ts": ["panel", "planning", "vote"],
  "commands/options/run-input.ts": ["schedule"],
  "commands/options/plan-file.ts": ["schedule"],
  "commands/lookup/schedule-state.ts": ["schedule"],
};

/** The impure files of `lib`, and the folders that may import the first. */
const CRASH_POINTS = "lib/crash-point.ts";
const FILES = "lib/files.ts";
const GIT = ["lib/git.ts", "lib/git-directories.ts", "lib/program-file.ts"];
const TIME_LIMIT = "lib/time-limit.ts";
/** It loads its libraries when they are needed. */
const TEXT_LAYOUT = "lib/text-layout.ts";
const AT_THE_WORLD = ["store", "log", "agents", "runtime"];

/** The only files that read the wall clock, randomness or the environment. */
const OUTER_WORLD: Readonly<Record<string, readonly string[]>> = {
  "agents/cli/dialects/claude-reader.ts": ["random"],
  "agents/prompts/quoting.ts": ["random"],
  "commands/context/program.ts": ["process.env"],
  "commands/lookup/id.ts": ["random"],
  "commands/status.ts": ["Date.now"],
  "lib/crash-point.ts": ["process.env"],
  "runtime/program.ts": ["process.env"],
  "runtime/time/clock.ts": ["Date.now"],
  "runtime/resume.ts": ["process.env"],
  "runtime/secrets.ts": ["process.env"],
};

const OUTER_WORLD_PATTERNS = {
  "Date.now": /\bDate\.now\b/,
  "new Date()": /\bnew Date\(\)/,
  random: /\bMath\.random\b|\brandom(?:Bytes|Int|UUID)\(|\bgetRandomValues\b/,
  "process.env": /\bprocess\.env\b/,
};

/** The part a file of `src/` belongs to: its folder, its mode, or at the top level its name. */
function partOf(name: string): string {
  const [folder = "", inner = ""] = name.split("/");
  if (!name.includes("/")) return folder.replace(/\.[jt]sx?$/, "");
  return folder === "modes" ? `modes/${inner}` : folder;
}

function rankOf(part: string): number {
  return ORDER.findIndex((row) => row.includes(part.replace(/\/.*/, "")));
}

/** Why a file may not import another, both relative to `src/`; undefined if it may. */
function wrongImport(importer: string, imported: string): string | undefined {
  const [from, to] = [partOf(importer), partOf(imported)];
  if (from === to) return undefined;
  if (importer === REGISTRY && to.startsWith("modes/")) return undefined;
  const allowed =
    from === "crew" ? CREW_MAY_IMPORT.includes(to) : to !== "crew" && rankOf(to) >= 0 && rankOf(to) < rankOf(from);
  return allowed ? undefined : `${importer} (${from}) imports ${imported} (${to})`;
}

/** The command files named in the catalogue. */
const COMMANDS = importsOf(SOURCES.find(({ name }) => name === "commands/catalogue.ts")?.code ?? "")
  .filter((specifier) => /^\.\/[^/]+$/.test(specifier))
  .map((specifier) => specifier.slice(2));

/** The rank of a file or room of `src/commands` in the import order. */
function floorOf(name: string): number {
  const [, room = ""] = name.split("/");
  return [...ROOMS, COMMANDS, ["catalogue.ts"], ["complete.ts"], ["main.ts"]].findIndex((row) => row.includes(room));
}

/** Why a file of the commands may not import another, both relative to `src/`; undefined if it may. */
function wrongRoom(importer: string, imported: string): string | undefined {
  const isSame = importer.split("/")[1] === imported.split("/")[1];
  return isSame || floorOf(imported) < floorOf(importer) ? undefined : `${importer} imports ${imported}`;
}

/** The identifiers and words that contain one of these words, singular or plural. */
function modeWordsIn(code: string, words: readonly string[]): string[] {
  const known = new Set(words.flatMap((word) => [word, `${word}s`]));
  const tokens = new Set(code.match(/[A-Za-z_$][\w$]*/g));
  const holdsOne = (token: string) =>
    token.split(/_|(?<=[a-z])(?=[A-Z])/).some((part) => known.has(part.toLowerCase()));
  return [...tokens].filter(holdsOne).toSorted();
}

const MODES = readdirSync(join(ROOT, "src/modes"), { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
);

/** Modes whose name is a word of the engine too: a program's own conversation. */
const WORDS_OF_BOTH = ["conversation"];

/** The modes that a file names or imports, and the words of modes other than the schedule in it. */
function modesKnownIn(code: string): string[] {
  const isNamed = (mode: string) => code.includes(`"${mode}"`) && !WORDS_OF_BOTH.includes(mode);
  const named = MODES.filter((mode) => isNamed(mode) || code.includes(`modes/${mode}/`));
  return [...new Set([...named, ...modeWordsIn(code, OTHER_WORDS)])].toSorted();
}

function outerWorldIn(code: string): string[] {
  return Object.entries(OUTER_WORLD_PATTERNS).flatMap(([what, pattern]) => (pattern.test(code) ? [what] : []));
}

function inFolders(...folders: readonly string[]): Source[] {
  return SOURCES.filter(({ name }) => folders.some((folder) => name.startsWith(`${folder}/`)));
}

describe("import order", () => {
  it("lets a folder import only from earlier ones, siblings and modes never from each other", () => {
    const wrong = SOURCES.flatMap(({ name, code }) =>
      importsOf(code)
        .filter((specifier) => specifier.startsWith("."))
        .flatMap((specifier) => wrongImport(name, join(dirname(name), specifier)) ?? []),
    );
    expect(wrong).toEqual([]);
  });

  it("has no import cycles, not even of types", () => {
    const needs = SOURCES.map(({ name, code }) => {
      const own = importsOf(code).filter((specifier) => specifier.startsWith("."));
      return [name, own.map((specifier) => join(dirname(name), specifier))] as const;
    });
    expect(cycleIn(new Map(needs))).toBeUndefined();
  });

  it("has a rank for every file", () => {
    const homeless = SOURCES.filter(({ name }) => partOf(name) !== "crew" && rankOf(partOf(name)) < 0);
    expect(homeless.map(({ name }) => name)).toEqual([]);
  });

  it("detects violations", () => {
    const code = withoutComments(`
      import type { A } from "../runtime/session.ts"; // import "./comment.ts"
      export { b } from '../store/store.ts';
      import "./side-effect.ts";
      const url = "http://example.org"; const lazy = import("../ui/plain.ts");
      import {
        type C,
      } from "./c.ts";
    `);
    const named = ["../runtime/session.ts", "../store/store.ts", "./side-effect.ts", "../ui/plain.ts", "./c.ts"];
    expect(importsOf(code).toSorted()).toEqual(named.toSorted());
    const [a, b, c] = [["b"], ["c", "d"], ["b"]];
    expect(cycleIn(new Map(Object.entries({ a, b, c })))).toEqual(["b", "c", "b"]);
    expect(cycleIn(new Map(Object.entries({ a, b, c: [] })))).toBeUndefined();
    expect(wrongImport("kernel/mode.ts", "lib/json.ts")).toBeUndefined();
    expect(wrongImport("modes/debate/decide.ts", "kernel/mode.ts")).toBeUndefined();
    expect(wrongImport(REGISTRY, "modes/debate/mode.ts")).toBeUndefined();
    const forbidden = [
      ["kernel/mode.ts", "runtime/session.ts"],
      ["store/store.ts", "log/chain.ts"],
      ["modes/debate/decide.ts", "modes/schedule/draft.ts"],
      ["modes/debate/decide.ts", REGISTRY],
      ["kernel/mode.ts", REGISTRY],
      ["runtime/session.ts", "ui/plain.ts"],
      ["runtime/session.ts", "crew/turn.ts"],
      ["crew/turn.ts", "kernel/mode.ts"],
      ["commands/run.ts", "../tests/rig.ts"],
    ] as const;
    expect(forbidden.filter(([importer, imported]) => wrongImport(importer, imported) === undefined)).toEqual([]);
  });
});

describe("the commands", () => {
  it("stand in the catalogue, besides rooms, catalogue and main", () => {
    const homeless = inFolders("commands").filter(({ name }) => floorOf(name) < 0);
    expect(homeless.map(({ name }) => name)).toEqual([]);
    expect(COMMANDS.length).toBeGreaterThan(12);
  });

  it("never import each other, and rooms only earlier rooms", () => {
    const wrong = inFolders("commands").flatMap(({ name, code }) =>
      importsOf(code)
        .filter((specifier) => specifier.startsWith("."))
        .map((specifier) => join(dirname(name), specifier))
        .filter((imported) => imported.startsWith("commands/"))
        .flatMap((imported) => wrongRoom(name, imported) ?? []),
    );
    expect(wrong).toEqual([]);
  });

  it("are caught importing wrongly", () => {
    expect(floorOf("commands/spare.ts")).toBe(-1);
    expect(floorOf("commands/spare/room.ts")).toBe(-1);
    const allowed = [
      ["commands/run.ts", "commands/driver/begin.ts"],
      ["commands/interaction/interaction.ts", "commands/interaction/put.ts"],
      ["commands/main.ts", "commands/catalogue.ts"],
    ] as const;
    const forbidden = [
      ["commands/retry.ts", "commands/resume.ts"],
      ["commands/driver/begin.ts", "commands/run.ts"],
      ["commands/options/run-options.ts", "commands/interaction/asking.ts"],
      ["commands/options/run-options.ts", "commands/presenters/ending.ts"],
    ] as const;
    expect(allowed.filter(([importer, imported]) => wrongRoom(importer, imported) !== undefined)).toEqual([]);
    expect(forbidden.filter(([importer, imported]) => wrongRoom(importer, imported) === undefined)).toEqual([]);
  });
});

describe("the engine", () => {
  it("has no mode's words in runtime and kernel except those of the wire", () => {
    const words = [...SCHEDULE_WORDS, ...OTHER_WORDS];
    const found = new Map(inFolders("runtime", "kernel").map(({ name, code }) => [name, modeWordsIn(code, words)]));
    expect(difference(found, WORDS_OF_THE_WIRE)).toEqual({ added: [], gone: [] });
  });

  it("has modes named above it only in listed files", () => {
    const above = SOURCES.filter(({ name }) => rankOf(partOf(name)) > rankOf("modes"));
    expect(MODES.length).toBeGreaterThan(1);
    const found = new Map(above.map(({ name, code }) => [name, modesKnownIn(code)]));
    expect(difference(found, KNOWING_A_MODE)).toEqual({ added: [], gone: [] });
  });

  it("is caught with a mode's word", () => {
    const code = withoutComments(
      '// a ticket\nconst planOf = (verdicts: Opinion[]) => `the debate`; const replanned = "explain";',
    );
    const words = ["plan", "opinion", "debate", "verdict"];
    expect(modeWordsIn(code, words)).toEqual(["Opinion", "debate", "planOf", "verdicts"]);
    const other = 'import("../modes/schedule/x.ts"); say("debate", vote, plan);';
    expect(modesKnownIn(other)).toEqual(["debate", "schedule", "vote"]);
  });

  it("is not imported by the modes, which are pure", () => {
    const impureOfLib = [CRASH_POINTS, FILES, ...GIT, TEXT_LAYOUT, TIME_LIMIT];
    const sources = inFolders(...PURE).filter(({ name }) => !impureOfLib.includes(name));
    const impure = sources.flatMap(({ name, code }) => [
      ...importsOf(code)
        .filter((specifier) => specifier.startsWith("node:") && !PURE_MAY_IMPORT.includes(specifier))
        .map((specifier) => `${name}: ${specifier}`),
      ...[...outerWorldIn(code), ...(/\bperformance\.now\b|\bsetTimeout\b|\bprocess\./.exec(code) ?? [])].map(
        (what) => `${name}: ${what}`,
      ),
    ]);
    expect(impure).toEqual([]);
  });

  it("has crash points only where it touches the world", () => {
    const having = SOURCES.filter(({ code }) =>
      importsOf(code).some((specifier) => specifier.endsWith("crash-point.ts")),
    );
    expect(having.map(({ name }) => partOf(name)).filter((part) => !AT_THE_WORLD.includes(part))).toEqual([]);
  });
});

describe("the outer world", () => {
  it("is read only in listed files: clock, randomness, environment", () => {
    const inside = SOURCES.filter(({ name }) => !name.startsWith("crew/") && !["cli", "bin"].includes(partOf(name)));
    const found = new Map(inside.map(({ name, code }) => [name, outerWorldIn(code)]));
    expect(difference(found, OUTER_WORLD)).toEqual({ added: [], gone: [] });
  });

  it("process.exit is called only by the program itself", () => {
    const leaving = SOURCES.filter(({ code }) => /\bprocess\.(?:exit|abort|reallyExit)\b/.test(code)).map(
      ({ name }) => name,
    );
    expect(leaving.filter((name) => name !== "cli.ts" && name !== "bin.ts")).toEqual([]);
  });

  it("is written to through streams, never through the console", () => {
    expect(SOURCES.filter(({ code }) => /\bconsole\s*\./.test(code)).map(({ name }) => name)).toEqual([]);
  });
});

describe("every file", () => {
  const limit = 400;

  it(`has at most ${limit} lines`, () => {
    const files = ["src", "tests", "schemas", "examples"].flatMap((folder) => filesBelow(join(ROOT, folder)));
    const lengths = files.map(
      (file) => [relative(ROOT, file), readFileSync(file, "utf8").split("\n").length - 1] as const,
    );
    expect(lengths.filter(([, lines]) => lines > limit)).toEqual([]);
  });

  it("has no TODO in a comment", () => {
    const marked = SOURCES.filter(({ text }) => /(?:\/\/|\/\*|^\s*\*)\s*(?:TODO|FIXME|XXX|HACK)\b/m.test(text));
    expect(marked.map(({ name }) => name)).toEqual([]);
  });

  it("exports by name", () => {
    expect(SOURCES.filter(({ code }) => /\bexport\s+default\b/.test(code)).map(({ name }) => name)).toEqual([]);
  });
});

describe("shared test helpers", () => {
  it("clean up with onTestFinished, since a module's hooks run only for its first test file", () => {
    const shared = filesBelow(join(ROOT, "tests")).filter((file) => /(?<!\.test)\.ts$/.test(file));
    const hooked = shared.filter((file) => /^(?:before|after)(?:Each|All)\(/m.test(readFileSync(file, "utf8")));
    expect(shared.length).toBeGreaterThan(30);
    expect(hooked.map((file) => relative(ROOT, file))).toEqual([]);
  });
});
