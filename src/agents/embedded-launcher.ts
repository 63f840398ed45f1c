import { wayHere } from "./isolation/machine.ts";
import { start } from "./launch.ts";
import type { Launcher } from "./launcher.ts";
import { endLeftovers } from "./processes.ts";

/**
 * The launcher inside the scheduler's own process. `path` is where the programs are looked for that keep others apart; without it, only
 * what needs none can be started.
 */
export function embeddedLauncher(path?: string): Launcher {
  return {
    launch: async (spec) => {
      if (spec.isolation === undefined) return start(spec);
      const way = await wayHere(spec.isolation.level, path);
      if (way.ok) return start(spec, way.value);
      return spec.isolation.required ? way : start(spec);
    },
    endLeftovers,
  };
}
