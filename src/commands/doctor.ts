import type { Command } from "commander";
import { ok, type Result } from "../lib/result.ts";
import type { Failure } from "../protocol/failure.ts";
import type { Sandbox } from "../protocol/roles.ts";
import { EXIT_DONE, EXIT_ENVIRONMENT } from "../runtime/exit.ts";
import { safeJson, safeLine, safeText, wrapped } from "../ui/display.ts";
import type { Output, Style } from "../ui/terminal.ts";
import { counted, localize, tellNext } from "../ui/words.ts";
import type { CommandContext, Run } from "./context/command.ts";
import { crewFindings } from "./examination/crew.ts";
import type { Finding } from "./examination/finding.ts";
import { isolationFindings, machineFindings } from "./examination/machine.ts";
import { addRegistryOptions, findConfiguration, loadRegistry, type RegistryOptions } from "./options/registry.ts";
import { weakestSandbox } from "./options/sandboxes.ts";

interface DoctorOptions extends RegistryOptions {
  readonly json?: boolean;
}

/** What agents may do, by the weakest sandbox of their roles. */
const RIGHTS: Readonly<Record<Sandbox, string>> = {
  none: "Agents run with all your rights: files, network, processes. Nothing isolates them.",
  processes: "Agents run with your rights on files and the network. Only their processes are contained.",
  files:
    "Agents write only to the workspace and their own directories. They read and use the network with your rights.",
  offline:
    "Agents write only to the workspace and their own directories, and have no network. They read with your rights.",
};

/** `bosun doctor`: whether everything that a run with these flags needs is available. */
export function register(command: Command, run: Run): void {
  addRegistryOptions(command);
  command
    .option("--json", "one JSON value on stdout")
    .action((options: DoctorOptions) => run((context) => doctor(context, options)));
}

async function doctor(context: CommandContext, options: DoctorOptions): Promise<Result<number, Failure>> {
  const { out } = context.terminal;
  const found = findConfiguration(context, options, context.directory);
  const roles = found.ok ? await loadRegistry(options, found.value) : found;
  const rights = RIGHTS[await weakestSandbox(roles.ok ? roles.value : [], context.environment.PATH)];
  const looked: Finding[] = [
    ...(await machineFindings(context)),
    ...(await crewFindings(context, options, found, roles)),
    ...(await isolationFindings(context)),
    workspace(rights),
    TIMERS,
  ];
  const findings = looked.map(({ hint, ...finding }) => ({
    ...finding,
    ...(hint === undefined ? {} : { hint: localize(out, hint) }),
  }));
  const missing = findings.filter((finding) => finding.state === "missing");
  if (options.json === true) out.line(safeJson({ ok: missing.length === 0, findings }));
  else show(out, findings, missing.length, rights);
  return ok(missing.length === 0 ? EXIT_DONE : EXIT_ENVIRONMENT);
}

function workspace(rights: string): Finding {
  return {
    name: "workspace",
    state: "poor",
    what: `agents work in the workspace itself. ${rights}`,
    hint: "To protect your files, use a clone as --cwd. Run agents that you do not trust as another user or in a container.",
  };
}

const TIMERS: Finding = {
  name: "timers",
  state: "ok",
  what: "stored in the database; those that expire while nothing runs are handled on resume",
};

const MARK: Readonly<Record<Finding["state"], readonly [mark: string, style: Style]>> = {
  ok: ["ok", "green"],
  poor: ["--", "yellow"],
  missing: ["!!", "red"],
  off: ["  ", "dim"],
};

/** The columns before the text. */
const INDENT = " ".repeat(25);

/** The bundled crew needs a plan; other crews are named. */
const RUNS = ["bosun run --plan FILE", 'bosun run "…" --manager CMD --worker CMD'];

function show(out: Output, findings: readonly Finding[], missing: number, rights: string): void {
  for (const { name, state, what, hint } of findings) {
    const [mark, style] = MARK[state];
    // An error in a file has more lines: the place, and a mark under it.
    const [first = "", ...more] = safeText(what).trim().split("\n");
    out.line(`${out.style(style, mark)}  ${safeLine(name).padEnd(20)} ${first}`);
    for (const line of more) out.line(`${INDENT}${line}`);
    if (hint !== undefined && state !== "ok") out.line(`${INDENT}${out.style("dim", safeLine(hint))}`);
  }
  out.line();
  out.line(
    missing === 0
      ? "Everything that is needed is available."
      : out.style("red", `${counted(missing, "problem")} to fix first.`),
  );
  for (const line of wrapped(rights, out.width, 0)) out.line(line);
  const next = missing === 0 ? RUNS : ["bosun doctor --crew NAME"];
  tellNext(out, ...next);
}
