import { expect, it } from "vitest";
import { unaskedWords } from "../../../src/commands/lookup/unasked.ts";
import type { Role } from "../../../src/protocol/roles.ts";
import { scratch } from "../../config/scratch.ts";

function wordsOf(role: Partial<Role>): string {
  const folder = scratch();
  folder.write("package.json", JSON.stringify({ scripts: { test: "vitest", lint: "oxlint" } }));
  return unaskedWords([{ role_id: "w", type: "worker", ...role }], folder.directory).join("\n");
}

const allowed = { permissions: { commands: ["npm test", "npm test *"] } };

it.each<[string, Partial<Role>, RegExp]>([
  [
    "claude's likely stop",
    { cli_command: ["claude"] },
    /changes files here without asking; it stops and asks you for npm test, npm run lint, every/,
  ],
  [
    "commands that are allowed",
    { cli_command: ["claude"], ...allowed },
    /here and runs npm test without asking; .* you for npm run lint, every/,
  ],
  [
    "a free program",
    { cli_command: ["claude", "--dangerously-skip-permissions"] },
    /with --dangerously-skip-permissions it asks for nothing/,
  ],
  ["codex's sandbox", { cli_command: ["codex"] }, /codex's sandbox, and asks you before it leaves that/],
  ["opencode without a shell", { cli_command: ["opencode"] }, /it has no shell/],
  ["opencode with commands", { cli_command: ["opencode"], ...allowed }, /runs no other command, and does not ask/],
  [
    "a role that may not ask",
    { cli_command: ["gemini"], permissions: { ask: "deny", write: "none" } },
    /changes no file .*denied/,
  ],
  ["a model in a sandbox", { backend: "model", sandbox: "files" }, /all others within the sandbox files/],
  ["a model without commands", { backend: "model", tools: ["read_file"] }, /it runs no command/],
  ["nothing of a program that is not told", { cli_command: ["sh", "x"] }, /^$/],
  ["nothing of a manager", { type: "manager", cli_command: ["claude"] }, /^$/],
])("what a worker may do says %s", (_, role, expected) => {
  expect(wordsOf(role)).toMatch(expected);
});
