import { setTimeout as delay } from "node:timers/promises";
import type { Launched, Launcher } from "./launcher.ts";

/** First and maximum pause between two polls of a process group that outlives its leader, in ms. */
const LOOK_AFTER_MS = 20;
const LONGEST_LOOK_MS = 1_000;

/** A launcher that can kill every process group that it started and that still exists. */
export function watchedLauncher(inner: Launcher): { launcher: Launcher; killAll: () => void } {
  const running = new Set<Launched>();
  return {
    launcher: {
      ...inner,
      async launch(spec) {
        const launched = await inner.launch(spec);
        if (!launched.ok) return launched;
        const { value } = launched;
        running.add(value);
        void value.exited.then(async () => {
          await groupGone(value);
          running.delete(value);
        });
        return launched;
      },
    },
    // The number of a vanished group may belong to another program by now.
    killAll: () => {
      for (const launched of running) if (launched.groupLives()) launched.signalGroup("SIGKILL");
    },
  };
}

/**
 * Polls until the group is gone; the turn's supervisor ends it. The first poll comes in a later turn of the event loop, because the process table is
 * read once per turn and may be older than the leader's last child.
 */
async function groupGone(launched: Launched): Promise<void> {
  let pause = LOOK_AFTER_MS;
  do {
    await delay(pause, undefined, { ref: false });
    pause = Math.min(pause * 2, LONGEST_LOOK_MS);
  } while (launched.groupLives());
}
