import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Finding, line, readFinding, type Survey, worstFirst } from "./survey/finding.ts";
import { openRepository } from "./survey/repository.ts";
import { DISPROVED } from "./survey/request.ts";

// By default this signal opens Node's inspector.
process.on("SIGUSR1", () => {});

const SHOWN_ITEMS = 15;

/** The program starts often, so it loads only the kind that it runs. */
const SURVEYS: Readonly<Record<string, () => Promise<Survey>>> = {
  "hot-spots": () => import("./survey/hot-spots.ts"),
  untested: () => import("./survey/untested.ts"),
  licences: () => import("./survey/licences.ts"),
  lockfile: () => import("./survey/lockfile.ts"),
  links: () => import("./survey/links.ts"),
  digest: () => import("./survey/digest.ts"),
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
  const file = join(directory, `${kind}.json`);
  const survey = await load();
  const repository = await openRepository(process.cwd());
  if (verifying) {
    const finding = await readFinding(file);
    const wrong = await survey.verify(finding, repository, directory);
    const lines = wrong.map((text) => `${DISPROVED} ${text}\n`);
    process.stdout.write(lines.join("") || `all ${finding.items.length} claims hold\n`);
    return wrong.length === 0 ? 0 : 1;
  }
  const { values } = parseArgs({ args: rest, options: survey.options ?? {} });
  const { title, looked_at, notes = [], items, details = {} } = await survey.find(repository, directory, values);
  const finding: Finding = { kind, revision: repository.head ?? null, title, looked_at, notes, items, details };
  await mkdir(directory, { recursive: true });
  await writeFile(file, `${JSON.stringify(finding, null, 2)}\n`);
  process.stdout.write(summary(finding));
  return 0;
}

/** A finding in words, with its worst items. */
function summary({ kind, title, looked_at, notes, items }: Finding): string {
  const worst = worstFirst(items).slice(0, SHOWN_ITEMS);
  const left = items.length - worst.length;
  const rest = left > 0 ? [`- … and ${left} more in ${kind}.json`] : [];
  const none = items.length === 0 ? ["Nothing found."] : [];
  const shown = worst.map((item) => `- ${line(item)}`);
  return [`${title}: ${looked_at}`, ...none, ...notes, ...shown, ...rest, ""].join("\n");
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
