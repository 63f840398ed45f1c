import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folderWithPackage } from "../installed.ts";
import { ROOT } from "../sources.ts";

/** What the programs in the documents print. */
const PRINTED: Readonly<Record<string, readonly string[]>> = {
  "docs/harness.md": [
    "It rains in Bern. 2 {}\n",
    `[ 'contains("DONE", "ann")' ]\n`,
    "There is no key for anthropic: set ANTHROPIC_API_KEY.\n",
  ],
  "docs/extending.md": [
    "MEETING_CREATED\nAGENT_JOINED_MEETING\nSTATE_CHANGED\nNEW_MESSAGE_IN_MEETING\nSTATE_CHANGED\nMEETING_CLOSED\n",
    "openai-compatible http://127.0.0.1:8000/v1\n",
    "Hello.\n",
    "[ 'note_read', 'note_list', 'now' ]\n",
    "[ '(agreement and turns>=3)' ]\n",
  ],
};

it.each(Object.entries(PRINTED))("the programs in %s run with the installed package", (document, printed) => {
  const folder = folderWithPackage();
  const programs = [...readFileSync(join(ROOT, document), "utf8").matchAll(/^```ts\n(.*?)^```/gms)];
  const outputs = programs.map(([, program = ""], index) => {
    const file = join(folder, `program-${index}.ts`);
    writeFileSync(file, program);
    // Without keys, with which they would ask a model.
    const { stdout, stderr } = spawnSync(process.execPath, [file], {
      cwd: folder,
      encoding: "utf8",
      env: { HOME: folder },
    });
    return stderr || stdout;
  });
  expect(outputs).toEqual(printed);
});
