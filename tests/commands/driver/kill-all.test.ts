import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Launched } from "../../../src/agents/launcher.ts";
import { type RuntimeEnvironment, runtimeEnvironment } from "../../../src/commands/driver/runtime-environment.ts";
import { openStore } from "../../../src/store/sqlite-store.ts";

const left: (() => void)[] = [];

afterEach(() => {
  for (const clear of left.splice(0).toReversed()) clear();
});

function place(): RuntimeEnvironment {
  const home = mkdtempSync(join(tmpdir(), "bosun-kill-"));
  left.push(() => rmSync(home, { recursive: true, force: true }));
  const store = openStore(home);
  if (!store.ok) throw new Error(store.error.message);
  left.push(() => store.value.close());
  const terminal = undefined as never;
  const context = { terminal, home, directory: home, environment: {}, leave: () => {} };
  return runtimeEnvironment({ home, store: store.value }, context);
}

/** A program that has ended, and left one behind in its group. */
async function leader({ launcher, home }: RuntimeEnvironment): Promise<Launched> {
  const launched = await launcher.launch({
    command: ["sh", "-c", "sleep 1000 >/dev/null 2>&1 & exit 0"],
    directory: home,
    environment: { PATH: process.env["PATH"] ?? "" },
  });
  if (!launched.ok) throw new Error(launched.error.message);
  const { value } = launched;
  left.push(() => value.signalGroup("SIGKILL"));
  value.stdout.resume();
  value.stderr.resume();
  await Promise.all([value.exited, once(value.stdout, "close")]);
  return value;
}

describe("killAll", () => {
  it("ends processes that outlive the leader of their group", async () => {
    const here = place();
    const launched = await leader(here);
    expect(launched.groupLives()).toBe(true);
    here.killAll();
    await expect.poll(() => launched.groupLives()).toBe(false);
  });

  it("does not signal a group that is gone", async () => {
    const here = place();
    const launched = await leader(here);
    launched.signalGroup("SIGKILL");
    await expect.poll(() => launched.groupLives()).toBe(false);
    const signalled = vi.spyOn(launched, "signalGroup");
    here.killAll();
    expect(signalled).not.toHaveBeenCalled();
  });

  it("does not signal a new group with the number of one that is gone", async () => {
    const here = place();
    const launched = await leader(here);
    const really = launched.groupLives.bind(launched);
    // Once the group was seen to be gone, its number belongs to a new group.
    let wasGone = false;
    launched.groupLives = () => {
      if (wasGone) return true;
      wasGone = !really();
      return !wasGone;
    };
    launched.signalGroup("SIGKILL");
    await expect.poll(() => wasGone).toBe(true);
    const signalled = vi.spyOn(launched, "signalGroup");
    here.killAll();
    expect(signalled).not.toHaveBeenCalled();
    launched.groupLives = really;
  });
});
