import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { openForWriting } from "../../src/store/database.ts";
import { fileSystemOf } from "../../src/store/file-system.ts";
import { openStore } from "../../src/store/sqlite-store.ts";
import { faultsOfEnd, faultsOfMessage, faultsOfRest, leave, newScene, type Scene } from "./scene.ts";
import { failureOf, value } from "../results.ts";

const NFS = 0x6969;
const FUSE = 0x65735546;

const directories: string[] = [];
const scenes: Scene[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
  for (const scene of scenes.splice(0)) leave(scene);
});

function newHome(): string {
  const directory = mkdtempSync(join(tmpdir(), "bosun-file-systems-"));
  directories.push(directory);
  return join(directory, "home");
}

function newPlace(): Scene {
  const scene = newScene();
  scenes.push(scene);
  return scene;
}

describe("a home on a network file system", () => {
  it.each([
    ["NFS", NFS],
    ["SMB", 0x517b],
    ["CIFS", 0xff534d42],
    ["CIFS, taken for a signed number", 0xff534d42 | 0],
    ["SMB2", 0xfe534d42],
    ["9P", 0x01021997],
    ["AFS", 0x5346414f],
  ])("%s is refused by name, and accepted on request", (called, type) => {
    const home = newHome();
    const statfs = () => ({ type });
    const refused = failureOf(openStore(home, { statfs }));
    expect(refused).toMatchObject({ code: "environment", hint: expect.stringContaining("--home") as string });
    expect(refused.message).toContain(`${home} is on ${called.replace(/,.*/, "")}`);
    expect(existsSync(home)).toBe(false);
    value(openStore(home, { statfs, accept: true })).close();
    expect(existsSync(join(home, "bosun.db"))).toBe(true);
  });

  it.each([
    ["FUSE", FUSE],
    ["Ceph", 0x00c36400],
    ["Lustre", 0x0bd00bd0],
  ])("%s is accepted with a warning", (name, type) => {
    const home = newHome();
    const statfs = () => ({ type });
    value(openStore(home, { statfs })).close();
    expect(fileSystemOf(home, statfs)).toEqual({ name, safety: "depends" });
  });

  it("is not suspected on an unknown file system", () => {
    const home = newHome();
    expect(fileSystemOf(home, () => ({ type: 0x1234 }))).toEqual({ name: "0x1234", safety: "safe" });
    const unasked = () => {
      throw Object.assign(new Error("EACCES"), { code: "EACCES" });
    };
    expect(fileSystemOf(home, unasked)).toEqual({ name: "unknown", safety: "safe" });
    expect(fileSystemOf(home)).toMatchObject({ safety: "safe" });
  });
});

describe("a command on such a home", () => {
  it("refuses to run without BOSUN_SHARED_HOME=accept and leaves nothing", async () => {
    const scene = newPlace();
    const done = await scene.run({ statfs: NFS });
    expect([...faultsOfEnd(done, [3]), ...faultsOfMessage(scene, done)]).toEqual([]);
    expect(done.stderr).toContain("BOSUN_SHARED_HOME=accept");
    expect(existsSync(scene.home)).toBe(false);
    const accepted = await scene.run({ statfs: NFS, environment: { BOSUN_SHARED_HOME: "accept" } });
    expect(accepted).toMatchObject({ code: 0, stderr: "" });
    expect(await faultsOfRest(scene)).toEqual([]);
  });

  it("reads an older database if it is accepted", async () => {
    const scene = newPlace();
    value(openForWriting(scene.home)).close();
    const refused = await scene.command(["status"], { statfs: NFS });
    expect([...faultsOfEnd(refused, [3]), ...faultsOfMessage(scene, refused)]).toEqual([]);
    const accepted = await scene.command(["status"], { statfs: NFS, environment: { BOSUN_SHARED_HOME: "accept" } });
    expect(accepted).toMatchObject({ code: 0, stderr: "" });
  });

  it("warns of a doubtful one, names the home and goes on", async () => {
    const scene = newPlace();
    const done = await scene.run({ statfs: FUSE });
    expect(done.code).toBe(0);
    expect(done.stderr).toMatch(/^Warning: .* is on FUSE: [^\n]*\n$/);
    expect(done.stderr).toContain(scene.home);
  });

  it.each([
    [NFS, "missing", "NFS"],
    [FUSE, "poor", "FUSE"],
    [0xef53, "ok", "ext4"],
  ])("doctor reports 0x%x", async (statfs, state, name) => {
    const scene = newPlace();
    const { stdout } = await scene.command(["doctor", "--json"], { statfs });
    const { findings } = JSON.parse(stdout) as { findings: { name: string; state: string; what: string }[] };
    expect(findings.find((finding) => finding.name === "home")).toMatchObject({
      state,
      what: expect.stringContaining(`, on ${name}`) as string,
    });
  });
});
