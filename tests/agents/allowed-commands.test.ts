import { expect, test } from "vitest";
import { isAllowedCommand } from "../../src/agents/permissions/allowed-commands.ts";
import { plainCommand } from "../../src/agents/cli/dialects/codex-items.ts";

test.each([
  ["touch a", true],
  ["touchy", false],
  ["touch a; rm -r b", false],
  ["touch $(rm -r b)", false],
  // Codex wraps commands in a shell of the system. Another shell can be any program.
  ["/bin/bash -lc 'touch a'", true],
  ["/usr/bin/zsh -c 'touch a'", true],
  ["/workspace/.x/bash -lc 'touch a'", false],
  ["./bin/sh -c 'touch a'", false],
  ["bash -lc 'touch a'", false],
])("with `touch *`, the command %s is allowed: %s", (command, isAllowed) => {
  expect(isAllowedCommand(plainCommand(command), ["touch *"])).toBe(isAllowed);
});
