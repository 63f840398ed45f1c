import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { splitCommand } from "../../src/config/command-line.ts";
import { replaceSeat, roleFromFlag } from "../../src/config/role-flag.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { errorOf, valueOf } from "./scratch.ts";

describe("a command line is split as a shell would", () => {
  test.each([
    ["python3 w.py", ["python3", "w.py"]],
    ["  a   b\tc  ", ["a", "b", "c"]],
    ["'my worker.py' x", ["my worker.py", "x"]],
    ['"my worker.py" x', ["my worker.py", "x"]],
    ["my\\ worker.py", ["my worker.py"]],
    ["a''b", ["ab"]],
    ["'' \"\"", ["", ""]],
    ["--x='a b'c", ["--x=a bc"]],
    ['"a\\"b" "c\\d" "e\\\\f"', ['a"b', "c\\d", "e\\f"]],
    ["'a\\b'", ["a\\b"]],
    ["'a\"b' \"c'd\"", ['a"b', "c'd"]],
    ["sh -c 'a | b && $HOME'", ["sh", "-c", "a | b && $HOME"]],
    ["a=b a#c x$ 5$", ["a=b", "a#c", "x$", "5$"]],
    ["", []],
  ])("%j", (line, words) => {
    expect(valueOf(splitCommand(line))).toEqual(words);
  });

  test.each([
    "a | b",
    "a > b",
    "a; b",
    "a && b",
    "echo $HOME",
    'echo "$HOME"',
    "echo `x`",
    "echo $(x)",
    "ls *.py",
    "~/worker",
  ])("%j is refused: it needs a shell", (line) => {
    expect(errorOf(splitCommand(line))).toContain("sh -c '…'");
  });

  test.each([
    ["'a", "'"],
    ['a "b', '"'],
    ["a\\", "backslash"],
  ])("%j is refused as unfinished", (line, fact) => {
    expect(errorOf(splitCommand(line))).toContain(fact);
  });

  test("arguments in single quotes are kept, whatever they contain", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" })), (words) => {
        const line = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
        expect(valueOf(splitCommand(line))).toEqual(words);
      }),
    );
  });
});

describe("--worker and --manager", () => {
  test.each([
    ["claude", { cli_command: ["claude"] }],
    ["codex:gpt-5.2", { cli_command: ["codex"], model: "gpt-5.2" }],
    ["opencode:provider/model:free", { cli_command: ["opencode"], model: "provider/model:free" }],
    ["python3 w.py", { cli_command: ["python3", "w.py"] }],
    ["codex exec --json", { cli_command: ["codex", "exec", "--json"] }],
    ["./my-worker", { cli_command: ["./my-worker"] }],
    ["./odd:name", { cli_command: ["./odd:name"] }],
    ["my-worker", { cli_command: ["my-worker"] }],
  ])("%s", (text, role) => {
    expect(valueOf(roleFromFlag("worker", text))).toEqual({ role_id: "worker", type: "worker", ...role });
  });

  test.each([
    ["", [/--manager "python3 manager\.py"/]],
    ["claud:opus", [/"claud"/, /Did you mean claude\?/, /claude, codex, gemini, opencode/, /--manager \.\/claud:opus/]],
    ["thing:x", [/"thing"/, /--manager \.\/thing:x/]],
    ["codex:", [/codex:/, /--manager codex/]],
    ["a | b", [/"a \| b"/, /sh -c/]],
    ["'x", [/"'x"/, /closed/]],
  ])("refuse %j", (text, facts) => {
    const { code, message, hint = "" } = errorOf(roleFromFlag("manager", text));
    expect([code, message]).toEqual(["usage", expect.stringContaining("--manager")]);
    for (const fact of facts) expect(`${message}\n${hint}`).toMatch(fact);
  });

  test("replace the crew's roles of that type", () => {
    const crew: Role[] = [
      { role_id: "boss", type: "manager" },
      { role_id: "one", type: "worker" },
      { role_id: "two", type: "worker" },
      { role_id: "guest", type: "participant" },
    ];
    const role = valueOf(roleFromFlag("worker", "claude"));
    expect(
      replaceSeat(crew, role)
        .map(({ role_id }) => role_id)
        .sort(),
    ).toEqual(["boss", "guest", "worker"]);
  });
});
