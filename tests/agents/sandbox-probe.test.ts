import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { sandboxMechanism } from "../../src/agents/isolation/probe.ts";
import { embeddedLauncher } from "../../src/agents/embedded-launcher.ts";
import type { LaunchSpec } from "../../src/agents/launcher.ts";
import { scratchDirectory } from "./scratch.ts";
import { pathOf, availableSandboxes } from "./sandboxes.ts";

const PATH = process.env["PATH"] ?? "/usr/bin:/bin";
const UTIL_LINUX = ["unshare", "setpriv", "sh"];
const SANDBOXES = await availableSandboxes();
const by = (name: string) => SANDBOXES.some(({ mechanism }) => mechanism.by === name);

let directory: string;

beforeEach(() => {
  directory = scratchDirectory();
});

/** The exit of a program that kills itself in a sandbox, or the failure. */
async function outcome(path: string, isolation: NonNullable<LaunchSpec["isolation"]>) {
  const launched = await embeddedLauncher(path).launch({
    command: ["sh", "-c", 'echo "$$"'],
    directory,
    environment: { PATH },
    isolation,
  });
  if (!launched.ok) return launched.error;
  const { stdin, stdout, stderr, exited } = launched.value;
  stdin.end();
  stderr.resume();
  const chunks: Buffer[] = [];
  for await (const chunk of stdout) chunks.push(chunk as Buffer);
  await exited;
  return Number(Buffer.concat(chunks).toString()) < 20 ? "apart" : "not apart";
}

describe("a machine", () => {
  test("without the programs has no sandbox, and names what is missing", async () => {
    const path = await pathOf(directory, ["sh", "sleep"]);
    const processes = await sandboxMechanism("processes", path);
    const message = processes.ok ? "" : processes.error.message;
    for (const name of ["unshare", "setpriv", "bwrap"]) expect(message).toContain(name);
    expect(processes.ok ? "" : processes.error.hint).toContain(
      process.platform === "linux" ? "Install bubblewrap" : "Linux",
    );
    const offline = await sandboxMechanism("offline", path);
    expect(offline.ok ? "" : offline.error.code).toBe("environment");
  });

  test("without them starts only agents whose sandbox is not required", async () => {
    const path = await pathOf(directory, ["sh", "sleep"]);
    const failed = await outcome(path, { level: "processes", required: true });
    expect(failed).toMatchObject({ code: "environment", hint: expect.any(String) as string });
    expect(await outcome(path, { level: "processes", required: false })).toBe("not apart");
    expect(await outcome("", { level: "offline", required: true })).toMatchObject({ code: "environment" });
  });

  test.runIf(by("unshare"))("with only util-linux has the level processes", async () => {
    const path = await pathOf(directory, UTIL_LINUX);
    const mechanism = await sandboxMechanism("processes", path);
    expect(mechanism.ok && mechanism.value.by).toBe("unshare");
    expect((await sandboxMechanism("files", path)).ok).toBe(false);
    expect(await outcome(path, { level: "processes", required: true })).toBe("apart");
  });

  test.runIf(by("bubblewrap"))("with only bubblewrap has all levels", async () => {
    const path = await pathOf(directory, ["bwrap", "sh", "wc"]);
    for (const level of ["processes", "files", "offline"] as const) {
      const mechanism = await sandboxMechanism(level, path);
      expect(mechanism.ok && mechanism.value.by).toBe("bubblewrap");
      const paths = { writable: [directory], hidden: [], readable: [], unwritable: [] };
      expect(await outcome(path, { level, required: true, paths })).toBe("apart");
    }
  });

  test("whose programs fail has no sandbox, and quotes their errors", async () => {
    const path = await pathOf(directory, ["sh"]);
    for (const program of ["bwrap", "unshare", "setpriv"]) {
      await writeFile(join(path, program), "#!/bin/sh\necho \"$0: No permissions\" | sed 's|.*/||' >&2\nexit 1\n");
      await chmod(join(path, program), 0o755);
    }
    const mechanism = await sandboxMechanism("processes", `${path}:/usr/bin:/bin`);
    expect(mechanism.ok ? "" : mechanism.error.message).toContain("bwrap: No permissions");
    expect(mechanism.ok ? "" : mechanism.error.message).toContain("setpriv: No permissions");
  });

  test("whose programs do not isolate has no sandbox", async () => {
    const path = await pathOf(directory, ["sh"]);
    await writeFile(join(path, "bwrap"), '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n');
    await chmod(join(path, "bwrap"), 0o755);
    const mechanism = await sandboxMechanism("files", `${path}:/usr/bin:/bin`);
    expect(mechanism.ok ? "" : mechanism.error.message).toContain("bubblewrap starts, but does not isolate");
  });
});
