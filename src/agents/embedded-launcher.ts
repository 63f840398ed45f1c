import { sandboxMechanism } from "./isolation/machine.ts";
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
      const mechanism = await sandboxMechanism(spec.isolation.level, path);
      if (mechanism.ok) return start(spec, mechanism.value);
      return spec.isolation.required ? mechanism : start(spec);
    },
    endLeftovers,
  };
}
