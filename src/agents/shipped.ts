import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

/** The path of a file or folder of the shipped `config/`. Sources and bundle are at different depths. */
export function shippedConfig(name: string): string {
  for (let above = import.meta.dirname; ; above = dirname(above)) {
    const path = join(above, "config", name);
    if (existsSync(path)) return path;
    if (above === dirname(above)) throw new Error(`No config/${name} above ${import.meta.dirname}: reinstall Bosun.`);
  }
}
