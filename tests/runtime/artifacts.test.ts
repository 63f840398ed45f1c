import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { beforeEach, describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import type { PayloadByType } from "../../src/protocol/payload.ts";
import { keepArtifact, removePartialCopies } from "../../src/runtime/turns/artifacts.ts";
import { inlineField } from "../../src/runtime/turns/turn-result.ts";
import { sessionPaths } from "../../src/runtime/paths.ts";
import { crew, task } from "./crew.ts";
import { newRig, temporaryDirectory } from "./rig.ts";
import { cli, REPORT, withWorker } from "./roles.ts";
import { begin, DONE, logOf, reportOf, run } from "./sessions.ts";
import { failureOf, value } from "../results.ts";

const SECRET = "what no agent may reach";

let home: string;
let workspace: string;
let artifacts_dir: string;

beforeEach(() => {
  home = temporaryDirectory();
  workspace = temporaryDirectory();
  artifacts_dir = join(home, "sessions/s/work/a");
  mkdirSync(artifacts_dir, { recursive: true });
  writeFileSync(join(home, "secret"), SECRET);
});

function keep(uri: string, more: JsonObject = {}) {
  const request = {
    session_id: "s",
    payload: { artifacts_dir, workspace, home } as PayloadByType["turn_request"],
    stamp: { turn_id: "t-1", run: 1, attempt: 1 },
  };
  const limits = { run: { left: 2 ** 40 }, session: { left: 2 ** 40 }, signal: new AbortController().signal };
  return keepArtifact({ label: "it", uri, ...more }, request, sessionPaths(home, "s"), limits);
}

/** Where Linux has a plain file of no length that can be opened and gives EIO when it is read. */
const UNREADABLE = "/proc/self";

function keptFiles(): string[] {
  try {
    return readdirSync(join(home, "sessions/s/artifacts"));
  } catch {
    return [];
  }
}

function digestOf(text: string): string {
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}

describe.runIf(process.platform === "linux")("a file that cannot be read", () => {
  it("is refused as an artifact", async () => {
    workspace = UNREADABLE;
    expect(failureOf(await keep("mem"))).toMatchObject({
      code: "validation_failed",
      message: 'The artifact "mem" cannot be kept: it cannot be read (EIO).',
    });
    expect(keptFiles()).toEqual([]);
  });

  it("is refused as a field of an answer", () => {
    const payload = { turn_id: "t-1", artifacts_dir, workspace: UNREADABLE } as PayloadByType["turn_request"];
    const answer = { payload_type: "plan", payload: { tasks_ref: { label: "tasks", uri: "mem" } } } as const;
    expect(
      failureOf(inlineField(answer, { field: "tasks", reference: "tasks_ref" }, { payload, session_id: "s" })),
    ).toMatchObject({
      code: "validation_failed",
      message: 'The artifact "mem" cannot be kept: it cannot be read (EIO).',
    });
  });
});

describe("keeping an artifact", () => {
  it("takes paths relative to the artifacts directory or the workspace", async () => {
    writeFileSync(join(artifacts_dir, "a.txt"), "from the artifacts");
    writeFileSync(join(workspace, "a.txt"), "from the workspace");
    mkdirSync(join(workspace, "deep/er"), { recursive: true });
    writeFileSync(join(workspace, "deep/er/ö b.txt"), "deep");
    for (const [uri, text] of [
      ["a.txt", "from the artifacts"],
      ["deep/er/ö b.txt", "deep"],
    ] as const) {
      const { payload, row } = value(await keep(uri));
      expect(payload).toMatchObject({ digest: digestOf(text), size_bytes: Buffer.byteLength(text) });
      expect(payload["uri"]).toMatch(/^sessions\/s\/artifacts\//);
      expect(row).toMatchObject({ uri, digest: digestOf(text), path: payload["uri"] });
      expect(readFileSync(join(home, row.path), "utf8")).toBe(text);
    }
  });

  it("takes file URLs with escapes", async () => {
    writeFileSync(join(workspace, "50% b#?.txt"), "x");
    const { payload } = value(
      await keep(pathToFileURL(join(workspace, "50% b#?.txt")).href, {
        digest: digestOf("x"),
        size_bytes: 1,
      }),
    );
    expect(readFileSync(join(home, payload["uri"] as string), "utf8")).toBe("x");
  });

  it("takes file URLs with a scheme in capitals", async () => {
    writeFileSync(join(workspace, "a.txt"), "x");
    const { row } = value(await keep(pathToFileURL(join(workspace, "a.txt")).href.replace("file:", "FILE:")));
    expect(row.digest).toBe(digestOf("x"));
  });

  it("takes a file of the session's kept artifacts, and keeps a kept one once", async () => {
    writeFileSync(join(artifacts_dir, "a.txt"), "x");
    const { payload } = value(await keep("a.txt"));
    const kept = payload["uri"] as string;
    for (const uri of [kept, join(home, kept), pathToFileURL(join(home, kept)).href]) {
      expect(value(await keep(uri)).payload).toMatchObject({ uri: kept, digest: digestOf("x") });
    }
    expect(keptFiles()).toEqual([basename(kept)]);
    writeFileSync(join(home, "sessions/s/artifacts/own.txt"), "made there");
    const own = value(await keep("sessions/s/artifacts/own.txt"));
    expect(readFileSync(join(home, own.row.path), "utf8")).toBe("made there");
  });

  it("records a reference elsewhere without copying", async () => {
    const { payload, row } = value(await keep("https://example.org/a", { digest: digestOf("x") }));
    expect(payload).toEqual({ label: "it", uri: "https://example.org/a", digest: digestOf("x") });
    expect(row.path).toBe("");
  });
});

describe("a large artifact", () => {
  it("is copied in pieces while the event loop runs", async () => {
    const path = join(artifacts_dir, "large");
    writeFileSync(path, "");
    truncateSync(path, 32 * 1024 * 1024);
    let others = 0;
    const copying = keep("large").finally(() => clearInterval(other));
    const other = setInterval(() => {
      others += 1;
    }, 0);
    expect(value(await copying).row.size_bytes).toBe(32 * 1024 * 1024);
    expect(others).toBeGreaterThan(3);
  });

  it("is removed at resume if its scheduler died while copying", async () => {
    const { artifacts } = sessionPaths(home, "s");
    mkdirSync(artifacts, { recursive: true });
    writeFileSync(join(artifacts, "t-1.1.partial"), "half of");
    writeFileSync(join(artifacts, "0123-whole.partial.txt"), "whole");
    expect(removePartialCopies(artifacts).ok).toBe(true);
    expect(keptFiles()).toEqual(["0123-whole.partial.txt"]);
  });

  it.each<[string, (artifacts: string) => void]>([
    ["a link to another directory", (artifacts) => symlinkSync(workspace, artifacts)],
    ["a file", (artifacts) => writeFileSync(artifacts, "")],
  ])("is not removed through %s in place of the artifacts directory", (_, put) => {
    writeFileSync(join(workspace, "download.partial"), "somebody's");
    const { artifacts } = sessionPaths(home, "s");
    put(artifacts);
    expect(removePartialCopies(artifacts)).toEqual({ ok: true, value: undefined });
    expect(readdirSync(workspace)).toEqual(["download.partial"]);
  });

  it("replaces a link in its partial name without following it", async () => {
    const { artifacts } = sessionPaths(home, "s");
    mkdirSync(artifacts, { recursive: true });
    symlinkSync(join(home, "secret"), join(artifacts, "t-1.1.partial"));
    writeFileSync(join(artifacts_dir, "a.txt"), "new");
    expect((await keep("a.txt")).ok).toBe(true);
    expect(readFileSync(join(home, "secret"), "utf8")).toBe(SECRET);
  });

  it.each([
    ["while it is copied", "t-1.1.partial"],
    ["for good", `${createHash("sha256").update("new").digest("hex").slice(0, 16)}-a.txt`],
  ])("replaces a directory in the name that it has %s", async (_when, name) => {
    const { artifacts } = sessionPaths(home, "s");
    mkdirSync(join(artifacts, name, "inside"), { recursive: true });
    writeFileSync(join(artifacts_dir, "a.txt"), "new");
    const { row } = value(await keep("a.txt"));
    expect(readFileSync(join(home, row.path), "utf8")).toBe("new");
    expect(keptFiles()).toEqual([basename(row.path)]);
  });

  it("is removed at resume even if it is a directory", () => {
    const { artifacts } = sessionPaths(home, "s");
    mkdirSync(join(artifacts, "t-1.1.partial", "inside"), { recursive: true });
    expect(removePartialCopies(artifacts)).toEqual({ ok: true, value: undefined });
    expect(keptFiles()).toEqual([]);
  });
});

describe("refusing an artifact", () => {
  const outside = () => basename(home);
  it.each<readonly [string, () => string]>([
    ["a path upwards", () => `../${outside()}/secret`],
    ["a path upwards in its middle", () => `x/../../${outside()}/secret`],
    ["an absolute path outside", () => join(home, "secret")],
    ["a file address outside", () => pathToFileURL(join(home, "secret")).href],
    ["a file address with an escaped way upwards", () => `file://${workspace}/%2e%2e/${outside()}/secret`],
    ["a file address of another host", () => `file://elsewhere${workspace}/a.txt`],
    ["a NUL byte", () => "a.txt\0.png"],
    ["an empty path", () => ""],
    ["the directory itself", () => "."],
    ["a directory", () => "directory"],
    ["a FIFO", () => "fifo"],
    ["a hard link", () => "hard"],
    ["a symbolic link", () => "link"],
    ["a symbolic link in the middle", () => "linked/secret"],
    ["a symbolic link first, by way of the process's own directory", () => "proc/self/environ"],
    ["a path that is too long", () => "a/".repeat(600) + "a.txt"],
    ["a file that is not there", () => "nothing"],
    ["a file over the limit", () => "huge"],
  ])("refuses %s", async (_what, uri) => {
    writeFileSync(join(workspace, "a.txt"), "x");
    mkdirSync(join(workspace, "directory"));
    mkdirSync(join(workspace, "x"));
    execFileSync("mkfifo", [join(workspace, "fifo")]);
    writeFileSync(join(home, "linked"), SECRET);
    linkSync(join(home, "linked"), join(workspace, "hard"));
    symlinkSync(join(home, "secret"), join(workspace, "link"));
    symlinkSync(home, join(workspace, "linked"));
    symlinkSync("/proc", join(workspace, "proc"));
    writeFileSync(join(workspace, "huge"), "");
    truncateSync(join(workspace, "huge"), 256 * 1024 * 1024 + 1);
    const refused = failureOf(await keep(uri()));
    expect(refused.code).toBe("validation_failed");
    expect(keptFiles()).toEqual([]);
  });

  it.each<readonly [string, () => string]>([
    ["a path upwards", () => "sessions/s/artifacts/../../../secret"],
    ["a file address upwards", () => `file://${home}/sessions/s/artifacts/%2e%2e/%2e%2e/%2e%2e/secret`],
    ["the directory itself", () => "sessions/s/artifacts/"],
    ["a symbolic link", () => "sessions/s/artifacts/link"],
    ["a symbolic link in the middle", () => "sessions/s/artifacts/linked/secret"],
    ["a file of another session", () => "sessions/other/artifacts/secret"],
    ["a file elsewhere in the home", () => join(home, "sessions/s/final_report.json")],
  ])("refuses among the kept artifacts %s", async (_what, uri) => {
    const { artifacts, folder } = sessionPaths(home, "s");
    mkdirSync(artifacts, { recursive: true });
    mkdirSync(join(home, "sessions/other/artifacts"), { recursive: true });
    writeFileSync(join(home, "sessions/other/artifacts/secret"), SECRET);
    writeFileSync(join(folder, "final_report.json"), SECRET);
    symlinkSync(join(home, "secret"), join(artifacts, "link"));
    symlinkSync(home, join(artifacts, "linked"));
    expect(failureOf(await keep(uri())).code).toBe("validation_failed");
    expect(keptFiles()).toEqual(["link", "linked"]);
  });

  it("refuses a file of the kept artifacts if their directory is a link", async () => {
    mkdirSync(join(home, "sessions/s"), { recursive: true });
    symlinkSync(home, join(home, "sessions/s/artifacts"));
    expect(failureOf(await keep("sessions/s/artifacts/secret")).code).toBe("validation_failed");
  });

  it("refuses a wrong digest or size", async () => {
    writeFileSync(join(workspace, "a.txt"), "x");
    expect(failureOf(await keep("a.txt", { digest: digestOf("y") })).message).toContain(digestOf("x"));
    expect(failureOf(await keep("a.txt", { size_bytes: 2 })).message).toContain("1 bytes, not 2");
    expect(keptFiles()).toEqual([]);
  });

  it("refuses everything if the artifacts directory is a link", async () => {
    rmdirSync(artifacts_dir);
    symlinkSync(home, artifacts_dir);
    expect(failureOf(await keep("secret")).code).toBe("validation_failed");
  });
});

describe("a name that alternates between a file and a link", () => {
  it("never leads to the link's target in a second of tries", async () => {
    const flipper = new Worker(
      `const fs = require("node:fs"); const { parentPort, workerData: { directory, secret } } = require("node:worker_threads");
       const at = (name) => directory + "/" + name;
       for (let round = 0; ; round += 1) {
         if (round === 1) parentPort.postMessage("flipping");
         fs.writeFileSync(at("honest"), "honest"); fs.renameSync(at("honest"), at("it"));
         fs.symlinkSync(secret, at("link")); fs.renameSync(at("link"), at("it"));
         fs.mkdirSync(at("real"), { recursive: true }); fs.writeFileSync(at("real/secret"), "honest");
         try { fs.unlinkSync(at("deep")); } catch {}
         fs.renameSync(at("real"), at("deep")); fs.rmSync(at("deep"), { recursive: true }); fs.symlinkSync(directory + "/..", at("deep"));
       }`,
      { eval: true, workerData: { directory: artifacts_dir, secret: join(home, "secret") } },
    );
    writeFileSync(join(artifacts_dir, "../secret"), SECRET);
    await once(flipper, "message");
    let kept = 0;
    let tries = 0;
    const began = performance.now();
    // Few tries fit into a second of a busy machine.
    const isEnough = () => performance.now() - began > (tries > 100 && kept > 0 ? 1_000 : 30_000);
    try {
      for (; !isEnough(); tries += 1) {
        const result = await keep(tries % 2 === 0 ? "it" : "deep/secret");
        if (!result.ok) continue;
        kept += 1;
        expect(result.value.payload["digest"]).not.toBe(digestOf(SECRET));
      }
    } finally {
      await flipper.terminate();
    }
    expect(tries).toBeGreaterThan(100);
    expect(kept).toBeGreaterThan(0);
  });
});

describe("artifacts of workers", () => {
  it("are listed in the report and passed to dependent tickets", async () => {
    const rig = newRig();
    const script = `printf made >"$BOSUN_ARTIFACTS_DIR/made.txt"
say artifact_ref '{"label":"made","uri":"made.txt"}'
say artifact_ref '{"label":"stolen","uri":"../../../../bosun.db"}'
${REPORT}`;
    const tasks = [task("a", [], { instruction: { summary: "x" } }), task("b", ["a"])];
    const dependencies: unknown[] = [];
    const agentFor = crew(
      tasks,
      {
        ticket: ({ payload }) => {
          dependencies.push(payload.context.dependencies);
          return { payload_type: "instruction", payload: { summary: "Do it." } };
        },
      },
      { hand: cli() },
    );
    const session = await begin(rig, {
      agentFor,
      roles: withWorker(script),
    });
    expect(await run(session)).toEqual(DONE);
    const kept = { label: "made", digest: digestOf("made"), size_bytes: 4 };
    expect(reportOf(rig, session.session_id)["tickets"]).toMatchObject([{ artifacts: [kept] }, { artifacts: [kept] }]);
    expect(dependencies).toMatchObject([[{ task_id: "a", artifacts: [kept] }]]);
    const refused = logOf(rig, session.session_id, "error");
    expect(refused).toHaveLength(2);
    expect(refused[0]).toMatchObject({
      record: { disposition: "refused", ticket_id: "a" },
      payload: { code: "validation_failed" },
    });
    expect(rig.store.artifacts(session.session_id)).toHaveLength(2);
  });
});
