import type { Command } from "commander";
import { costsMoney, isEmbedded } from "../config/role-defaults.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import type { Role } from "../protocol/roles.ts";
import { EXIT_DONE, EXIT_ENVIRONMENT } from "../runtime/exit.ts";
import { hanging, safeJson, safeLine, wrapped, wrappedLines } from "../ui/display.ts";
import type { Output, Style } from "../ui/terminal.ts";
import { counted, localize, tellNext } from "../ui/words.ts";
import type { CommandContext, Run } from "./context/command.ts";
import { crewFindings } from "./examination/crew.ts";
import type { Finding } from "./examination/finding.ts";
import { isolationFindings, machineFindings } from "./examination/machine.ts";
import { roleIsolation, sharedRights } from "./examination/role-isolation.ts";
import { type Trial, trialFinding, tryRoles } from "./examination/trial.ts";
import { confirmHere, type Declined } from "./interaction/confirm.ts";
import { crewHere, namesNobody, nobodyInstalled } from "./options/crew-choice.ts";
import { readyToBegin } from "./options/ready.ts";
import {
  addRegistryOptions,
  type Found,
  findConfiguration,
  loadRegistry,
  type RegistryOptions,
} from "./options/registry.ts";

interface DoctorOptions extends RegistryOptions {
  readonly json?: boolean;
  readonly try?: boolean;
  readonly yes?: boolean;
}

/** `bosun doctor`: checks whether everything that a run with these flags needs is available. */
export function register(command: Command, run: Run): void {
  addRegistryOptions(command);
  command
    .option("--try", "also give each role one turn that asks for no change, for about ten thousand tokens each")
    .option("-y, --yes", "with --try: do not ask before")
    .option("--json", "one JSON value on stdout")
    .action((options: DoctorOptions) => run((context) => doctor(context, options)));
}

async function doctor(context: CommandContext, given: DoctorOptions): Promise<Result<number, Failure>> {
  const { out, hasPerson } = context.terminal;
  if (given.try === true && given.yes !== true && !hasPerson) {
    return err(
      failure("person_needed", "Nobody is here to say whether these turns may cost something.", {
        hint: "bosun doctor --try --yes",
      }),
    );
  }
  const found = findConfiguration(context, given, context.directory);
  const options = found.ok ? await withCrew(context, given, found.value) : ok(given);
  if (!options.ok) return options;
  const roles = found.ok ? await loadRegistry(options.value, found.value) : found;
  const crew = roles.ok ? roles.value : [];
  const { PATH } = context.environment;
  const rights = await sharedRights(crew, PATH);
  const looked: Finding[] = [
    ...(await machineFindings(context)),
    ...(await crewFindings(context, options.value, found, roles)),
    ...(await isolationFindings(context)),
    ...(rights === undefined ? await roleIsolation(crew, PATH) : []),
    WORKSPACE,
    TIMERS,
  ];
  const isJson = given.json === true;
  if (!isJson) for (const finding of looked) show(out, finding);
  const findings = [...looked];
  let trials: readonly Trial[] | undefined;
  if (given.try === true && found.ok && roles.ok && !looked.some(isMissing)) {
    const tried = await tryCrew(context, options.value, found.value, roles.value);
    if (!tried.ok) return tried;
    if (typeof tried.value === "number") return ok(tried.value);
    trials = tried.value;
    findings.push(...trials.map(trialFinding));
  }
  const missing = findings.filter(isMissing);
  if (isJson) out.line(safeJson(reportOf(out, findings, trials)));
  else conclude(out, missing.length, rights, options.value.crew);
  return ok(missing.length === 0 ? EXIT_DONE : EXIT_ENVIRONMENT);
}

/** Adds the crew that a run would take at this terminal if nothing names one; `--try` needs one. */
async function withCrew(
  context: CommandContext,
  options: DoctorOptions,
  found: Found,
): Promise<Result<DoctorOptions, Failure>> {
  const isTrial = options.try === true;
  if (!namesNobody(options, found) || !(isTrial || context.terminal.hasPerson)) return ok(options);
  const crew = await crewHere(context, found);
  if (!crew.ok) return crew;
  if (crew.value !== undefined) return ok({ ...options, crew: crew.value });
  return isTrial ? err(nobodyInstalled()) : ok(options);
}

/** Gives a turn to the roles whose programs are not Bosun's own. Returns an exit code if the person declines. */
async function tryCrew(
  context: CommandContext,
  options: DoctorOptions,
  found: Found,
  given: readonly Role[],
): Promise<Result<readonly Trial[] | Declined, Failure>> {
  const ready = await readyToBegin(context, options, found, given);
  if (!ready.ok) return ready;
  const roles = ready.value.roles.filter((role) => !isEmbedded(role));
  if (roles.length === 0) {
    return err(failure("usage", "There is no agent program to try.", { hint: "bosun doctor --try --crew NAME" }));
  }
  const { out, err: messages } = context.terminal;
  const names = roles.map(({ role_id }) => safeLine(role_id)).join(", ");
  const costs = roles.some(costsMoney) ? " A turn costs about ten thousand tokens." : "";
  for (const line of hanging(
    `Each of these roles gets one turn that asks for no change: ${names}.${costs}`,
    messages.width,
    0,
  ))
    messages.line(line);
  if (options.yes !== true) {
    const declined = await confirmHere(context, "Try them?", "yes");
    if (declined !== undefined) return ok(declined);
  }
  const heard = (trial: Trial) => options.json !== true && show(out, trialFinding(trial));
  return tryRoles(context, roles, ready.value.settings.values, heard);
}

function isMissing({ state }: Finding): boolean {
  return state === "missing";
}

function reportOf(out: Output, findings: readonly Finding[], trials: readonly Trial[] | undefined): object {
  return {
    ok: !findings.some(isMissing),
    findings: findings.map(({ hint, ...finding }) =>
      hint === undefined ? finding : { ...finding, hint: localize(out, hint) },
    ),
    ...(trials === undefined ? {} : { trials }),
  };
}

const WORKSPACE: Finding = {
  name: "workspace",
  state: "poor",
  what: "agents work in the workspace itself",
  hint: "To protect your files, use a clone as --cwd. Run agents that you do not trust as another user or in a container.",
};

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

/** Number of columns before the text. */
const INDENT = 25;

function show(out: Output, { name, state, what, hint }: Finding): void {
  const [mark, style] = MARK[state];
  // An error in a file has several lines: the place, and a mark under it.
  const [first = "", ...more] = wrappedLines(what.trim(), out.width, INDENT);
  out.line(`${out.style(style, mark)}  ${safeLine(name).padEnd(20)} ${first.slice(INDENT)}`);
  for (const line of more) out.line(line);
  if (hint === undefined || state === "ok") return;
  for (const line of wrapped(localize(out, hint), out.width, INDENT)) {
    out.line(`${" ".repeat(INDENT)}${out.style("dim", line.slice(INDENT))}`);
  }
}

function conclude(out: Output, missing: number, rights: string | undefined, crew: string | undefined): void {
  out.line();
  out.line(
    missing === 0
      ? "Everything that is needed is available."
      : out.style("red", `${counted(missing, "problem")} to fix first.`),
  );
  if (rights !== undefined) for (const line of wrapped(rights, out.width, 0)) out.line(line);
  tellNext(out, ...(missing === 0 ? runsOf(crew) : ["bosun doctor --crew NAME"]));
}

/** The bundled crew needs a plan. */
function runsOf(crew: string | undefined): string[] {
  if (crew !== undefined && crew !== "embedded") return [`bosun run "…" --crew ${safeLine(crew)}`];
  return ["bosun run --plan FILE", 'bosun run "…" --manager CMD --worker CMD'];
}
