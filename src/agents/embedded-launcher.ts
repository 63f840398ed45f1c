import { sandboxMechanism } from "./isolation/probe.ts";
import { start } from "./launch.ts";
import type { Launcher } from "./launcher.ts";
import { endLeftovers } from "./processes.ts";

/** A launcher in the scheduler's own process. `path` is the `PATH` in which it looks for the sandbox programs. */
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
