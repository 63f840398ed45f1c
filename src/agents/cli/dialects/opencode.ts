import { dirname, join } from "node:path";
import type { TurnRequest } from "../../../kernel/agent.ts";
import { countOf, isJsonObject, type Json, type JsonObject, objectOf } from "../../../lib/json.ts";
import { type Failure, failure } from "../../../protocol/failure.ts";
import { parseLine } from "../../../protocol/limits.ts";
import type { Usage } from "../../../protocol/payload.ts";
import { permissionsOf } from "../../../protocol/roles.ts";
import { complaintIn } from "../../causes/complaint.ts";
import { failureFor, failureOf, failureOnStderr, type Program } from "../../causes/failures.ts";
import { Messages, oneLine, OPENING_BRACE } from "../messages.ts";
import { nameOf } from "../outcome.ts";
import type { RunEnd } from "../process.ts";
import type { Dialect, DialectTurn, Reader, ReadOutput } from "./dialect.ts";

/** The last rule that fits a path counts; a star also stands for slashes. */
const PROTECTED = Object.fromEntries(
  [".git", ".bosun"].flatMap((name) => [name, `${name}/*`, `*/${name}`, `*/${name}/*`]).map((path) => [path, "deny"]),
);

const HINTS: NonNullable<Program["hints"]> = {
  login: "Run opencode auth login, or name the variable of the key in pass_env of the role. Then release the role.",
  length: "Give it smaller tasks, or raise limit.output of the model in opencode's configuration.",
  unknown: "Try opencode run in a terminal with the same model; its log is below ~/.local/share/opencode/log.",
};

/** opencode, one process for each turn: `opencode run --format json` with the prompt on stdin. */
export const opencode: Dialect = (turn) => {
  const { request, prompts, repair } = turn;
  const { cli_command = [], model } = request.role;
  const [program = "opencode", ...flags] = cli_command;
  const conversation = repair?.conversation ?? request.conversation;
  const goOn = conversation === undefined ? [] : ["--session", conversation.id];
  const fork = repair === undefined && request.conversation?.how === "fork" ? ["--fork"] : [];
  // Without a title, opencode asks the model for one.
  const title = conversation === undefined ? ["--title", titleOf(request)] : [];
  const chosen = model === undefined ? [] : ["--model", model];
  return {
    command: [program, "run", "--format", "json", ...chosen, ...goOn, ...fork, ...title, ...flags],
    environment: {
      TMPDIR: turn.scratch(),
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_TERMINAL_TITLE: "1",
      // Overrides the permissions in the user's own configuration, which otherwise stays as it is.
      OPENCODE_PERMISSION: JSON.stringify(permissionRules(request)),
    },
    input: repair?.prompt ?? prompts.render(request, { schema: true }),
    keepsLines: true,
    reader: new OpencodeReader(turn),
  };
};

/**
 * The role's permissions as opencode's rules. Never `ask`, which ends the run when nobody is there. opencode has no sandbox, so it runs only the
 * commands that the role names.
 */
function permissionRules({ role, payload }: TurnRequest): JsonObject {
  const { write, commands, network } = permissionsOf(role);
  const online = network === false ? "deny" : "allow";
  const { plan_file } = payload.context;
  const outside = [payload.artifacts_dir, ...(plan_file === undefined ? [] : [dirname(plan_file)])];
  return {
    edit: write === "workspace" ? { "*": "allow", ...PROTECTED } : "deny",
    bash: { "*": "deny", ...Object.fromEntries(commands.map((pattern) => [pattern, "allow"])) },
    webfetch: online,
    websearch: online,
    codesearch: online,
    external_directory: { "*": "deny", ...Object.fromEntries(outside.map((folder) => [join(folder, "**"), "allow"])) },
    doom_loop: "deny",
    question: "deny",
  };
}

/** Reads the events of one process. Unknown events of newer versions are ignored. */
class OpencodeReader implements Reader {
  readonly #turn: DialectTurn;
  readonly #messages: Messages;
  #conversation: string | undefined;
  /** The latest text: the answer, if nothing follows. */
  #text = "";
  /** Why the last step ended; `stop` means the end of the run, with its answer. */
  #reason: Json | undefined;
  /** A tool call that opencode refused because nobody could be asked. */
  #rejected: string | undefined;
  #error: JsonObject | undefined;
  #steps = 0;
  #usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0, cost_usd: 0 };

  constructor(turn: DialectTurn) {
    this.#turn = turn;
    this.#messages = new Messages(turn.request, turn.emit, turn.check);
  }

  read(line: Buffer, cut: boolean): ReturnType<Reader["read"]> {
    if (cut || line[0] !== OPENING_BRACE) return "console";
    const parsed = parseLine(line);
    if (!parsed.ok || !isJsonObject(parsed.value)) return "console";
    const { type, sessionID, part, error } = parsed.value;
    if (typeof sessionID === "string" && this.#conversation === undefined) {
      this.#conversation = sessionID;
      this.#turn.emit({ kind: "conversation", id: sessionID });
    }
    return this.#take(type, objectOf(part), objectOf(error));
  }

  end(end: RunEnd, stderr_tail: string): ReadOutput {
    const { request } = this.#turn;
    const lost = request.conversation !== undefined && /session not found/i.test(stderr_tail);
    const failed = this.#failure(end, stderr_tail);
    // Older versions end without saying so.
    if (failed === undefined && this.#reason !== "stop" && end.exit?.code === 0) this.#finish();
    const { answer, refused } = this.#messages;
    const last = refused.at(-1);
    return {
      answer,
      refused,
      failure: failed,
      repair: answer === undefined && last !== undefined ? this.#turn.prompts.repair(last) : undefined,
      gone: lost ? `opencode has no session ${request.conversation.id} any more.` : undefined,
      usage: this.#told(),
      conversation: this.#conversation === undefined ? undefined : { id: this.#conversation },
    };
  }

  #take(type: Json | undefined, part: JsonObject, error: JsonObject): "message" | "answer" | "over" {
    switch (type) {
      case "text":
        this.#showText();
        this.#text = typeof part.text === "string" ? part.text : "";
        return "message";
      case "tool_use":
        this.#showText();
        this.#tool(part);
        return "message";
      case "step_finish":
        this.#step(part);
        return this.#reason === "stop" ? this.#finish() : "message";
      case "error":
        this.#error ??= error;
        return "over";
      default:
        return "message";
    }
  }

  /** Takes the last text as the answer. opencode may stay alive after it, or fail at something else. */
  #finish(): "answer" | "over" {
    if (this.#messages.answer !== undefined) return "over";
    return this.#messages.read(this.#text) === "answer" ? "answer" : "over";
  }

  /** Text that something follows is not the answer, but shows what opencode does. */
  #showText(): void {
    if (this.#text.trim() !== "") this.#turn.show(this.#text.trim());
    this.#text = "";
  }

  #tool({ tool, state }: JsonObject): void {
    const { status, input, title, error } = objectOf(state);
    const { command } = objectOf(input);
    const what =
      typeof command === "string" ? `$ ${command}` : [tool, title].filter((word) => typeof word === "string").join(" ");
    this.#turn.show(oneLine(what));
    if (status !== "error" || typeof error !== "string") return;
    this.#turn.show(oneLine(`failed: ${error}`));
    if (/rejected permission/i.test(error)) this.#rejected = oneLine(what);
  }

  #step({ reason, tokens, cost }: JsonObject): void {
    const { input, output, reasoning, cache } = objectOf(tokens);
    const { read, write } = objectOf(cache);
    const before = this.#usage;
    this.#reason = reason;
    this.#steps += 1;
    this.#usage = {
      input_tokens: before.input_tokens + countOf(input) + countOf(read) + countOf(write),
      output_tokens: before.output_tokens + countOf(output) + countOf(reasoning),
      cached_tokens: before.cached_tokens + countOf(read),
      cost_usd: before.cost_usd + (typeof cost === "number" && cost > 0 ? cost : 0),
    };
  }

  /** opencode reports a cost of 0 for a model without prices in the configuration, so 0 means unknown. */
  #told(): Usage | undefined {
    if (this.#steps === 0) return undefined;
    const { cost_usd, ...counts } = this.#usage;
    return cost_usd > 0 ? { ...counts, cost_usd } : counts;
  }

  #failure({ exit }: RunEnd, stderr_tail: string): Failure | undefined {
    if (this.#reason === "stop") return undefined;
    const { role } = this.#turn.request;
    const now = this.#turn.now();
    const program: Program = { who: nameOf(this.#turn.request), now, hints: HINTS };
    if (this.#error !== undefined) {
      const { name, ...said } = this.#error;
      // A name for any failure of a server.
      return failureOf(complaintIn(name === "APIError" ? said : this.#error, now), program);
    }
    if (this.#rejected !== undefined) {
      return failure(
        "agent_failed",
        `opencode of ${role.role_id} ended because it may not do this without asking: ${this.#rejected}`,
        {
          hint: "An agent of its own configuration asks. Set that permission to allow or deny there, or name another agent.",
        },
      );
    }
    if (this.#reason === "length") return failureFor("length", complaintIn(undefined, now), program);
    return exit?.code === 0 ? undefined : failureOnStderr(stderr_tail, program);
  }
}

function titleOf({ role, stamp }: TurnRequest): string {
  return stamp.subject === undefined ? `bosun ${role.role_id}` : `bosun ${role.role_id} ${stamp.subject}`;
}
