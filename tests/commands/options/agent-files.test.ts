import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { loadCrew } from "../../../src/config/crews.ts";
import { withAgentFiles } from "../../../src/commands/options/agent-files.ts";
import type { Role } from "../../../src/protocol/roles.ts";
import { failureOf, value } from "../../results.ts";
import { paperTerminal } from "../in-process.ts";
import { type Rig, rig } from "../rig.ts";

const CHAIR: Role = { role_id: "chair", type: "manager", cli_command: ["true"] };

let here: Rig;

beforeEach(() => {
  here = rig();
  mkdirSync(join(here.workspace, "agents"));
  for (const name of ["architect", "shell"])
    writeFileSync(
      join(here.workspace, "agents", `${name}.json`),
      JSON.stringify({ name, role: "Expert", system_prompt: "You judge." }),
    );
  writeFileSync(join(here.workspace, "agents", "broken.json"), "{");
});

function named(ids: readonly string[], registry: readonly Role[], agentsDir?: string) {
  const { workspace: directory, environment } = here;
  const context = { terminal: paperTerminal(), directory, environment, home: undefined, leave: () => {} };
  return withAgentFiles(context, agentsDir === undefined ? {} : { agentsDir }, ids, registry);
}

it("agents that no registry has come from their files", async () => {
  const { roles, others } = value(await named(["architect", "chair"], [CHAIR]));
  expect(roles).toMatchObject([CHAIR, { role_id: "architect", display_name: "Expert", backend: "model" }]);
  expect(others).toEqual(["broken", "shell"]);
});

it("an agent takes the place of a role of the embedded crew", async () => {
  const embedded = value(await loadCrew("embedded", []));
  const { roles } = value(await named(["shell"], embedded));
  expect(roles).toMatchObject([{ role_id: "playbook" }, { role_id: "shell", backend: "model" }]);
});

it("a file that is named and broken fails, with its place", async () => {
  expect(failureOf(await named(["broken"], [CHAIR]))).toMatchObject({
    code: "configuration",
    message: expect.stringContaining("broken.json:1:"),
  });
});

it("no name leads out of the folder, and what has no file is left to the check of the seats", async () => {
  writeFileSync(join(here.workspace, "secret.json"), JSON.stringify({ name: "secret" }));
  expect(value(await named(["../secret", "ghost"], [CHAIR])).roles).toEqual([CHAIR]);
});

it("a folder that is not there has no agents, unless it is named", async () => {
  here = { ...here, workspace: join(here.workspace, "agents") };
  expect(value(await named(["ghost"], [CHAIR]))).toEqual({ roles: [CHAIR], others: [] });
  expect(failureOf(await named(["ghost"], [CHAIR], "none"))).toMatchObject({ code: "usage" });
});
