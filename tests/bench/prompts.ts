import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { type JsonObject, textOf } from "../../src/lib/json.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import { crew, manager, type Turn, turnOf, worker } from "../model-servers/brains.ts";
import { clientEnvironment } from "../model-servers/clients.ts";
import { ModelServer } from "../model-servers/server.ts";
import { agentsCache } from "../real-agents/install.ts";
import { type Extent, PROGRAM, table } from "./measure.ts";

const CHAIN = ["one", "two", "three", "four"] as const;

/** Each task writes a file, which a command looks for. */
const TASKS: readonly JsonObject[] = CHAIN.map((task_id, place) => ({
  task_id,
  description: `Write ${task_id}.txt with the word ${task_id}.`,
  acceptance_criteria: [{ text: `${task_id}.txt has the word`, command: ["grep", "-q", task_id, `${task_id}.txt`] }],
  ...(place === 0 ? {} : { dependencies: [CHAIN[place - 1] ?? ""] }),
}));

const INSTRUCTED: readonly JsonObject[] = TASKS.map((task) => ({
  ...task,
  instruction: { summary: `Do ${textOf(task["task_id"])}.`, steps: ["Write the file.", "Read it."] },
}));

/** What a run differs in: whether the manager may instruct in its plan, how work is reviewed, and whether work is sent back. */
interface Course {
  readonly instructs: boolean;
  readonly review: "manager" | "checks";
  readonly troubled: boolean;
}

const COURSES: Readonly<Record<string, Course>> = {
  "all goes well": { instructs: false, review: "manager", troubled: false },
  "a check fails, and a review refuses": { instructs: false, review: "manager", troubled: true },
  "instructed in the plan, where it is offered": { instructs: true, review: "manager", troubled: false },
  "and reviewed by checks": { instructs: true, review: "checks", troubled: false },
};

interface Asked {
  readonly about: string;
  /** Characters of the prompt without the schema of the answer, and of that schema. */
  readonly prompt: number;
  readonly schema: number;
}

/** Prints how many characters each kind of turn is given, and how many turns a ticket takes, of a chain of four tickets. */
export async function measure({ scratch }: Extent): Promise<void> {
  if (!existsSync(PROGRAM)) {
    console.log("\nprompts: left out, because the program is not built (npm run build).");
    return;
  }
  const programs = join(agentsCache(), "node_modules", ".bin");
  for (const crewName of ["model", ...(existsSync(join(programs, "codex")) ? ["codex-claude"] : [])]) {
    const rows: (string | number)[][] = [];
    for (const [name, course] of Object.entries(COURSES)) {
      const { asked, requests } = await runOf(course, crewName, programs, scratch);
      for (const about of new Set(asked.map((one) => one.about))) {
        const same = asked.filter((one) => one.about === about);
        rows.push([name, about, `${same.length}`, mean(same, "prompt"), mean(same, "schema")]);
      }
      const aTicket = asked.filter(({ about }) => !about.startsWith("requirement")).length / CHAIN.length;
      const all = asked.reduce((sum, one) => sum + one.prompt + one.schema, 0);
      rows.push([name, "= a ticket", aTicket.toFixed(2), all / CHAIN.length, `${requests} requests`]);
    }
    const head = ["", "message", "turns", "characters each", "of its schema"];
    table(`prompts: a chain of ${CHAIN.length} tickets by the crew ${crewName}`, head, rows);
  }
}

function mean(asked: readonly Asked[], figure: "prompt" | "schema"): number {
  return Math.round(asked.reduce((sum, one) => sum + one[figure], 0) / asked.length);
}

async function runOf(
  { instructs, review, troubled }: Course,
  crewName: string,
  programs: string,
  scratch: string,
): Promise<{ asked: Asked[]; requests: number }> {
  const prompts = new Map<string, { prompt: number; schema: number }>();
  const isFirst = once();
  const brain = crew(
    (conversation) =>
      manager({
        tasks: instructs && /`instruction` here/.test(turnOf(conversation)?.text ?? "") ? INSTRUCTED : TASKS,
        review: ({ ticket_id }) =>
          troubled && ticket_id === "two" && isFirst("review")
            ? { decision: "changes_requested", requested_changes: ["End the file with a newline."] }
            : { decision: "approved" },
      })(conversation),
    worker(({ ticket_id: id, turn_id }) => {
      const content = troubled && id === "three" && isFirst("work", turn_id) ? "3\n" : `${id}\n`;
      const path = `${id}.txt`;
      return [crewName === "model" ? { tool: "write_file", input: { path, content } } : { write: path, content }];
    }),
  );
  const server = await ModelServer.start(brain, crewName === "model" ? { aside: () => undefined } : {});
  server.heard = ({ conversation }) => {
    const turn = conversation && turnOf(conversation);
    if (turn && !prompts.has(turn.turn_id)) prompts.set(turn.turn_id, sizesOf(turn, conversation.schema));
  };
  // Codex does not sandbox commands if its home is below the directory for temporary files.
  const place = mkdtempSync("/var/tmp/bosun-prompts-");
  const [workspace, client] = [join(place, "workspace"), join(place, "client")];
  for (const folder of [workspace, client]) mkdirSync(folder);
  const env = {
    ...clientEnvironment(server.url, client),
    PATH: [programs, dirname(process.execPath), process.env.PATH].join(delimiter),
    TMPDIR: scratch,
    BOSUN_HOME: join(place, "home"),
    LLM_PROVIDER: "openai-compatible",
    LLM_BASE_URL: `${server.url}/v1`,
    LLM_MODEL: "small",
    LLM_API_KEY: "dummy",
    LANG: "C.UTF-8",
  };
  const bosun = (...args: string[]) =>
    promisify(execFile)(process.execPath, [PROGRAM, ...args], { cwd: workspace, env, maxBuffer: 1 << 28 });
  try {
    await git(workspace, env, ["init", "--quiet"]);
    writeFileSync(join(place, "settings.json"), JSON.stringify({ review }));
    const settings = ["--config", join(place, "settings.json")];
    await bosun("run", "Write four files.", "--crew", crewName, ...settings, "--yes", "--no-input", "--session", "s-1");
    const { stdout } = await bosun("replay", "s-1", "--json");
    const records = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as LogRecord);
    const asked = records.flatMap(({ payload_type, payload }): Asked[] => {
      const sizes = prompts.get(textOf(payload["turn_id"]));
      if (payload_type !== "turn_request" || sizes === undefined) return [];
      const { message, conversation } = payload as {
        message: { payload_type: string };
        conversation?: { how: string };
      };
      const goesOn = conversation?.how === "resume" ? ", goes on" : "";
      return [{ about: message.payload_type + goesOn, ...sizes }];
    });
    return { asked, requests: server.exchanges.filter(({ side, conversation }) => !side && conversation).length };
  } finally {
    await server.close();
    rmSync(place, { recursive: true, force: true });
  }
}

function sizesOf({ text }: Turn, given: JsonObject | undefined): { prompt: number; schema: number } {
  const written = /```json\n(\{"type":"object","properties":\{"payload_type".*)\n```/.exec(text)?.[1] ?? "";
  const schema = written === "" && given !== undefined ? JSON.stringify(given).length : written.length;
  return { prompt: text.length - written.length, schema };
}

/** True for the first turn that asks by this name. */
function once(): (name: string, turn_id?: string) => boolean {
  const by = new Map<string, string>();
  return (name, turn_id = `${by.size}`) => {
    if (!by.has(name)) by.set(name, turn_id);
    return by.get(name) === turn_id;
  };
}

async function git(cwd: string, env: NodeJS.ProcessEnv, args: readonly string[]): Promise<void> {
  await promisify(execFile)("git", args, { cwd, env });
}
