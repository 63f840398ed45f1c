import type { JsonObject } from "../../src/lib/json.ts";
import type { Action, Tool } from "./conversation.ts";

type Named = { readonly name: string; readonly input: JsonObject; readonly namespace?: string };

/** The tools that can do an action, by the names and inputs of each program: claude, gemini, opencode, codex. */
function candidates(action: Action): Named[] {
  if ("tool" in action) {
    const { tool: name, input, namespace } = action;
    return [{ name, input, ...(namespace === undefined ? {} : { namespace }) }];
  }
  if ("write" in action) {
    const { write: path, content } = action;
    const patch = `*** Add File: ${path}\n${content.replace(/\n$/, "").replaceAll(/^/gm, "+")}`;
    return [
      { name: "Write", input: { file_path: path, content } },
      { name: "write_file", input: { file_path: path, content } },
      { name: "write", input: { filePath: path, content } },
      { name: "exec_command", input: { cmd: applyPatch(patch) } },
    ];
  }
  if ("edit" in action) {
    const { edit: path, old, new: replaced } = action;
    const lines = [old.replaceAll(/^/gm, "-"), replaced.replaceAll(/^/gm, "+")].join("\n");
    return [
      { name: "Edit", input: { file_path: path, old_string: old, new_string: replaced } },
      {
        name: "replace",
        input: { file_path: path, old_string: old, new_string: replaced, instruction: `Change ${path}.` },
      },
      { name: "edit", input: { filePath: path, oldString: old, newString: replaced } },
      { name: "exec_command", input: { cmd: applyPatch(`*** Update File: ${path}\n@@\n${lines}`) } },
    ];
  }
  if ("run" in action) {
    const { run: command } = action;
    return [
      { name: "Bash", input: { command, description: command } },
      { name: "run_shell_command", input: { command, description: command } },
      { name: "bash", input: { command, description: command } },
      { name: "exec_command", input: { cmd: command } },
    ];
  }
  const { ask: question, options } = action;
  const choices = options.map((label) => ({ label, description: label }));
  const asked = { question, header: "Question", options: choices };
  return [
    { name: "AskUserQuestion", input: { questions: [{ ...asked, multiSelect: false }] } },
    { name: "request_user_input", input: { questions: [{ ...asked, id: "q1" }] } },
  ];
}

function applyPatch(patch: string): string {
  return `apply_patch <<'END_OF_PATCH'\n*** Begin Patch\n${patch}\n*** End Patch\nEND_OF_PATCH`;
}

/** The call for an action with the tools that the client offers. A tool that it does not offer is called under its first name. */
export function callFor(action: Action, tools: readonly Tool[]): Named {
  const possible = candidates(action);
  const offered = possible.find(({ name }) => tools.some((tool) => tool.name === name));
  const call = offered ?? possible[0];
  if (call === undefined) throw new Error("unreachable: each action has a tool");
  return call;
}
