import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Finding, keep, readFinding, section, type Survey } from "./survey/finding.ts";
import { openRepository } from "./survey/repository.ts";
import { DISPROVED } from "./survey/request.ts";

// By default this signal opens Node's inspector.
process.on("SIGUSR1", () => {});

const SHOWN_ITEMS = 15;

/** The program starts often, so it loads only the kind that it runs. */
const SURVEYS: Readonly<Record<string, () => Promise<Survey>>> = {
  "hot-spots": async () => (await import("./survey/hot-spots.ts")).hotSpots,
  untested: async () => (await import("./survey/untested.ts")).untested,
  licences: async () => (await import("./survey/licences.ts")).licences,
  lockfile: async () => (await import("./survey/lockfile.ts")).lockfile,
  links: async () => (await import("./survey/links.ts")).links,
  digest: async () => (await import("./survey/digest.ts")).digest,
};

const USAGE = `Usage: survey <kind> [options]      survey the git work tree in the current directory and write $BOSUN_ARTIFACTS_DIR/<kind>.json
       survey verify <kind>         check that file's claims in another way; exit code 1 if one is false
Kinds: ${Object.keys(SURVEYS).join(", ")}`;

async function main(argv: readonly string[]): Promise<number> {
  const verifying = argv[0] === "verify";
  const [kind = "", ...rest] = verifying ? argv.slice(1) : argv;
  const load = Object.hasOwn(SURVEYS, kind) ? SURVEYS[kind] : undefined;
  if (load === undefined) return complain(kind === "" ? USAGE : `There is no survey "${kind}".\n${USAGE}`, 2);
  const directory = process.env["BOSUN_ARTIFACTS_DIR"] ?? "";
  if (directory === "") return complain("BOSUN_ARTIFACTS_DIR is not set; set it to the directory for <kind>.json.", 2);
  const survey = await load();
  const repository = await openRepository(process.cwd());
  if (!repository.ok) return complain(repository.error, 1);
  if (verifying) {
    const finding = await readFinding(join(directory, `${kind}.json`));
    const wrong = await survey.verify(finding, repository.value, directory);
    const lines =
      wrong.length === 0 ? [`all ${finding.items.length} claims hold`] : wrong.map((text) => `${DISPROVED} ${text}`);
    process.stdout.write(`${lines.join("\n")}\n`);
    return wrong.length === 0 ? 0 : 1;
  }
  const { values } = parseArgs({ args: rest, options: survey.options });
  const found = await survey.find(repository.value, values, directory);
  const finding: Finding = { kind, revision: repository.value.head ?? null, ...found };
  await keep(finding, directory);
  process.stdout.write(section(finding, SHOWN_ITEMS));
  return 0;
}

function complain(text: string, exit_code: number): number {
  process.stderr.write(`${text}\n`);
  return exit_code;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.exitCode = complain(`survey: ${(error as Error).message}`, 1);
}
