import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import SqliteDatabase from "better-sqlite3";
import { afterEach, describe, expect, it } from "vitest";
import { verifySession } from "../../src/runtime/proof.ts";
import { openReader } from "../../src/store/sqlite-store.ts";
import type { SessionRow } from "../../src/store/store.ts";
import { built } from "../built.ts";
import { MODES } from "../runtime/sessions.ts";
import { copied, faultsOfEnd, faultsOfMessage, faultsOfRest, leave, newScene, reportOf, type Scene } from "./scene.ts";
import { value } from "../results.ts";

const scenes: Scene[] = [];
afterEach(() => {
  for (const scene of scenes.splice(0)) leave(scene);
});

/** A session in whose middle a worker does something to the home, once; `$home` is where that is. */
function withMischief(mischief: string): Scene {
  const scene = newScene(undefined, mischief);
  scenes.push(scene);
  return scene;
}

async function finished(): Promise<Scene> {
  const scene = newScene();
  scenes.push(scene);
  expect(await scene.run()).toMatchObject({ code: 0 });
  return scene;
}

const databaseOf = ({ home }: Scene) => join(home, "bosun.db");
function rowOf({ home, session_id }: Scene): SessionRow {
  const reader = value(openReader(home));
  const row = value(reader.session(session_id));
  reader.close();
  return row;
}

const logOf = ({ home, session_id }: Scene) => join(home, "logs", session_id);
const proofOf = (scene: Scene) => value(verifySession(logOf(scene), MODES));

describe("deleting under a running session", () => {
  it("its log folder stops it, and a resume writes the folder again", async () => {
    const scene = withMischief('rm -rf "$home/logs"');
    const done = await scene.run();
    expect([...faultsOfEnd(done, [3]), ...faultsOfMessage(scene, done)]).toEqual([]);
    expect(done.stderr).toContain(logOf(scene));
    expect(await scene.resume()).toMatchObject({ code: 0, stderr: "" });
    expect(await faultsOfRest(scene)).toEqual([]);
    expect(readdirSync(logOf(scene))).toContain("000001-session_opened.json");
  });

  it("its log folder after the close has a resume write it again", async () => {
    const scene = await finished();
    const before = proofOf(scene);
    rmSync(logOf(scene), { recursive: true });
    expect(await scene.resume()).toMatchObject({ code: 0, stderr: "" });
    expect(proofOf(scene)).toEqual(before);
  });

  it("its own folder with the lock lets it go on", async () => {
    const scene = withMischief('rm -rf "$home/sessions"');
    expect(await scene.run()).toMatchObject({ code: 0, stderr: "" });
    expect(reportOf(scene)).toMatchObject({ outcome: "done" });
    expect(await faultsOfRest(scene)).toEqual([]);
  });

  it("the database stops it and leaves a readable log", async () => {
    const scene = withMischief('rm -f "$home"/bosun.db*');
    const done = await scene.run();
    expect([...faultsOfEnd(done, [3]), ...faultsOfMessage(scene, done)]).toEqual([]);
    expect(done.stderr).toContain(`deleted or replaced while it was in use: ${databaseOf(scene)}`);
    expect(existsSync(databaseOf(scene))).toBe(false);
    expect(proofOf(scene)).toMatchObject({ completeness: "open", decisions: "ok", problems: [] });
    expect(await scene.command(["replay", logOf(scene)])).toMatchObject({ code: 0 });
    expect(faultsOfEnd(await scene.resume(), [3])).toEqual([]);
  });

  it("the database for a copy stops it, and the copy goes on", async () => {
    const scene = withMischief('cp "$home/bosun.db" copy && mv copy "$home/bosun.db"');
    const done = await scene.run();
    expect([...faultsOfEnd(done, [3]), ...faultsOfMessage(scene, done)]).toEqual([]);
    expect(done.stderr).toContain("deleted or replaced");
    expect(await scene.resume()).toMatchObject({ code: 0, stderr: "" });
    expect(await faultsOfRest(scene)).toEqual([]);
  });

  it("the database's journal stops it and loses nothing", async () => {
    const scene = withMischief('rm -f "$home/bosun.db-wal"');
    const done = await scene.run();
    expect([...faultsOfEnd(done, [3]), ...faultsOfMessage(scene, done)]).toEqual([]);
    expect(done.stderr).toContain("bosun.db-wal");
    expect(await scene.resume()).toMatchObject({ code: 0, stderr: "" });
    expect(await faultsOfRest(scene)).toEqual([]);
  });
});

describe("a copy of a home", () => {
  it("of a running session goes on by itself", async () => {
    const scene = withMischief('cp -R "$home" copy');
    expect(await scene.run()).toMatchObject({ code: 0 });
    const copy = newScene(scene.session_id);
    scenes.push(copy);
    renameSync(join(scene.workspace, "copy"), copy.home);
    const before = proofOf(scene);
    expect(await copy.resume()).toMatchObject({ code: 0, stderr: "" });
    expect(await faultsOfRest(copy)).toEqual([]);
    expect(proofOf(scene)).toEqual(before);
  });

  it("with an older journal is refused, with all records intact", async () => {
    const scene = withMischief('cp "$home/bosun.db-wal" earlier-wal');
    expect(await scene.run()).toMatchObject({ code: 0 });
    cpSync(join(scene.workspace, "earlier-wal"), `${databaseOf(scene)}-wal`);
    const before = proofOf(scene);
    const resumed = await scene.resume();
    expect([...faultsOfEnd(resumed, [3]), ...faultsOfMessage(scene, resumed)]).toEqual([]);
    expect(proofOf(scene)).toEqual(before);
  });

  it("without its journal is refused", async () => {
    const scene = withMischief('cp "$home/bosun.db" earlier-db');
    expect(await scene.run()).toMatchObject({ code: 0 });
    renameSync(join(scene.workspace, "earlier-db"), databaseOf(scene));
    const before = proofOf(scene);
    expect(faultsOfEnd(await scene.resume(), [2, 3])).toEqual([]);
    expect(faultsOfEnd(await scene.command(["status"]), [0, 3])).toEqual([]);
    expect(proofOf(scene)).toEqual(before);
  });
});

describe("a damaged database", () => {
  it.each([0.2, 0.5, 0.9])("cut to %f of its length is reported and left alone", async (part) => {
    const scene = await finished();
    truncateSync(databaseOf(scene), Math.floor(readFileSync(databaseOf(scene)).length * part));
    const cut = readFileSync(databaseOf(scene));
    for (const args of [["status", scene.session_id], ["status"], ["resume", scene.session_id, "--foreground"]]) {
      const done = await scene.command(args);
      expect([args, ...faultsOfEnd(done, [3]), ...faultsOfMessage(scene, done)]).toEqual([args]);
      expect(done.stderr).toContain("damaged");
    }
    expect(readFileSync(databaseOf(scene)).equals(cut)).toBe(true);
  });

  it("without any one record is reported, never with a stack trace", async () => {
    const waiting = newScene();
    scenes.push(waiting);
    expect(await waiting.command(waiting.beginning)).toMatchObject({ code: 4 });
    const faults: string[] = [];
    let told = 0;
    for (const scene of [await finished(), waiting]) {
      const { last_sequence } = rowOf(scene);
      for (let lost = 1; lost <= last_sequence; lost += 1) {
        const copy = copied(scene);
        const database = new SqliteDatabase(databaseOf(copy));
        database.prepare("DELETE FROM records WHERE sequence = ?").run(lost);
        database.close();
        for (const args of [
          [lost % 2 === 0 ? "status" : "log", copy.session_id],
          ["resume", copy.session_id, "--foreground", "--no-input", "--answer", "c1.reader=me"],
        ]) {
          const done = await copy.command(args);
          const found = [
            ...faultsOfEnd(done, args[0] === "log" ? [3, 6] : [0, 3, 6]),
            ...(done.code === 0 ? [] : faultsOfMessage(copy, done)),
          ];
          faults.push(
            ...found.map((what) => `record ${lost} of ${last_sequence}, ${args[0]}: ${what}\n${done.stderr}`),
          );
          if (done.code !== 0) told += 1;
        }
        leave(copy);
      }
    }
    expect(faults).toEqual([]);
    expect(told).toBeGreaterThan(10);
  }, 120_000);

  it("with any wrong byte is reported or read, never with a stack trace", async () => {
    const scene = await finished();
    const whole = readFileSync(databaseOf(scene));
    const faults: string[] = [];
    for (let step = 0; step < 16; step += 1) {
      // Even steps go through the first page with its header and the schema, odd ones through all the others.
      const at = step % 2 === 0 ? step * 255 : Math.floor((whole.length * step) / 16);
      const copy = copied(scene);
      const bytes = Buffer.from(whole);
      bytes[at] = (bytes[at] ?? 0) ^ 0x55;
      writeFileSync(databaseOf(copy), bytes);
      for (const args of [
        ["status", copy.session_id],
        ["resume", copy.session_id, "--foreground", "--no-input"],
      ]) {
        const done = await copy.command(args);
        faults.push(
          ...faultsOfEnd(done, [0, 2, 3, 6]).map((what) => `byte ${at}, ${args[0]}: ${what}\n${done.stderr}`),
        );
        if (done.code === 3)
          faults.push(...faultsOfMessage(copy, done).map((what) => `byte ${at}, ${args[0]}: ${what}`));
      }
      leave(copy);
    }
    expect(faults).toEqual([]);
  });
});

describe("a file in the place of a part of the home", () => {
  it.each(["logs", "sessions", "bosun.db"])(
    "%s is named by the first run, which begins once it is gone",
    async (name) => {
      const scene = newScene();
      scenes.push(scene);
      mkdirSync(scene.home);
      writeFileSync(join(scene.home, name), "something else, and more than a few bytes of it".repeat(100));
      const done = await scene.run();
      expect([...faultsOfEnd(done, [3]), ...faultsOfMessage(scene, done)]).toEqual([]);
      expect(done.stderr).toContain(join(scene.home, name));
      rmSync(join(scene.home, name));
      expect(await scene.run()).toMatchObject({ code: 0, stderr: "" });
      expect(await faultsOfRest(scene)).toEqual([]);
    },
  );
});

describe("a file size limit", () => {
  it.each([8, 48, 100, 200])("of %i KiB is named, and a resume without it goes on", async (kib) => {
    const scene = newScene();
    scenes.push(scene);
    const args = [built("cli.js"), "--home", scene.home, ...scene.beginning, "--answer", "c1.reader=me"];
    const limited = spawnSync("sh", ["-c", 'ulimit -f "$0" && exec "$@"', String(kib * 2), process.execPath, ...args], {
      cwd: scene.workspace,
      encoding: "utf8",
      env: { PATH: "/usr/bin:/bin", HOME: scene.directory },
    });
    const done = { code: limited.status, stdout: limited.stdout, stderr: limited.stderr, hung: false, calls: [] };
    expect([...faultsOfEnd(done, [3]), ...faultsOfMessage(scene, done)]).toEqual([]);
    expect(`${done.stdout}${done.stderr}`).toContain("ulimit -f");
    const resumed = await scene.resume();
    const last = resumed.code === 2 ? await scene.run() : resumed;
    expect(last).toMatchObject({ code: 0, stderr: "" });
    expect(await faultsOfRest(scene)).toEqual([]);
  });
});
