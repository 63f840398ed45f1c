import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sandboxMechanism } from "../../src/agents/isolation/machine.ts";
import { embeddedLauncher } from "../../src/agents/embedded-launcher.ts";
import type { LaunchSpec } from "../../src/agents/launcher.ts";
import { Cleanup, scratchDirectory } from "./cleanup.ts";
import { pathOf, waysOfThisMachine } from "./mechanisms.ts";

const PATH = process.env["PATH"] ?? "/usr/bin:/bin";
const UTIL_LINUX = ["unshare", "nsenter", "setpriv", "sh", "sleep"];
const WAYS = await waysOfThisMachine();
const by = (name: string) => WAYS.some(({ way }) => way.by === name);

let cleanup: Cleanup;
let directory: string;

beforeEach(async () => {
  cleanup = new Cleanup();
  directory = await scratchDirectory(cleanup);
});
afterEach(() => cleanup.run());

/** How a program that kills itself ends when its sandbox is asked for, or the failure. */
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
  test("without the programs for it keeps nobody apart, and says what is missing and what to do", async () => {
    const path = await pathOf(directory, ["sh", "sleep"]);
    const processes = await sandboxMechanism("processes", path);
    expect(processes.ok ? "" : processes.error.message).toBe(
      'This machine cannot keep an agent to the sandbox "processes": what is needed of util-linux is not on the PATH (unshare, nsenter, setpriv), and bubblewrap (bwrap) is not on the PATH.',
    );
    expect(processes.ok ? "" : processes.error.hint).toContain(
      process.platform === "linux" ? "Install bubblewrap" : "Only Linux",
    );
    const offline = await sandboxMechanism("offline", path);
    expect(offline.ok ? "" : offline.error.code).toBe("environment");
  });

  test("without them starts no agent whose sandbox is required, and any other without one", async () => {
    const path = await pathOf(directory, ["sh", "sleep"]);
    const failed = await outcome(path, { level: "processes", required: true });
    expect(failed).toMatchObject({ code: "environment", hint: expect.any(String) as string });
    expect(await outcome(path, { level: "processes", required: false })).toBe("not apart");
    expect(await outcome("", { level: "offline", required: true })).toMatchObject({ code: "environment" });
  });

  test.runIf(by("unshare"))("with util-linux alone keeps processes apart, but no files", async () => {
    const path = await pathOf(directory, UTIL_LINUX);
    const way = await sandboxMechanism("processes", path);
    expect(way.ok && way.value.by).toBe("unshare");
    expect((await sandboxMechanism("files", path)).ok).toBe(false);
    expect(await outcome(path, { level: "processes", required: true })).toBe("apart");
  });

  test.runIf(by("bubblewrap"))("with bubblewrap alone keeps processes, files and the network apart", async () => {
    const path = await pathOf(directory, ["bwrap", "sh", "wc"]);
    for (const level of ["processes", "files", "offline"] as const) {
      const way = await sandboxMechanism(level, path);
      expect(way.ok && way.value.by).toBe("bubblewrap");
      const places = { writable: [directory], hidden: [], shown: [] };
      expect(await outcome(path, { level, required: true, places })).toBe("apart");
    }
  });

  test("whose programs are there and are not let is found out by trying, and told in their words", async () => {
    const path = await pathOf(directory, ["sh"]);
    for (const program of ["bwrap", "unshare", "nsenter", "setpriv", "sleep"]) {
      await writeFile(join(path, program), "#!/bin/sh\necho \"$0: No permissions\" | sed 's|.*/||' >&2\nexit 1\n");
      await chmod(join(path, program), 0o755);
    }
    const way = await sandboxMechanism("processes", `${path}:/usr/bin:/bin`);
    expect(way.ok ? "" : way.error.message).toContain("bwrap: No permissions");
    expect(way.ok ? "" : way.error.message).toContain("setpriv: No permissions");
  });

  test("whose programs start everything but keep nothing apart is not believed", async () => {
    const path = await pathOf(directory, ["sh"]);
    await writeFile(join(path, "bwrap"), '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n');
    await chmod(join(path, "bwrap"), 0o755);
    const way = await sandboxMechanism("files", `${path}:/usr/bin:/bin`);
    expect(way.ok ? "" : way.error.message).toContain("bubblewrap starts, but keeps nothing apart");
  });
});
