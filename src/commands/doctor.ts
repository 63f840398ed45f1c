import type { Command } from "commander";
import { type CompleteRole, costsMoney, isEmbedded } from "../config/role-defaults.ts";
import type { Settings } from "../config/settings.ts";
import { err, ok } from "../lib/result.ts";
import { fails, type Failure, type Fallible } from "../protocol/failure.ts";
import type { ResolvedConfiguration } from "../protocol/payload.ts";
import { EXIT_DONE, EXIT_ENVIRONMENT } from "../runtime/exit.ts";
import { safeJson, safeLine, wrapped, wrappedLines } from "../ui/display.ts";
import type { Output, Style } from "../ui/terminal.ts";
import { counted, localize, tellNext } from "../ui/words.ts";
import type { Action, CommandContext } from "./context/command.ts";
import { because, type Finding, isMissing } from "./examination/finding.ts";
import { machineFindings, notifyFinding } from "./examination/machine.ts";
import { examineOthers } from "./examination/program.ts";
import { examineSession } from "./examination/session.ts";
import { type Trial, trialFinding, tryRoles } from "./examination/trial.ts";
import { confirmHere, type Declined } from "./interaction/confirm.ts";
import { crewWords, namesNobody, nobodyInstalled, withCrew } from "./options/crew-choice.ts";
import {
  addRegistryOptions,
  addSeatOptions,
  type Found,
  findConfiguration,
  loadRegistry,
  type RegistryOptions,
  settingsFrom,
} from "./options/registry.ts";

interface DoctorOptions extends RegistryOptions {
  readonly json?: boolean;
  readonly try?: boolean;
  readonly yes?: boolean;
}

/** `bosun doctor`: checks whether everything that a run with these flags needs is available. */
export function register(command: Command): Action<DoctorOptions> {
  addRegistryOptions(command);
  addSeatOptions(command);
  command
    .option("--try", "also give each role one turn that asks for no change, for about ten thousand tokens each")
    .option("-y, --yes", "with --try: do not ask before")
    .option("--json", "one JSON value on stdout");
  return async (context, _words, given) => {
    const { out, hasPerson } = context.terminal;
    const isTrial = given.try === true;
    if (isTrial && given.yes !== true && !hasPerson) {
      const what = "Nobody is here to say whether these turns may cost something.";
      return fails("person_needed", what, { hint: "bosun doctor --try --yes" });
    }
    const found = findConfiguration(context, given, context.directory);
    const options = found.ok ? await withCrew(context, given, found.value) : ok(given);
    if (!options.ok) return options;
    if (isTrial && found.ok && namesNobody(options.value, found.value)) return err(nobodyInstalled());
    const crew = await examineCrew(context, options.value, found);
    const looked = [...(await machineFindings(context)), ...crew.findings];
    const isJson = given.json === true;
    if (!isJson) for (const finding of looked) show(out, finding);
    const findings = [...looked];
    let trials: readonly Trial[] | undefined;
    if (isTrial && crew.settings && !looked.some(isMissing)) {
      const tried = await tryCrew(context, given, crew.roles, crew.settings.values);
      if (!tried.ok) return tried;
      if (typeof tried.value === "number") return ok(tried.value);
      trials = tried.value;
      findings.push(...trials.map(trialFinding));
    }
    const missing = findings.filter(isMissing);
    const told = findings.map(({ hint, ...finding }) => ({ ...finding, hint: hint && localize(out, hint) }));
    if (isJson) out.line(safeJson({ ok: missing.length === 0, findings: told, trials }));
    else conclude(out, missing, crew, options.value.crew);
    return ok(missing.length === 0 ? EXIT_DONE : EXIT_ENVIRONMENT);
  };
}

interface ExaminedCrew {
  readonly findings: readonly Finding[];
  readonly roles: readonly CompleteRole[];
  readonly settings?: Settings;
}

/** The roles and settings of a run with these flags, and all that it needs of them. */
async function examineCrew(
  context: CommandContext,
  options: DoctorOptions,
  found: Fallible<Found>,
): Promise<ExaminedCrew> {
  const { directory, environment } = context;
  const stuck = async (name: string, error: Failure) => ({
    findings: [because(name, error), ...(await examineOthers([], directory, environment))],
    roles: [],
  });
  if (!found.ok) return stuck("roles", found.error);
  const roles = await loadRegistry(options, found.value);
  if (!roles.ok) return stuck("roles", roles.error);
  const settings = await settingsFrom(context, options, found.value, [], roles.value);
  if (!settings.ok) return stuck("settings", settings.error);
  const examined = await examineSession(roles.value, settings.value, environment);
  const seated = examined.roles.map(({ role }) => role);
  const others = await examineOthers(seated, settings.value.values.workspace, environment);
  return {
    findings: [...examined.findings, ...others, notifyFinding(settings.value, environment.PATH)],
    roles: seated,
    settings: settings.value,
  };
}

/** Gives a turn to the roles whose programs are not Bosun's own. Returns an exit code if the person declines. */
async function tryCrew(
  context: CommandContext,
  options: DoctorOptions,
  crew: readonly CompleteRole[],
  config: ResolvedConfiguration,
): Promise<Fallible<readonly Trial[] | Declined>> {
  const roles = crew.filter((role) => !isEmbedded(role));
  if (roles.length === 0) {
    return fails("usage", "There is no agent program to try.", { hint: "bosun doctor --try --crew NAME" });
  }
  const { out, err: messages } = context.terminal;
  const names = roles.map(({ role_id }) => safeLine(role_id)).join(", ");
  const costs = roles.some(costsMoney) ? " A turn costs about ten thousand tokens." : "";
  const turns = `Each of these roles gets one turn that asks for no change: ${names}.${costs}`;
  for (const line of wrapped(turns, messages.width, 0)) messages.line(line);
  if (options.yes !== true) {
    const declined = await confirmHere(context, "Try them?", "yes");
    if (declined !== undefined) return ok(declined);
  }
  const heard = (trial: Trial) => options.json !== true && show(out, trialFinding(trial));
  return tryRoles(context, roles, config, heard);
}

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

/** What works here, or how much is to be mended. */
function conclude(out: Output, missing: readonly Finding[], { roles }: ExaminedCrew, crew: string | undefined): void {
  const ready = roles.every(isEmbedded)
    ? "Plan files work here. To have a requirement planned, install an agent program, or name one with --manager."
    : `This works here: ${crewWords(crew, roles)}.`;
  out.line();
  if (missing.length > 0) out.line(out.style("red", `${counted(missing.length, "problem")} to fix first.`));
  else for (const line of wrapped(safeLine(ready), out.width, 0)) out.line(line);
  const untrusted = missing.some(({ code }) => code === "trust");
  tellNext(out, ...(missing.length === 0 ? runsOf(crew) : [untrusted ? "bosun trust" : "bosun doctor --crew NAME"]));
}

/** The bundled crew needs a plan. */
function runsOf(crew: string | undefined): string[] {
  if (crew !== undefined && crew !== "embedded") return [`bosun run "…" --crew ${safeLine(crew)}`];
  return ["bosun run --plan FILE", 'bosun run "…" --manager CMD --worker CMD'];
}
