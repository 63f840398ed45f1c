import "./no-inspector.ts";
import { parseArgs } from "node:util";
import type { Finding, Survey } from "./survey/finding.ts";
import { keep, readFinding, SEVERITIES, section } from "./survey/finding.ts";
import { openRepository } from "./survey/repository.ts";

const SHOWN_ITEMS = 15;

/** Each kind is loaded only when it is asked for: this program is started often. */
const SURVEYS: Readonly<Record<string, () => Promise<Survey>>> = {
  "hot-spots": async () => (await import("./survey/hot-spots.ts")).hotSpots,
  untested: async () => (await import("./survey/untested.ts")).untested,
  licences: async () => (await import("./survey/licences.ts")).licences,
  lockfile: async () => (await import("./survey/lockfile.ts")).lockfile,
  links: async () => (await import("./survey/links.ts")).links,
  digest: async () => (await import("./survey/digest.ts")).digest,
  outcome: async () => (await import("./survey/outcome.ts")).outcome,
  changelog: async () => (await import("./survey/changelog.ts")).changelog,
  markers: async () => (await import("./survey/markers.ts")).markers,
  contents: async () => (await import("./survey/contents.ts")).contents,
};

const USAGE = `Usage: survey <kind> [options]      look at the git work tree in the current directory and write $BOSUN_ARTIFACTS_DIR/<kind>.json
       survey verify <kind>      check the claims of that file in another way; exit 1 names the false ones
Kinds: ${Object.keys(SURVEYS).join(", ")}`;

async function main(argv: readonly string[]): Promise<number> {
  const [first, ...rest] = argv;
  const verifying = first === "verify";
  const kind = verifying ? rest[0] : first;
  const load = kind !== undefined && Object.hasOwn(SURVEYS, kind) ? SURVEYS[kind] : undefined;
  if (kind === undefined || load === undefined) {
    process.stderr.write(
      `${kind === undefined ? "Say what to look for." : `There is no survey "${kind}".`}\n${USAGE}\n`,
    );
    return 2;
  }
  const directory = process.env["BOSUN_ARTIFACTS_DIR"];
  if (directory === undefined || directory === "") {
    process.stderr.write("BOSUN_ARTIFACTS_DIR is not set; set it to the directory for the finding's file.\n");
    return 2;
  }
  const survey = await load();
  const repository = await openRepository(process.cwd());
  if (!repository.ok) {
    process.stderr.write(`${repository.error}\n`);
    return 1;
  }
  if (verifying) {
    // A command's outcome is kept under a name of its own.
    const finding = await readFinding(`${directory}/${rest[1] ?? kind}.json`);
    const wrong = await survey.verify(finding, repository.value, directory);
    const lines =
      wrong.length === 0
        ? [`all ${finding.items.length} claims hold.`]
        : wrong.map((sentence) => `false claim: ${sentence}`);
    process.stdout.write(`${lines.join("\n")}\n`);
    return wrong.length === 0 ? 0 : 1;
  }
  const options = { ...survey.options, "fail-on": { type: "string" } } as const;
  const { values, positionals } = parseArgs({ args: rest, options, allowPositionals: true });
  const finding = await survey.find(repository.value, { options: values, rest: positionals, directory });
  await keep(finding, directory);
  process.stdout.write(section(finding, SHOWN_ITEMS));
  return fails(finding, values["fail-on"]) ? 1 : 0;
}

/** With `--fail-on high` (or medium, low) a finding that bad makes the exit code 1. */
function fails(finding: Finding, limit: unknown): boolean {
  if (limit === undefined) return false;
  if (!SEVERITIES.some((severity) => severity === limit))
    throw new Error(`--fail-on wants one of ${SEVERITIES.join(", ")}`);
  const bad = SEVERITIES.slice(0, SEVERITIES.findIndex((severity) => severity === limit) + 1);
  return finding.items.some(({ severity }) => bad.includes(severity));
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`survey: ${(error as Error).message}\n`);
  process.exitCode = 1;
}
