import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { AGENT_PROGRAMS, type AgentProgramName } from "../../src/config/agent-programs.ts";

/**
 * What a package must run once it is there. npm runs such scripts of itself only in its older versions, so it never does it here. The other
 * programs need none of theirs.
 */
const POSTINSTALL: Partial<Record<AgentProgramName, string>> = {
  claude: "install.cjs",
  opencode: "postinstall.mjs",
};

/** All five together. */
const SIZE = "about 1.6 GB";

/** Where the agent programs are: a folder of npm's, outside the dependencies of this package. */
export function agentsCache(environment: NodeJS.ProcessEnv = process.env): string {
  const { BOSUN_AGENTS_CACHE, XDG_CACHE_HOME = join(homedir(), ".cache") } = environment;
  return BOSUN_AGENTS_CACHE ?? join(XDG_CACHE_HOME, "bosun", "agents");
}

/** Installs the agent programs that are missing, or of another version than the tested one. The `agents` project of vitest begins with it. */
export function setup(): void {
  installAgents(Object.keys(AGENT_PROGRAMS) as AgentProgramName[], agentsCache());
}

/** Installs these programs in a folder, in the versions that Bosun was tested with. */
export function installAgents(names: readonly AgentProgramName[], cache: string): void {
  const missing = names.filter((name) => !isInstalled(name, cache));
  if (missing.length === 0) return;
  const packages = missing.map((name) => `${AGENT_PROGRAMS[name].package}@${AGENT_PROGRAMS[name].tested}`);
  console.log(`Installing ${packages.join(", ")} from the npm registry in ${cache} (${SIZE} with all programs).`);
  console.log(
    "BOSUN_AGENTS_CACHE names another folder. Nothing else is changed, and the folder may be removed at any time.",
  );
  mkdirSync(cache, { recursive: true });
  // Without a package.json npm would install in the nearest folder above that has one.
  const manifest = join(cache, "package.json");
  if (!existsSync(manifest)) writeFileSync(manifest, '{ "name": "agents", "private": true }\n');
  const npm = ["install", "--ignore-scripts", "--save-exact", "--no-audit", "--no-fund", ...packages];
  execFileSync("npm", npm, { cwd: cache, stdio: ["ignore", "inherit", "inherit"] });
  for (const name of missing) {
    const script = POSTINSTALL[name];
    if (script !== undefined)
      execFileSync(process.execPath, [script], { cwd: folderOf(name, cache), stdio: "inherit" });
    if (!isInstalled(name, cache)) {
      throw new Error(`${name} does not run after its installation. Remove ${cache} and try again.`);
    }
  }
}

/** Whether the tested version is there and complete: a program whose script did not run cannot tell its version. */
function isInstalled(name: AgentProgramName, cache: string): boolean {
  const { tested } = AGENT_PROGRAMS[name];
  try {
    const { version } = JSON.parse(readFileSync(join(folderOf(name, cache), "package.json"), "utf8")) as {
      version: string;
    };
    if (version !== tested) return false;
    if (POSTINSTALL[name] === undefined) return true;
    return execFileSync(join(cache, "node_modules", ".bin", name), ["--version"], { encoding: "utf8" }).includes(
      tested,
    );
  } catch {
    return false;
  }
}

function folderOf(name: AgentProgramName, cache: string): string {
  return join(cache, "node_modules", AGENT_PROGRAMS[name].package);
}
