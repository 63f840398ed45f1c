import type { Seat } from "../agents/conformance/case.ts";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type Command, Option } from "commander";
import { test, type Tested } from "../agents/conformance/trial.ts";
import { casesFor } from "../agents/conformance/cases.ts";
import { embeddedLauncher } from "../agents/embedded-launcher.ts";
import { DURATION_FORM } from "../lib/durations.ts";
import { didYouMean } from "../lib/nearest.ts";
import { ok } from "../lib/result.ts";
import { requestLine } from "../agents/cli/dialects/envelope.ts";
import { fails } from "../protocol/failure.ts";
import { EXIT_DONE, EXIT_FAILED } from "../runtime/exit.ts";
import { safeJson, safeLine, safeText, wrapped } from "../ui/display.ts";
import type { Output } from "../ui/terminal.ts";
import { counted, tellNext } from "../ui/words.ts";
import type { Action } from "./context/command.ts";
import { durationOf } from "./options/limits.ts";

interface ConformanceOptions {
  readonly role: Seat;
  readonly case?: string;
  readonly show?: boolean;
  readonly list?: boolean;
  readonly timeout: string;
  readonly json?: boolean;
}

/** `bosun conformance`: tests a program of the envelope dialect with every kind of turn, and with input that is not a request. */
export function register(command: Command): Action<ConformanceOptions> {
  command
    .argument("[command...]", "the program and its arguments, after --")
    .addOption(
      new Option("--role <role>", "the seat that it fills").choices(["manager", "worker"]).makeOptionMandatory(),
    )
    .option("--case <name>", "only this case")
    .option("--show", "also what is sent, and what the program printed")
    .option("--list", "the cases, without running anything")
    .option("--timeout <duration>", `how long one turn may take: ${DURATION_FORM}`, "30s")
    .option("--json", "one JSON value on stdout");
  return async (context, command, options) => {
    const all = casesFor(options.role);
    const { out } = context.terminal;
    if (options.list === true) {
      if (options.json === true) out.line(safeJson(all.map(({ name, what, level }) => ({ name, what, level }))));
      else for (const { name, what } of all) out.line(safeLine(`${name}: ${what}`));
      return ok(EXIT_DONE);
    }
    const cases = options.case === undefined ? all : all.filter(({ name }) => name === options.case);
    if (command.length === 0)
      return fails("usage", "No program to try.", { hint: "Name it after --: bosun conformance --role worker -- CMD" });
    if (cases.length === 0) {
      const names = all.map(({ name }) => name);
      const what = `There is no case "${options.case}".${didYouMean(options.case ?? "", names)}`;
      return fails("usage", what, { hint: "bosun conformance --role … --list names all." });
    }
    const timeout = durationOf("--timeout", options.timeout);
    if (!timeout.ok) return timeout;
    const tried = {
      seat: options.role,
      command: command.map((argument) => inDirectory(context.directory, argument)),
      environment: context.environment,
      launcher: embeddedLauncher(context.environment.PATH),
      timeout_ms: timeout.value,
    };
    const results: Tested[] = [];
    for (const one of cases) {
      const tested = await test(tried, one);
      if (!tested.ok) return tested;
      results.push(tested.value);
      if (options.json !== true) showCase(out, tested.value, options.show === true);
    }
    const failed = results.filter(({ wrong: problem, case: { level } }) => problem !== undefined && level === "must");
    if (options.json === true) out.line(safeJson(reportOf(options.role, command, results)));
    else showEnd(out, results, failed);
    return ok(failed.length === 0 ? EXIT_DONE : EXIT_FAILED);
  };
}

/** Makes the path of a file in the current directory absolute, because each case runs in a directory of its own. */
function inDirectory(directory: string, argument: string): string {
  const path = resolve(directory, argument);
  return argument.includes(".") && existsSync(path) ? path : argument;
}

function showCase(out: Output, { case: one, wrong, trials: [trial] }: Tested, whole: boolean): void {
  const advice = one.level === "should";
  const mark =
    wrong === undefined ? out.style("green", "ok  ") : out.style(advice ? "yellow" : "red", advice ? "note" : "FAIL");
  out.line(`${mark} ${safeLine(one.name)}${out.style("dim", `: ${safeLine(one.what)}`)}`);
  if (wrong !== undefined) for (const line of wrapped(wrong, out.width, 5)) out.line(line);
  if (!whole || trial === undefined) return;
  const { exit } = trial.end;
  out.line(out.style("dim", "sent, if the case does not say otherwise:"));
  out.line(safeText(requestLine(trial.request).slice(0, 20_000)).trimEnd());
  out.line(out.style("dim", "printed on stdout:"));
  out.line(safeText(trial.stdout.slice(0, 65_536)));
  out.line(out.style("dim", "printed on stderr:"));
  out.line(safeText(trial.stderr));
  out.line(out.style("dim", `exit code ${exit?.code ?? "none"}, signal ${exit?.signal ?? "none"}`));
}

function showEnd(out: Output, results: readonly Tested[], failed: readonly Tested[]): void {
  const notes = results.filter(({ wrong, case: { level } }) => wrong !== undefined && level === "should").length;
  const passed = results.filter(({ wrong }) => wrong === undefined).length;
  const noted = notes === 0 ? "" : `, ${counted(notes, "note")}`;
  out.line();
  out.line(`${passed} of ${counted(results.length, "case")} passed, ${failed.length} failed${noted}`);
  const [first] = failed;
  if (first) tellNext(out, `bosun conformance --role … --case '${first.case.name}' --show -- …`);
}

function reportOf(role: Seat, command: readonly string[], results: readonly Tested[]): object {
  return {
    role,
    command,
    ok: results.every(({ wrong, case: { level } }) => wrong === undefined || level === "should"),
    cases: results.map(({ case: { name, what, level }, wrong, trials }) => ({
      name,
      what,
      level,
      passed: wrong === undefined,
      ...(wrong === undefined ? {} : { wrong }),
      answer: trials[0]?.heard.answer?.payload_type ?? null,
      exit: trials[0]?.end.exit ?? null,
      elapsed_ms: Math.round(trials[0]?.elapsed_ms ?? 0),
    })),
  };
}
