import { constants } from "node:fs";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { dirname, relative, resolve } from "node:path";
import { type FunctionTool, functionTools, type Tools } from "../../harness/tools.ts";
import { MAX_TIMER_MS } from "../../lib/time-limit.ts";
import { realPath } from "../../lib/files.ts";
import { type JsonObject, textOf } from "../../lib/json.ts";
import { isConfined, toolsOffered, type WorkspaceTool } from "../../protocol/roles.ts";
import { answered, type AskedPermission } from "../permissions/decision.ts";
import { areWithin, mayBeWritten } from "../permissions/places.ts";
import { type ProgramTurn, runShell } from "./programs.ts";

/** What a turn's tools need beside programs: what waits for a person suspends the time limits. */
export interface ToolTurn extends ProgramTurn {
  whileWaiting<T>(answer: Promise<T>): Promise<T>;
}

const MAX_FILE_BYTES = 10 * 1024 * 1024;
const MAX_READ_CHARACTERS = 64 * 1024;
const SEARCH_MS = 30_000;
const COMMAND_S = 120;
const MAX_COMMAND_S = 3_600;

/** The tools of a model on its workspace. Files are read and written here, everything else runs as a program in the role's sandbox. */
export function workspaceTools(turn: ToolTurn): Tools {
  const { role, payload } = turn.request;
  const { workspace, artifacts_dir } = payload;
  const readable = [workspace, artifacts_dir];

  /** The real path of a place that may be read. */
  const inside = (given: JsonObject): string => {
    const path = textOf(given.path) || ".";
    if (!areWithin([path], readable, workspace)) throw new Error(`${path} is not in the workspace.`);
    return realPath(resolve(workspace, path));
  };
  const writable = (given: JsonObject): string => {
    const path = required(given, "path");
    if (!mayBeWritten([path], readable, workspace))
      throw new Error(`${path} may not be written: it is outside of the workspace, or below .git or .bosun.`);
    return realPath(resolve(workspace, path));
  };
  const shown = (path: string) => relative(realPath(workspace), path) || ".";
  const shell = (line: string, words: readonly string[], signal: AbortSignal, timeout_ms = SEARCH_MS) =>
    runShell(turn, line, words, { timeout_ms, signal });

  const all: Readonly<Record<WorkspaceTool, FunctionTool>> = {
    read_file: {
      description: "Reads a text file of the workspace, or some of its lines.",
      parameters: object({ path: PATH, from_line: LINE, lines: LINE }, ["path"]),
      run: async (given) => {
        const text = await readText(inside(given));
        const lines = text.split("\n");
        const from = Number(given.from_line ?? 1);
        const part = lines.slice(from - 1, given.lines === undefined ? undefined : from - 1 + Number(given.lines));
        const whole = part.join("\n");
        if (whole.length <= MAX_READ_CHARACTERS) return whole;
        const kept = whole.slice(0, MAX_READ_CHARACTERS);
        const last = from + kept.split("\n").length - 1;
        return `${kept}\n[cut in line ${last} of ${lines.length}: read on with from_line]`;
      },
    },
    list_files: {
      description: "Lists files of the workspace, without .git and node_modules.",
      parameters: object({ path: { ...PATH, description: "A folder; the workspace if left out" }, name: NAME }),
      run: async (given, { signal }) => {
        const { output } = await shell(LIST, [`./${shown(inside(given))}`, textOf(given.name) || "*"], signal);
        return output === "" ? "No file is there." : output;
      },
    },
    search: {
      description: "Searches text files of the workspace for lines that match an extended regular expression of grep.",
      parameters: object({ pattern: TEXT, path: { ...PATH, description: "A file or folder" } }, ["pattern"]),
      run: async (given, { signal }) => {
        const { output } = await shell(SEARCH, [required(given, "pattern"), `./${shown(inside(given))}`], signal);
        return output === "" ? "No line matches." : output;
      },
    },
    write_file: {
      description: "Writes a file, with the folders that it needs. What was in it is replaced.",
      parameters: object({ path: PATH, content: TEXT }, ["path", "content"]),
      run: async (given) => {
        const path = writable(given);
        await mkdir(dirname(path), { recursive: true });
        const content = textOf(given.content);
        await writeText(path, content);
        return `Wrote ${Buffer.byteLength(content)} bytes to ${shown(path)}.`;
      },
    },
    edit_file: {
      description: "Replaces a text in a file. It must occur exactly once, unless all is true.",
      parameters: object({ path: PATH, old_text: TEXT, new_text: TEXT, all: { type: "boolean" } }, [
        "path",
        "old_text",
        "new_text",
      ]),
      run: async (given) => {
        const path = writable(given);
        const parts = (await readText(path)).split(required(given, "old_text"));
        if (parts.length === 1) throw new Error(`old_text does not occur in ${shown(path)}: read the file again.`);
        if (parts.length > 2 && given.all !== true)
          throw new Error(`old_text occurs ${parts.length - 1} times: add lines around it, or set all to true.`);
        await writeText(path, parts.join(textOf(given.new_text)));
        return `Replaced ${parts.length - 1} in ${shown(path)}.`;
      },
    },
    run_command: {
      description: "Runs a command line of sh in the workspace and gives the end of its output. It gets no input.",
      parameters: object({ command: TEXT, timeout_s: { type: "integer", minimum: 1, maximum: MAX_COMMAND_S } }, [
        "command",
      ]),
      run: async (given, { signal }) => {
        const command = required(given, "command");
        const asked: AskedPermission = { kind: "run", action: `run: ${command}`, whole: command, why: "", command };
        const { granted, notes } = isConfined(role)
          ? { granted: true, notes: undefined }
          : await turn.whileWaiting(
              answered(asked, "model", turn.request, (permission) => turn.context.permit(permission)),
            );
        if (!granted) throw new Error(`The command may not be run.${notes === undefined ? "" : ` ${notes}`}`);
        const seconds = Math.min(Number(given.timeout_s ?? COMMAND_S), MAX_COMMAND_S);
        const { how, output } = await shell(command, [], signal, seconds * 1000);
        return `The command ${how}.\n${output}`;
      },
    },
  };
  const offered = toolsOffered(role).map((name) => [name, all[name]] as const);
  // Each limits itself: a command may take long, and a person may take longer.
  return functionTools(Object.fromEntries(offered), { timeoutMs: MAX_TIMER_MS });
}

const TEXT = { type: "string" } as const;
const PATH = { type: "string", description: "From the workspace" } as const;
const LINE = { type: "integer", minimum: 1 } as const;
const NAME = { type: "string", description: "A pattern for names such as *.ts" } as const;

/** `./a` is shown as `a`. */
const LIST =
  'find "$1" \\( -name .git -o -name node_modules \\) -prune -o -type f -name "$2" -print | sed "s#^\\./##; s#^\\./##" | sort | head -n 1000';
const SEARCH =
  'grep -rnIE --exclude-dir=.git --exclude-dir=node_modules -e "$1" -- "$2" | sed "s#^\\./##; s#^\\./##" | cut -c1-400 | head -n 300';

function object(properties: JsonObject, names: readonly string[] = []): JsonObject {
  return { type: "object", properties, required: names, additionalProperties: false };
}

function required(given: JsonObject, name: string): string {
  const text = textOf(given[name]);
  if (text === "") throw new Error(`${name} is missing, or is no text.`);
  return text;
}

/** Opens a file that is no link and no pipe, which might lead elsewhere or never end. */
async function opened<T>(path: string, flags: number, work: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o666);
  try {
    if (!(await file.stat()).isFile()) throw new Error(`${path} is no file.`);
    return await work(file);
  } finally {
    await file.close();
  }
}

function readText(path: string): Promise<string> {
  return opened(path, constants.O_RDONLY, async (file) => {
    const { size } = await file.stat();
    if (size > MAX_FILE_BYTES) throw new Error(`${path} has ${size} bytes, which are too many to be read.`);
    const bytes = await file.readFile();
    if (bytes.includes(0)) throw new Error(`${path} is no text.`);
    return bytes.toString("utf8");
  });
}

function writeText(path: string, text: string): Promise<void> {
  return opened(path, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC, (file) => file.writeFile(text));
}
