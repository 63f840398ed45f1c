import type { PermissionRequest } from "../../../kernel/agent.ts";
import { type JsonObject, listOf, objectOf } from "../../../lib/json.ts";
import type { Question } from "../../../protocol/payload.ts";
import { cut } from "../../../protocol/refusal.ts";
import { pathIn, textOf } from "./claude-lines.ts";

/** The questions of its tool `AskUserQuestion`, with their options. Its own screen takes other answers, too. */
export function questionsOf(input: JsonObject): Question[] {
  return listOf(input.questions).flatMap((asked, index) => {
    const { question, options, multiSelect } = objectOf(asked);
    if (textOf(question) === "") return [];
    const choices = listOf(options)
      .map(objectOf)
      .filter(({ label }) => textOf(label) !== "");
    const described = choices.flatMap(({ label, description }) =>
      textOf(description) === "" ? [] : [`${textOf(label)}: ${textOf(description)}`],
    );
    const why = [...described, ...(multiSelect === true ? ["Several may be chosen."] : [])].join("\n");
    return [
      {
        question_id: `q${index + 1}`,
        text: cut(textOf(question), 20_000),
        ...(why === "" ? {} : { why: cut(why, 20_000) }),
        ...(choices.length === 0
          ? {}
          : { options: choices.slice(0, 100).map(({ label }) => cut(textOf(label), 2_000)) }),
      },
    ];
  });
}

/** What a person is asked when a tool needs a permission. */
export function permissionFor(asked: JsonObject, workspace: string): PermissionRequest {
  const input = objectOf(asked.input);
  const action = actionOf(textOf(asked.tool_name), input, workspace);
  const details = detailsOf(textOf(asked.tool_name), input);
  const why = textOf(input.description) || textOf(asked.decision_reason);
  return { action, ...(details === undefined ? {} : { details }), ...(why === "" ? {} : { why }) };
}

function actionOf(tool: string, input: JsonObject, workspace: string): string {
  switch (tool) {
    case "Bash": {
      const [first = "", ...rest] = textOf(input.command).split("\n");
      return `run: ${rest.length > 0 ? `${first} …` : first}`;
    }
    case "Edit":
    case "NotebookEdit":
    case "Write":
      return `write: ${pathIn(input, workspace)}`;
    case "Read":
      return `read: ${pathIn(input, workspace)}`;
    case "WebFetch":
      return `fetch: ${textOf(input.url)}`;
    case "WebSearch":
      return `search the web: ${textOf(input.query)}`;
    default:
      return `use: ${tool}`;
  }
}

function detailsOf(tool: string, input: JsonObject): string | undefined {
  if (tool === "Bash") return textOf(input.command).includes("\n") ? textOf(input.command) : undefined;
  if (tool === "Write") return textOf(input.content);
  return JSON.stringify(input, null, 2);
}
