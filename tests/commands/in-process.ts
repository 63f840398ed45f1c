import { PassThrough } from "node:stream";
import { runCommandLine } from "../../src/commands/main.ts";
import type { Output, Terminal } from "../../src/ui/terminal.ts";
import type { Rig } from "./rig.ts";

/** The exit code and the output of a command line that ran in this process. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A terminal without a user, and the text written to it. */
export function paperTerminal(
  lineWritten: (text: string) => void = () => {},
): Terminal & { readonly written: { out: string; err: string } } {
  const written = { out: "", err: "" };
  const paper = (name: "out" | "err"): Output => {
    const stream = new PassThrough() as unknown as NodeJS.WriteStream;
    const line = (text = "") => {
      written[name] += `${text}\n`;
      lineWritten(text);
    };
    return {
      stream,
      program: "bosun",
      line,
      command: line,
      lost: undefined,
      ended: new AbortController().signal,
      alert: () => {},
      keepBelow: () => () => {},
      style: (_style, text) => text,
      width: Number.POSITIVE_INFINITY,
    };
  };
  const input = new PassThrough() as unknown as NodeJS.ReadStream;
  input.end();
  return {
    out: paper("out"),
    err: paper("err"),
    input,
    hasPerson: false,
    isDumb: true,
    isRemote: false,
    canRedraw: false,
    written,
  };
}

/** Runs a command line in this process, from the workspace; all but the process is real. */
export function typed(
  here: Rig,
  args: readonly string[],
  env: Record<string, string> = {},
  lineWritten?: (text: string) => void,
): Promise<Ended> {
  return typedIn(here.workspace, { ...here.environment, BOSUN_HOME: here.home, ...env }, args, lineWritten);
}

/** The same from any directory, with a home that is found if none is named. */
export async function typedIn(
  directory: string,
  environment: Readonly<Record<string, string>>,
  args: readonly string[],
  lineWritten: (text: string) => void = () => {},
): Promise<Ended> {
  const terminal = paperTerminal(lineWritten);
  const code = await runCommandLine(args, { terminal, directory, environment, leave: () => {} });
  return { code, stdout: terminal.written.out, stderr: terminal.written.err };
}

/** The one JSON value that such a command line writes. */
export async function typedJson<T>(here: Rig, args: readonly string[]): Promise<T> {
  const { stdout, stderr } = await typed(here, args);
  if (stdout === "") throw new Error(`no output: ${stderr}`);
  return JSON.parse(stdout) as T;
}

/** The id of the only session there is. */
export async function onlySession(here: Rig): Promise<string> {
  const listed = await typedJson<{ session_id: string }[]>(here, ["status", "--all", "--json"]);
  const [only, another] = listed;
  if (only === undefined || another !== undefined) throw new Error(`there are ${listed.length} sessions`);
  return only.session_id;
}
