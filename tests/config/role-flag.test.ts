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
  ])("%j is refused: only a shell could do that", (line) => {
    expect(errorOf(splitCommand(line))).toMatch(
      /has a meaning only for a shell; quote it with '…', or write sh -c '…'$/,
    );
  });

  test.each([
    ["'a", "a ' is never closed"],
    ['a "b', 'a " is never closed'],
    ["a\\", "it ends with a backslash that keeps nothing"],
  ])("%j is refused: %s", (line, why) => {
    expect(errorOf(splitCommand(line))).toBe(why);
  });

  test("arguments in single quotes come through whatever they are", () => {
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

  test("say what is wrong with what they are given", () => {
    const failures = ["", "  ", "claud:opus", "thing:x", "codex:", "a | b", "'x"].map((text) => {
      const { code, message, hint } = errorOf(roleFromFlag("manager", text));
      return [code, message, hint];
    });
    expect(failures).toMatchInlineSnapshot(`
      [
        [
          "usage",
          "--manager names no program.",
          "Give a command that speaks the envelope dialect, such as --manager "python3 manager.py".",
        ],
        [
          "usage",
          "--manager names no program.",
          "Give a command that speaks the envelope dialect, such as --manager "python3 manager.py".",
        ],
        [
          "usage",
          "--manager claud:opus: no known agent program is called "claud". Did you mean claude:opus?",
          "A model can be named for claude, codex, gemini, opencode, none of which this version can speak to yet; a path with a colon in it must have a / too: --manager ./claud:opus",
        ],
        [
          "usage",
          "--manager thing:x: no known agent program is called "thing".",
          "A model can be named for claude, codex, gemini, opencode, none of which this version can speak to yet; a path with a colon in it must have a / too: --manager ./thing:x",
        ],
        [
          "usage",
          "--manager codex:: the model after the colon is empty.",
          "Write --manager codex for its usual model.",
        ],
        [
          "usage",
          "--manager "a | b": | has a meaning only for a shell; quote it with '…', or write sh -c '…'.",
          undefined,
        ],
        [
          "usage",
          "--manager "'x": a ' is never closed.",
          undefined,
        ],
      ]
    `);
  });

  test("take the seat of the crew's roles of that type, and leave the others", () => {
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
