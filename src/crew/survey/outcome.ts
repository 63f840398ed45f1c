import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { constants } from "node:os";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { textOf } from "../turn.ts";
import type { Ask, Finding, Item, Survey } from "./finding.ts";
import { shown } from "./finding.ts";
import type { Repository } from "./repository.ts";

const NAME = /^[a-z][a-z0-9-]{0,40}$/;
const TAIL_LINES = 12;
const TAIL_BYTES = 2000;
const DEFAULT_FILE = "package.json";

/**
 * Runs a command and keeps what came of it: whether it ended with 0 (with `--expect-empty`: printed nothing) and all it printed, in
 * `<name>.log`. That it failed is a finding, not a failure of the survey: `outcome --name tests [--in DIR] [--expect-empty] -- npm test`.
 */
export const outcome: Survey = {
  options: {
    name: { type: "string" },
    title: { type: "string" },
    file: { type: "string" },
    in: { type: "string" },
    "expect-empty": { type: "boolean" },
  },
  find: findOutcome,
  verify: verifyOutcome,
};

async function findOutcome(repository: Repository, { options, rest, directory }: Ask): Promise<Finding> {
  const name = String(options["name"] ?? "");
  if (!NAME.test(name)) throw new Error('outcome needs --name: small letters, digits and "-", for the files it writes');
  if (rest.length === 0) throw new Error("outcome needs a command after --");
  await mkdir(directory, { recursive: true });
  const place = typeof options["in"] === "string" ? options["in"] : process.cwd();
  const ran = await record(rest, place, join(directory, `${name}.log`));
  const empty = options["expect-empty"] === true;
  const fine = ran.exit_code === 0 && !(empty && ran.tail.trim() !== "");
  const command = rest.join(" ");
  const file = typeof options["file"] === "string" ? options["file"] : DEFAULT_FILE;
  const said = ran.exit_code === 0 ? "prints what should be empty" : `ended with exit code ${ran.exit_code}`;
  const item: Item = {
    severity: "high",
    file,
    text: `\`${shown(command)}\` ${said}${lastWords(ran.tail)}; all of it is in ${name}.log`,
    claim: { exit_code: ran.exit_code },
  };
  return {
    kind: name,
    title: typeof options["title"] === "string" ? options["title"] : command,
    revision: repository.head ?? null,
    looked_at: `\`${shown(command)}\` ended with exit code ${ran.exit_code}${empty ? ` and printed ${ran.bytes} bytes` : ""}.`,
    notes: [],
    items: fine ? [] : [item],
    details: { command: rest, exit_code: ran.exit_code, bytes: ran.bytes, digest: ran.digest, expect_empty: empty },
  };
}

interface Ran {
  readonly exit_code: number;
  readonly bytes: number;
  readonly digest: string;
  readonly tail: string;
}

async function record(argv: readonly string[], place: string, log: string): Promise<Ran> {
  const file = createWriteStream(log);
  const hash = createHash("sha256");
  let bytes = 0;
  let tail = Buffer.alloc(0);
  const child = spawn(argv[0] ?? "", argv.slice(1), { cwd: place, stdio: ["ignore", "pipe", "pipe"] });
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      file.write(chunk);
      hash.update(chunk);
      bytes += chunk.length;
      tail = Buffer.concat([tail, chunk]).subarray(-TAIL_BYTES);
      process.stdout.write(chunk);
    });
  }
  const exit_code = await new Promise<number>((resolve, reject) => {
    child.once("error", (error) =>
      reject(new Error(`${argv[0] ?? ""} cannot be started: ${error.message}`, { cause: error })),
    );
    child.once("close", (code, signal) => resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
  }).finally(() => file.end());
  await finished(file);
  return { exit_code, bytes, digest: `sha256:${hash.digest("hex")}`, tail: tail.toString("utf8") };
}

function lastWords(tail: string): string {
  const lines = tail
    .split("\n")
    .map((text) => text.trim())
    .filter((text) => text !== "");
  return lines.length === 0 ? "" : `: ${shown(lines.slice(-TAIL_LINES).join(" / "))}`;
}

/** The other way: the kept log must be the one that was written, and the verdict must follow from what was recorded. */
async function verifyOutcome(finding: Finding, _repository: Repository, directory: string): Promise<string[]> {
  const { exit_code: exitCode, bytes, digest, expect_empty: expectEmpty } = finding.details;
  const log = await readFile(join(directory, `${finding.kind}.log`));
  const real = `sha256:${createHash("sha256").update(log).digest("hex")}`;
  const fine = exitCode === 0 && !(expectEmpty === true && log.toString("utf8").trim() !== "");
  return [
    ...(real === textOf(digest) && log.length === bytes ? [] : [`${finding.kind}.log is not what the command printed`]),
    ...(fine === (finding.items.length === 0) ? [] : ["the verdict does not follow from the exit code and the output"]),
  ];
}
