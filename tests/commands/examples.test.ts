import { Command } from "commander";
import { expect, test } from "vitest";
import { CATALOGUE, type CommandEntry } from "../../src/commands/catalogue.ts";
import { splitCommand } from "../../src/config/command-line.ts";
import { typed } from "./in-process.ts";
import { rig } from "./rig.ts";

/** What commander says is wrong with a command line; undefined if it would run the command. */
async function wrongIn({ name, load }: CommandEntry, example: string): Promise<string | undefined> {
  const [line = ""] = example.split(/ >>? /);
  const split = splitCommand(line);
  if (!split.ok) return split.error;
  const [bosun, ...words] = split.value;
  if (bosun !== "bosun") return "it does not begin with bosun";
  let isRun = false;
  const program = new Command("bosun").exitOverride().configureOutput({ writeErr: () => {} });
  const outer = name
    .split(" ")
    .slice(0, -1)
    .reduce((around, word) => around.command(word), program);
  const command = outer.command(name.split(" ").at(-1) ?? "").action(() => void (isRun = true));
  (await load()).register(command);
  try {
    await program.parseAsync(words, { from: "user" });
  } catch (error) {
    return (error as Error).message;
  }
  return isRun ? undefined : `it does not run ${name}`;
}

test.each(CATALOGUE)("$name has one to three examples, which its command and options take", async (entry) => {
  expect(entry.examples.length).toBeGreaterThan(0);
  expect(entry.examples.length).toBeLessThan(4);
  for (const example of entry.examples) expect([example, await wrongIn(entry, example)]).toEqual([example, undefined]);
});

test("an example with a wrong option or command is found", async () => {
  const entry = CATALOGUE.find(({ name }) => name === "log") as CommandEntry;
  expect(await wrongIn(entry, "bosun log --follw")).toContain("--follw");
  expect(await wrongIn(entry, "bosun lgo")).toContain("lgo");
});

test("the help of a command shows its examples first after the usage", async () => {
  const { stdout } = await typed(rig(), ["retry", "--help"]);
  const examples = CATALOGUE.find(({ name }) => name === "retry")?.examples ?? [];
  expect(stdout.split("\n\n")[1]).toBe(["Examples:", ...examples.map((example) => `  ${example}`)].join("\n"));
  expect((await typed(rig(), ["help", "retry"])).stdout).toBe(stdout);
});
