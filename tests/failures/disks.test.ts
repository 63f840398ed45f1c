import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import { type Disk, type DiskScene, newDiskScene, whyWithoutDisks } from "./disks.ts";
import { atOnce, type Done, faultsOfEnd, faultsOfMessage, faultsOfRest, leave, newScene, reportOf } from "./scene.ts";
import { living } from "../processes.ts";

/** More than a session needs. */
const AMPLE = "64m";

let undisturbed: JsonObject;
/** What sessions came to an end over, and how often. */
const met = new Map<string, number>();
const scenes = new Set<DiskScene>();

if (whyWithoutDisks !== undefined)
  console.log(`0 sessions on real disks, which cannot be had here: ${whyWithoutDisks}`);

beforeAll(async () => {
  const scene = newScene();
  const { code, stderr } = await scene.run();
  if (code !== 0) throw new Error(`undisturbed: ${code} ${stderr}`);
  undisturbed = reportOf(scene);
  leave(scene);
});

afterEach(async () => {
  for (const scene of scenes) await scene.close();
  scenes.clear();
});

afterAll(() => {
  const sessions = [...met.values()].reduce((sum, count) => sum + count, 0);
  const table = [...met].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([what, count]) => `${what} ${count}`);
  console.log(`${sessions} sessions on real disks that were full or read-only: ${table.join(", ")}`);
});

async function newDisks(sizes: Readonly<Partial<Record<Disk, string>>>, mischief = ""): Promise<DiskScene> {
  const scene = await newDiskScene(sizes, mischief);
  scenes.add(scene);
  return scene;
}

/** Shell text that leaves so many KiB of a disk. */
function filled(disk: Disk, left: number): string {
  return `cat /dev/zero >"$home/${disk}/filler" 2>/dev/null || true; truncate -s -${left}K "$home/${disk}/filler"`;
}

/**
 * Shell text that makes a disk read-only for whoever opens something from now on. The disk as a whole cannot be while a
 * file is open for writing.
 */
function protectedFrom(disk: Disk): string {
  return `disk=$(realpath "$home/${disk}"); mount --bind "$disk" "$disk"; mount -o remount,ro,bind "$disk"`;
}

const enlarge = (disk: Disk) => `mount -o remount,size=${AMPLE} "$home/${disk}"`;
const unprotect = (disk: Disk) => `umount "$(realpath "$home/${disk}")"`;

const WHAT = [
  [/^(Error: )?The database cannot be used: .* \(there is no space left, /, "database full"],
  [/^(Error: )?(.*?) cannot be written: .* \(there is no space left, /, "full"],
  [/^(Error: )?The database cannot be used: .* \(the disk is mounted read-only, /, "database read-only"],
  [/^(Error: )?(.*?) cannot be written: .* \(the disk is mounted read-only, EROFS\)\.$/m, "read-only"],
  [/^(Error: )?The directory .* cannot be made: .*(?:EROFS|ENOSPC)/, "directory"],
] as const;

/** Over what a command failed, in two words. */
function whatFailed({ stderr }: Done): string {
  for (const [pattern, what] of WHAT) {
    const [whole, , name] = pattern.exec(stderr) ?? [];
    if (whole !== undefined) return name === undefined ? what : `${name} ${what}`;
  }
  return "";
}

const REMEDY = /Make space on|Remount the disk for writing/;

/** What is wrong with the end of a command that could not write, in words. */
function faultsOfRefusal(scene: DiskScene, done: Done): string[] {
  const what = whatFailed(done);
  met.set(what, (met.get(what) ?? 0) + 1);
  return [
    ...faultsOfEnd(done, [3]),
    ...faultsOfMessage(scene, done),
    ...(what === "" ? [`it says: ${done.stderr}`] : []),
    ...(REMEDY.test(done.stdout + done.stderr) ? [] : ["no remedy in the message"]),
    ...living(scene.session_id).map((pid) => `process ${pid} lives`),
  ];
}

/** Agents started without a request in the log folder: after a failed write, nothing may begin. */
async function faultsOfDispatch(scene: DiskScene): Promise<string[]> {
  const file = join(scene.workspace, "starts");
  const started = existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [];
  const text = await scene.inside(
    'find "$home/logs" -name "*-turn_request.json" -exec sed "" {} + 2>/dev/null || true',
  );
  const asked = text
    .split("\n")
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as LogRecord).record.turn_id);
  return started.filter((turn_id) => !asked.includes(turn_id)).map((turn_id) => `${turn_id} was begun off the record`);
}

/** Runs a session into a disk that refuses it, mends that, and takes the session up again: what is wrong, in words. */
async function trial(scene: DiskScene, mend: string): Promise<string[]> {
  const done = await scene.run();
  const faults = [...faultsOfRefusal(scene, done), ...(await faultsOfDispatch(scene))];
  await scene.inside(mend);
  const resumed = await scene.resume();
  const last = resumed.code === 2 ? await scene.run() : resumed;
  faults.push(...faultsOfEnd(last, [0]), ...(last.stderr === "" ? [] : [`afterwards ${last.stderr}`]));
  await scene.settle();
  if (!isDeepStrictEqual(reportOf(scene), undisturbed)) faults.push("another final report");
  return [...faults, ...(await faultsOfRest(scene))];
}

/** Where the home is on one disk, and where a part of it has its own. */
const DISKS = { ".": { ".": AMPLE }, logs: { ".": AMPLE, logs: AMPLE }, sessions: { ".": AMPLE, sessions: AMPLE } };

describe.runIf(whyWithoutDisks === undefined)("a full disk", () => {
  it("from the beginning ends the session, which goes on with more space", async () => {
    const sizes = [4, 16, 64, 96, 128, 160, 224, 288, 352, 416, 480];
    const faults = await atOnce(
      sizes,
      async (size) => {
        const found = await trial(await newDisks({ ".": `${size}k` }), enlarge("."));
        return found.map((fault) => `${size} KiB: ${fault}`);
      },
      2,
    );
    expect(faults).toEqual([]);
  });

  it.each([
    [".", "4m", [0, 4, 12, 28, 40, 64, 96], ["The artifact full", "database full"]],
    ["logs", "4m", [0, 4, 12, 24], ["The log full"]],
    ["sessions", "4m", [0, 4, 8], ["The artifact full", "The final report full"]],
  ] as const)("that fills up (%s) is named with the file, and needs only space", async (disk, size, lefts, whats) => {
    const before = new Map(met);
    const faults = await atOnce(
      lefts,
      async (left) => {
        const scene = await newDisks({ ...DISKS[disk], [disk]: size }, filled(disk, left));
        return (await trial(scene, enlarge(disk))).map((fault) => `${left} KiB left: ${fault}`);
      },
      2,
    );
    expect(faults).toEqual([]);
    expect([...met].filter(([what, count]) => count > (before.get(what) ?? 0)).map(([what]) => what)).toEqual(
      expect.arrayContaining([...whats]),
    );
  });

  it("allows reading and refuses writing", async () => {
    const scene = await newDisks({ ".": AMPLE });
    expect(await scene.command(scene.beginning)).toMatchObject({ code: 4, stderr: "" });
    await scene.inside(`mount -o remount,size=4m "$home"\n${filled(".", 0)}`);
    for (const args of looks(scene))
      expect([args, await scene.command(args)]).toMatchObject([args, { code: 0, stderr: "" }]);
    for (const args of writes(scene))
      expect([args, ...faultsOfRefusal(scene, await scene.command(args))]).toEqual([args]);
    await scene.inside(enlarge("."));
    expect(await scene.resume()).toMatchObject({ code: 0, stderr: "" });
    await scene.settle();
    expect(reportOf(scene)).toEqual(undisturbed);
    expect(await faultsOfRest(scene)).toEqual([]);
  });

  it("is reported by doctor", async () => {
    const scene = await newDisks({ ".": "64k" });
    await scene.inside(filled(".", 0));
    const { code, stdout } = await scene.command(["doctor"]);
    expect(code).toBe(3);
    expect(stdout).toMatch(/on tmpfs: .*writ/);
  });
});

describe.runIf(whyWithoutDisks === undefined)("a read-only disk", () => {
  it.each([".", "logs", "sessions"] as const)(
    "that becomes so (%s) ends the session, which goes on when writable",
    async (disk) => {
      const scene = await newDisks(DISKS[disk], protectedFrom(disk));
      expect(await trial(scene, unprotect(disk))).toEqual([]);
    },
  );

  it.each([".", "logs", "sessions"] as const)("from the beginning (%s) prevents a session", async (disk) => {
    const scene = await newDisks(DISKS[disk]);
    await scene.inside(`mount -o remount,ro "$home/${disk}"`);
    expect(await trial(scene, `mount -o remount,rw "$home/${disk}"`)).toEqual([]);
  });

  it.each([".", "logs", "sessions"] as const)(
    "under a waiting session (%s) allows reading and refuses writing",
    async (disk) => {
      const scene = await newDisks(DISKS[disk]);
      expect(await scene.command(scene.beginning)).toMatchObject({ code: 4, stderr: "" });
      await scene.inside(`mount -o remount,ro "$home/${disk}"`);
      for (const args of looks(scene))
        expect([args, await scene.command(args)]).toMatchObject([args, { code: 0, stderr: "" }]);
      // The inbox is in the database, on the other disk.
      const refused = writes(scene).filter(([name]) => disk === "." || name === "resume");
      for (const args of refused) expect([args, ...faultsOfRefusal(scene, await scene.command(args))]).toEqual([args]);
      await scene.inside(`mount -o remount,rw "$home/${disk}"`);
      expect(await scene.resume()).toMatchObject({ code: 0, stderr: "" });
      await scene.settle();
      expect(reportOf(scene)).toEqual(undisturbed);
      expect(await faultsOfRest(scene)).toEqual([]);
    },
  );
});

describe.runIf(whyWithoutDisks === undefined)("files beside a session's record", () => {
  it.each([
    ["read-only", 'mount -o remount,ro "$home/sessions"', 'mount -o remount,rw "$home/sessions"'],
    ["full", `mount -o remount,size=4m "$home/sessions"; ${filled("sessions", 0)}`, enlarge("sessions")],
  ] as const)("are named and nothing begins if the disk is %s", async (_, break_, mend) => {
    const scene = await newDisks(DISKS.sessions);
    writeFileSync(join(scene.directory, "asking.json"), JSON.stringify({ plan_approval: "ask" }));
    const gated = scene.beginning.map((arg) =>
      arg.endsWith("config.json") ? join(scene.directory, "asking.json") : arg,
    );
    expect(await scene.command([...gated, "--answer", "c1.reader=me"])).toMatchObject({ code: 4, stderr: "" });
    await scene.inside(break_);

    const edited = await scene.command(["plan", scene.session_id, "--edit"]);
    expect(faultsOfRefusal(scene, edited)).toEqual([]);
    expect(edited.stderr).toContain("plan to be edited");

    const plan = join(scene.directory, "plan.json");
    const tasks = [
      { task_id: "a", description: "Do it", instruction: { summary: "Do it", steps: [{ shell: "true" }] } },
    ];
    writeFileSync(plan, JSON.stringify({ tasks }));
    const played = [
      "run",
      "--plan",
      plan,
      "--crew",
      "embedded",
      "--foreground",
      "--session",
      `${scene.session_id}-played`,
    ];
    const refused = await scene.command(played);
    expect(faultsOfRefusal(scene, refused)).toEqual([]);

    const detached = gated.map((arg) => (arg === scene.session_id ? `${arg}-detached` : arg));
    const alone = await scene.command(detached.map((arg) => (arg === "--foreground" ? "--detach" : arg)));
    expect(faultsOfRefusal(scene, alone)).toEqual([]);

    await scene.inside(mend);
    for (const never of ["played", "detached"]) {
      const resumed = await scene.command(["resume", `${scene.session_id}-${never}`]);
      expect(resumed).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/never began|There is no session/) as string,
      });
    }
    expect(await scene.command(["plan", scene.session_id, "--approve"])).toMatchObject({ code: 0, stderr: "" });
    expect(await scene.resume()).toMatchObject({ code: 0, stderr: "" });
    await scene.settle();
    expect(reportOf(scene)).toEqual(undisturbed);
    expect(await faultsOfRest(scene)).toEqual([]);
  });
});

describe.runIf(whyWithoutDisks === undefined)("a home on a read-only disk", () => {
  it("can be read and verified, and is reported as read-only", async () => {
    const scene = await newDisks(DISKS["."]);
    expect(await scene.run()).toMatchObject({ code: 0, stderr: "" });
    await scene.inside('mount -o remount,ro "$home"');
    for (const args of [...looks(scene), ["replay", scene.session_id, "--verify"]])
      expect([args, await scene.command(args)]).toMatchObject([args, { code: 0, stderr: "" }]);
    expect(faultsOfRefusal(scene, await scene.resume())).toEqual([]);
  });

  it("is read with an open journal, which is kept", async () => {
    const scene = await leftOpen("");
    for (const args of looks(scene))
      expect([args, await scene.command(args)]).toMatchObject([args, { code: 0, stderr: "" }]);
    expect(await faultsOfGoingOn(scene)).toEqual([]);
  });

  it("is refused with half of its journal missing", async () => {
    const scene = await leftOpen('rm "$home/bosun.db-shm"');
    expect(faultsOfRefusal(scene, await scene.command(["status"]))).toEqual([]);
    expect(await faultsOfGoingOn(scene)).toEqual([]);
  });
});

/** A home whose only scheduler died, on a disk that is read-only since; `loss` is shell text for what is gone. */
async function leftOpen(loss: string): Promise<DiskScene> {
  const scene = await newDisks(DISKS["."]);
  expect(await scene.run({ BOSUN_CRASH_AT: "record_renamed:9" })).toMatchObject({ code: null });
  await scene.inside(`${loss}\nmount -o remount,ro "$home"`);
  return scene;
}

async function faultsOfGoingOn(scene: DiskScene): Promise<string[]> {
  await scene.inside('mount -o remount,rw "$home"');
  const { code, stderr } = await scene.resume();
  await scene.settle();
  const same = isDeepStrictEqual(reportOf(scene), undisturbed);
  return [
    ...(code === 0 ? [] : [`resumed it ended with ${code}: ${stderr}`]),
    ...(same ? [] : ["another final report"]),
    ...(await faultsOfRest(scene)),
  ];
}

function looks({ session_id }: DiskScene): string[][] {
  return [["status"], ["status", session_id, "--json"], ["inbox"], ["log", session_id], ["replay", session_id]];
}

function writes({ session_id, beginning }: DiskScene): (readonly string[])[] {
  return [
    ["answer", session_id, "c1.reader", "me"],
    ["tell", session_id, "Hurry."],
    ["resume", session_id, "--foreground", "--no-input", "--answer", "c1.reader=me"],
    beginning.map((arg) => (arg === session_id ? `${session_id}-2` : arg)),
  ];
}
