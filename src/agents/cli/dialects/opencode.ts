import { dirname, join } from "node:path";
import type { TurnRequest } from "../../../kernel/agent.ts";
import { isJsonObject, type Json, type JsonObject, objectOf } from "../../../lib/json.ts";
import { type Failure, failure } from "../../../protocol/failure.ts";
import { parseLine } from "../../../protocol/limits.ts";
import type { Usage } from "../../../protocol/payload.ts";
import { permissionsOf } from "../../../protocol/roles.ts";
import { answerIn } from "../../prompts/answers.ts";
import { Messages } from "../messages.ts";
import type { RunEnd } from "../process.ts";
import type { Dialect, DialectTurn, Heard, Reader } from "./dialect.ts";
import { opencodeFailure } from "./opencode-failures.ts";

const OPENING_BRACE = 0x7b;
const SHOWN_CHARACTERS = 200;

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
    edit: write === "workspace" ? "allow" : "deny",
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
  readonly #began = performance.now();
  #conversation: string | undefined;
  /** The latest text: the answer, if nothing follows. */
  #text = "";
  /** Why the last step ended; `stop` means the end of the run. */
  #reason: Json | undefined;
  /** A tool call that opencode refused because nobody could be asked. */
  #rejected: string | undefined;
  #error: JsonObject | undefined;
  #steps = 0;
  #usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0, cost_usd: 0 };

  constructor(turn: DialectTurn) {
    this.#turn = turn;
    this.#messages = new Messages(turn.request, turn.emit, turn.redact);
  }

  mayBeLong(firstByte: number): boolean {
    return firstByte === OPENING_BRACE;
  }

  read(line: Buffer, cut: boolean): "console" | "message" {
    if (cut || line[0] !== OPENING_BRACE) return "console";
    const parsed = parseLine(line);
    if (!parsed.ok || !isJsonObject(parsed.value)) return "console";
    const { type, sessionID, part, error } = parsed.value;
    if (typeof sessionID === "string" && this.#conversation === undefined) {
      this.#conversation = sessionID;
      this.#turn.emit({ kind: "conversation", id: sessionID });
    }
    this.#take(type, objectOf(part), objectOf(error));
    return "message";
  }

  end({ cause, exit }: RunEnd, stderr_tail: string): Heard {
    const { request } = this.#turn;
    const now = performance.now() - this.#began;
    const lost = request.conversation !== undefined && /session not found/i.test(stderr_tail);
    const heard = {
      gone: lost ? `opencode has no session ${request.conversation.id} any more.` : undefined,
      usage: this.#told(),
      conversation: this.#conversation === undefined ? undefined : { id: this.#conversation },
    };
    const failed = cause === "exited" ? this.#failure(now) : undefined;
    if (failed !== undefined || cause !== "exited" || exit?.code !== 0)
      return { ...heard, refused: [], failure: failed };
    const read = answerIn(this.#text, request.payload.expects);
    if (!read.ok) this.#messages.refuse(Buffer.from(this.#text), read.error);
    else this.#messages.take(read.value.payload_type, read.value.payload);
    const { answer, refused } = this.#messages;
    const last = refused.at(-1);
    const repair = answer === undefined && last !== undefined ? this.#turn.prompts.repair(last) : undefined;
    return { ...heard, answer, refused, repair };
  }

  #take(type: Json | undefined, part: JsonObject, error: JsonObject): void {
    switch (type) {
      case "text":
        this.#showText();
        this.#text = typeof part.text === "string" ? part.text : "";
        return;
      case "tool_use":
        this.#showText();
        this.#tool(part);
        return;
      case "step_finish":
        this.#step(part);
        return;
      case "error":
        this.#error = error;
        return;
      default:
    }
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
      input_tokens: before.input_tokens + count(input) + count(read) + count(write),
      output_tokens: before.output_tokens + count(output) + count(reasoning),
      cached_tokens: before.cached_tokens + count(read),
      cost_usd: before.cost_usd + (typeof cost === "number" && cost > 0 ? cost : 0),
    };
  }

  /** opencode reports a cost of 0 for a model without prices in the configuration, so 0 means unknown. */
  #told(): Usage | undefined {
    if (this.#steps === 0) return undefined;
    const { cost_usd, ...counts } = this.#usage;
    return cost_usd > 0 ? { ...counts, cost_usd } : counts;
  }

  #failure(elapsed_ms: number): Failure | undefined {
    const { role, at } = this.#turn.request;
    const { role_id } = role;
    if (this.#error !== undefined && this.#reason !== "stop")
      return opencodeFailure(this.#error, role_id, { at, elapsed_ms });
    if (this.#rejected !== undefined && this.#reason !== "stop") {
      return failure(
        "agent_failed",
        `opencode of ${role_id} ended because it may not do this without asking: ${this.#rejected}`,
        {
          hint: "An agent of its own configuration asks. Set that permission to allow or deny there, or name another agent.",
        },
      );
    }
    if (this.#reason === "length") {
      return failure("agent_failed", `The model of ${role_id} reached its limit of tokens before it had answered.`, {
        hint: "Give it smaller tasks, or raise limit.output of the model in opencode's configuration.",
      });
    }
    return undefined;
  }
}

function titleOf({ role, stamp }: TurnRequest): string {
  return stamp.subject === undefined ? `bosun ${role.role_id}` : `bosun ${role.role_id} ${stamp.subject}`;
}

function count(value: Json | undefined): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
}

function oneLine(text: string): string {
  const line = text.trim().replaceAll(/\s+/g, " ");
  return line.length <= SHOWN_CHARACTERS ? line : `${line.slice(0, SHOWN_CHARACTERS - 1)}…`;
}
