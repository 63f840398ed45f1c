import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { built } from "./built.ts";
import { ROOT } from "./sources.ts";

/** A folder outside the repository with the built package as it is installed, and copies of these files and folders. */
export function folderWithPackage(...copied: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), "bosun-host-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const bosun = join(folder, "node_modules", "bosun");
  mkdirSync(bosun, { recursive: true });
  symlinkSync(built(), join(bosun, "dist"));
  copyFileSync(join(ROOT, "package.json"), join(bosun, "package.json"));
  for (const part of copied) cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  return folder;
}
