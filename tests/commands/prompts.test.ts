import { dirname } from "node:path";
import { expect, test } from "vitest";
import { typed } from "./in-process.ts";
import { foreignCrew, rig } from "./rig.ts";

const OWN = "Do {{task}} in our way.\n";

test("bosun roles --prompts tells where each template comes from, and shows its text", async () => {
  const here = rig();
  const file = here.write("config/bosun/prompts/instruction.md", OWN);
  const { prompts } = JSON.parse((await typed(here, ["roles", "--prompts", "--json"])).stdout) as {
    prompts: { name: string; file: string; replaced: boolean }[];
  };
  expect(prompts.filter(({ replaced }) => replaced)).toEqual([
    { name: "instruction", file, replaced: true, text: OWN },
  ]);
  expect(prompts.map(({ name }) => name)).toEqual(expect.arrayContaining(["turn", "requirement", "report.verdict"]));
  expect((await typed(here, ["roles", "--prompts"])).stdout).toMatch(new RegExp(`instruction +yours +${file}`));
  expect((await typed(here, ["roles", "--prompts", "instruction"])).stdout).toBe(OWN);
  const unknown = await typed(here, ["roles", "--prompts", "instuction"]);
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining("instruction")]);
});

test("a session records the templates it began with, and does not begin with a wrong one", async () => {
  const here = rig();
  const file = here.write("own/instruction.md", OWN);
  const run = ["run", "Paint it.", ...foreignCrew(), "--json", "--prompts-from", dirname(file)];
  await typed(here, run);
  const [id = ""] = here.sessions();
  const opened = (await typed(here, ["replay", id, "--json"])).stdout.split("\n")[0] ?? "";
  expect(JSON.parse(opened)).toMatchObject({ payload: { config: { prompts: { instruction: OWN } } } });
  here.write("own/instruction.md", "Do {{taks}}.\n");
  const refused = await typed(here, run);
  expect([refused.code, refused.stdout]).toEqual([3, expect.stringContaining("taks")]);
  expect(here.sessions()).toEqual([id]);
});
