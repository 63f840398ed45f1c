import type { Permission } from "../../../kernel/agent.ts";
import { defined, type Json, type JsonObject, listOf, objectOf, textOf } from "../../../lib/json.ts";
import { parseLine } from "../../../protocol/limits.ts";
import { permissionsOf } from "../../../protocol/roles.ts";
import { schemaOf } from "../../prompts/answers.ts";
import type { RunEnd } from "../process.ts";
import { answered } from "../../permissions/decision.ts";
import { permissionIn } from "./codex-items.ts";
import { askingAnswer } from "./questions.ts";
import { codexCommand, codexEnvironment, CodexTurn, usageIn } from "./codex-turn.ts";
import type { DialectTurn, Port, ProcessPlan, Reader, ReadOutput } from "./dialect.ts";

/** The ids of Bosun's requests; codex numbers its own separately. */
const INITIALIZE = 1;
const THREAD = 2;
const TURN = 3;
const INTERRUPT = 4;
const STEER = 5;

/** Lets the model ask, and suppresses the warning about it. Older versions of codex ignore both. */
const SETTINGS = ["features.default_mode_request_user_input=true", "suppress_unstable_features_warning=true"];

/** The answer to a question in a turn whose answer cannot be a question. */
const NOBODY = "Nobody can be asked now. Decide by yourself, and say so in your answer.";

/** One turn of `codex app-server`, which can ask for permissions and put questions: JSON-RPC, one message per line. */
export function server(turn: DialectTurn): ProcessPlan {
  const { program, settings } = codexCommand(turn);
  const own = SETTINGS.flatMap((setting) => ["-c", setting]);
  const before = turn.repair?.conversation ?? turn.request.conversation;
  const forks = turn.repair === undefined && turn.request.conversation?.how === "fork";
  const goesOn = forks ? "thread/fork" : "thread/resume";
  const clientInfo = { name: "bosun", title: "Bosun", version: "1" };
  const opening = [
    { id: INITIALIZE, method: "initialize", params: { clientInfo, capabilities: { experimentalApi: true } } },
    { method: "initialized" },
    {
      id: THREAD,
      method: before === undefined ? "thread/start" : goesOn,
      params: { ...defined({ threadId: before?.id }), ...threadParams(turn) },
    },
  ];
  return {
    command: [...program, "app-server", ...settings, ...own],
    environment: codexEnvironment(turn),
    input: opening.map(lineOf).join(""),
    converses: true,
    keepsLines: true,
    reader: new ServerReader(turn),
  };
}

function threadParams(turn: DialectTurn): JsonObject {
  const { request } = turn;
  const { model } = request.role;
  const { sandbox } = codexCommand(turn);
  return {
    cwd: request.payload.workspace,
    sandbox,
    approvalPolicy: permissionsOf(request.role).write === "none" ? "never" : "on-request",
    approvalsReviewer: "user",
    ...(model === undefined ? {} : { model }),
  };
}

function lineOf(message: JsonObject): string {
  return `${JSON.stringify(message)}\n`;
}

/** Talks to `codex app-server` for one turn. It ignores unknown messages of newer versions. */
class ServerReader implements Reader {
  readonly #turn: DialectTurn;
  readonly #heard: CodexTurn;
  #port: Port | undefined;
  #thread = "";
  #turnId = "";
  /** Items by id: a request for a file change names only its item. */
  readonly #items = new Map<string, JsonObject>();

  constructor(turn: DialectTurn) {
    this.#turn = turn;
    this.#heard = new CodexTurn(turn);
  }

  connect(port: Port): void {
    this.#port = port;
  }

  read(line: Buffer, cut: boolean): ReturnType<Reader["read"]> {
    if (cut) return "message";
    const parsed = parseLine(line);
    if (!parsed.ok) return "console";
    const { id, method, params, result, error } = parsed.value;
    if (typeof method !== "string") return this.#answered(id, objectOf(result), error);
    if (id === undefined) return this.#notified(method, objectOf(params));
    return this.#asked(id, method, objectOf(params));
  }

  end(end: RunEnd, stderr: string): ReadOutput {
    return this.#heard.heard(end, stderr);
  }

  #say(message: JsonObject): void {
    this.#port?.say(lineOf(message));
  }

  #answered(id: Json | undefined, result: JsonObject, error: Json | undefined): "message" {
    if (error !== undefined && id === STEER)
      this.#turn.show("codex did not take the note: it comes with the next turn.");
    else if (error !== undefined) this.#fail(error);
    else if (id === THREAD) this.#begin(textOf(objectOf(result["thread"])["id"]));
    else if (id === TURN) this.#began(textOf(objectOf(result["turn"])["id"]));
    return "message";
  }

  #began(turnId: string): void {
    this.#turnId = turnId;
    this.#port?.hear((text) => {
      const input = [{ type: "text", text }];
      this.#say({ id: STEER, method: "turn/steer", params: { threadId: this.#thread, expectedTurnId: turnId, input } });
    });
  }

  #begin(thread: string): void {
    const { request, repair, prompts } = this.#turn;
    this.#thread = thread;
    this.#heard.began(thread);
    const input = [{ type: "text", text: repair?.prompt ?? prompts.render(request) }];
    const outputSchema = schemaOf(request.payload);
    this.#say({ id: TURN, method: "turn/start", params: { threadId: thread, input, outputSchema } });
  }

  #fail(error: Json): void {
    this.#heard.failed(error);
    this.#port?.close();
  }

  #notified(method: string, params: JsonObject): "message" | "answer" | "over" {
    if (method === "account/rateLimits/updated") this.#heard.limits(objectOf(params["rateLimits"]));
    // The threads of codex's own helpers are reported, too.
    if (params["threadId"] !== this.#thread) return "message";
    switch (method) {
      case "item/started":
      case "item/completed": {
        const item = objectOf(params["item"]);
        if (item["type"] === "agentMessage") this.#heard.said(textOf(item["text"]));
        this.#items.set(textOf(item["id"]), item);
        this.#heard.item(item, method === "item/completed");
        break;
      }
      case "thread/tokenUsage/updated":
        if (params["turnId"] === this.#turnId) this.#used(objectOf(params["tokenUsage"]));
        break;
      case "error":
        this.#heard.retries(objectOf(params["error"]));
        // No end of the turn may follow.
        if (params["willRetry"] === false) this.#fail(objectOf(params["error"]));
        break;
      case "turn/completed":
        return this.#completed(objectOf(params["turn"]));
    }
    return "message";
  }

  /** `total` is the running total of the thread, `last` its last request. */
  #used({ total, last }: JsonObject): void {
    const { input_tokens = 0, output_tokens = 0 } = usageIn(objectOf(last));
    this.#heard.used(usageIn(objectOf(total)), input_tokens + output_tokens);
  }

  #completed({ status, error }: JsonObject): "answer" | "over" {
    if (status === "failed") this.#heard.failed(error ?? "");
    const kind = this.#heard.finished(status);
    this.#port?.close();
    return kind;
  }

  /** Handles codex's requests, whose ids start at 0. */
  #asked(id: Json, method: string, params: JsonObject): "message" | "answer" {
    if (method === "item/tool/requestUserInput") return this.#question(id, params);
    const item = this.#items.get(textOf(params["itemId"])) ?? {};
    const { request } = this.#turn;
    const wanted = permissionIn(method, params, item, request.payload.workspace);
    if (wanted === undefined) {
      this.#say({ id, error: { code: -32_601, message: `${method} is not supported.` } });
      return "message";
    }
    const port = this.#port;
    if (port !== undefined) {
      const reply = ({ granted }: Permission) => this.#say({ id, result: wanted.reply(granted) });
      void answered(wanted.asked, "codex", request, port.permit).then(reply);
    }
    return "message";
  }

  /** A question ends the turn, so that no process waits for a person. */
  #question(id: Json, { questions, turnId }: JsonObject): "message" | "answer" {
    const answer = askingAnswer(listOf(questions), this.#turn.request.payload.expects);
    if (answer === undefined) {
      const texts = listOf(questions).map((question) => [textOf(objectOf(question)["id"]), { answers: [NOBODY] }]);
      this.#say({ id, result: { answers: Object.fromEntries(texts) as JsonObject } });
      return "message";
    }
    const kind = this.#heard.take(answer);
    this.#say({ id: INTERRUPT, method: "turn/interrupt", params: { threadId: this.#thread, turnId: turnId ?? "" } });
    return kind;
  }
}
