import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TurnRequest } from "../../../kernel/agent.ts";
import { OWN } from "../../../lib/files.ts";
import { type JsonObject, objectOf, textOf } from "../../../lib/json.ts";
import { parseLine } from "../../../protocol/limits.ts";
import { permissionsOf } from "../../../protocol/roles.ts";
import { schemaOf } from "../../prompts/answers.ts";
import type { RunEnd } from "../process.ts";
import { server } from "./codex-server.ts";
import { codexCommand, codexEnvironment, CodexTurn, usageIn } from "./codex-turn.ts";
import type { Dialect, DialectTurn, ProcessPlan, Reader, ReadOutput } from "./dialect.ts";

/**
 * OpenAI's Codex CLI: `codex exec` if it has nothing to ask, or `codex app-server`, whose protocol is experimental, if a person may grant it more or
 * answer its questions.
 */
export const codex: Dialect = (turn) => (mayAsk(turn.request) ? server(turn) : exec(turn));

/** Whether the program may ask in the middle of the turn: for permissions if it may write, and questions as a manager that clarifies. */
function mayAsk({ role, payload }: TurnRequest): boolean {
  const { write, ask, commands } = permissionsOf(role);
  if (write === "workspace") return ask === "user" || commands.length > 0;
  return ask === "user" && payload.expects.includes("clarification");
}

/** One turn of `codex exec`: the prompt on stdin, events on stdout. It cannot ask for anything. */
function exec(turn: DialectTurn): ProcessPlan {
  const { request, repair } = turn;
  const { program, settings, sandbox } = codexCommand(turn);
  const schema = join(turn.scratch(), "answer.schema.json");
  writeFileSync(schema, JSON.stringify(schemaOf(request.payload)), OWN);
  const { model } = request.role;
  const { how, id } = repair ? { how: "resume", id: repair.conversation.id } : (request.conversation ?? {});
  return {
    command: [
      ...program,
      "exec",
      "--json",
      "--skip-git-repo-check",
      ...["-s", sandbox],
      ...settings,
      ...["--output-schema", schema],
      ...(model === undefined ? [] : ["-m", model]),
      ...(how === undefined || id === undefined ? [] : [how, id]),
      "-",
    ],
    environment: codexEnvironment(turn),
    input: repair?.prompt ?? turn.prompts.render(request),
    keepsLines: true,
    reader: new ExecReader(turn),
  };
}

/** Reads the events of `codex exec --json`. */
class ExecReader implements Reader {
  readonly #heard: CodexTurn;

  constructor(turn: DialectTurn) {
    this.#heard = new CodexTurn(turn);
  }

  read(line: Buffer, cut: boolean): ReturnType<Reader["read"]> {
    if (cut) return "message";
    const parsed = parseLine(line);
    return parsed.ok ? this.#event(parsed.value) : "console";
  }

  end(end: RunEnd, stderr: string): ReadOutput {
    return this.#heard.heard(end, stderr);
  }

  #event(event: JsonObject): "message" | "answer" | "over" {
    switch (textOf(event["type"])) {
      case "thread.started":
        this.#heard.began(textOf(event["thread_id"]));
        break;
      case "item.started":
      case "item.completed": {
        const item = objectOf(event["item"]);
        if (item["type"] === "agent_message") this.#heard.said(textOf(item["text"]));
        this.#heard.item(item, event["type"] === "item.completed");
        break;
      }
      case "error":
        this.#heard.retries(textOf(event["message"]));
        break;
      case "turn.failed":
        this.#heard.failed(objectOf(event["error"]));
        return "over";
      case "turn.completed":
        this.#heard.used(usageIn(objectOf(event["usage"])));
        return this.#heard.finished();
    }
    return "message";
  }
}
