import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import { crew, manager, type Turn, worker } from "../model-servers/brains.ts";
import type { Message, Model } from "../model-servers/conversation.ts";
import { pair } from "./crews.ts";
import { type Ended, outputUnless, type Place, placeWith } from "./place.ts";

const TICKETS = Array.from({ length: 10 }, (_, index) => `t${index}`);
const LAST = "t9";
const DEPLOY = `npm run deploy -- ${LAST}`;

/** The scripts of the project. `bosun init` proposes those that test and build, and not the one that deploys. */
const SCRIPTS = { test: "node did.mjs tested", build: "node did.mjs built", deploy: "node did.mjs deployed" };

/** Writes down what was done with a module that is there. */
const DID = `import { appendFileSync, readFileSync } from "node:fs";
const [, , what, name] = process.argv;
readFileSync(name + ".mjs");
appendFileSync(what, name + "\\n");
`;

const TASKS: readonly JsonObject[] = TICKETS.map((task_id) => ({
  task_id,
  description: `Write ${task_id}.mjs, test and build it.`,
  acceptance_criteria: [{ text: "it is tested", command: ["grep", "-qx", task_id, "tested"] }],
}));

/**
 * Workers write a module, and test and build it by commands that are no criteria; the worker of the last ticket also runs `more`. The manager
 * approves what nothing was denied for. `reviewed` has what it was shown of the last ticket.
 */
function crewOf(more: readonly string[] = []): { readonly model: Model; readonly reviewed: string[] } {
  const reviewed: string[] = [];
  const works = worker(({ ticket_id }) => [
    { write: `${ticket_id}.mjs`, content: `export const name = "${ticket_id}";\n` },
    { run: `npm test -- ${ticket_id}` },
    { run: `npm run build -- ${ticket_id}` },
    ...(ticket_id === LAST ? more.map((run) => ({ run })) : []),
  ]);
  const review = ({ ticket_id, text }: Turn): JsonObject => {
    if (ticket_id === LAST) reviewed.push(text);
    if (!text.includes("Denied: ")) return { decision: "approved" };
    return { decision: "changes_requested", notes: "It is not deployed.", requested_changes: ["Deploy it."] };
  };
  const model = crew(manager({ tasks: TASKS, review }), works);
  // A call that was cut off has a result all the same, which says that it is unknown: the model calls again.
  const isKnown = ({ text }: Message) => !text.startsWith("[Tool call interrupted");
  return { model: (said) => model({ ...said, messages: said.messages.filter(isKnown) }), reviewed };
}

/** A project whose own commands `bosun init` has allowed. */
async function projectWith(model: Model): Promise<Place> {
  const here = await placeWith(model);
  // npm would look for its newest version.
  here.write("home/.npmrc", "update-notifier=false\n");
  here.write("workspace/package.json", { private: true, scripts: SCRIPTS });
  here.write("workspace/did.mjs", DID);
  const init = await here.bosun("init", "--yes");
  expect(outputUnless(0, init)).toBe("");
  expect(init.stdout).toContain("npm test, npm run build: workers may run these without asking");
  return here;
}

/** What the scripts did is looked for in the workspace itself. */
const RUN = ["run", "Write ten modules.", "--isolation", "none", "--yes", "--no-input"];

/** The modules that a script was run for. */
const modulesIn = (here: Place, script: string) => here.read(script).trimEnd().split("\n").toSorted();

/** What was asked for, and how it was decided. */
async function permissionsIn(here: Place): Promise<readonly (readonly [string, unknown, unknown])[]> {
  const records = await here.records();
  return records.flatMap(({ payload_type, payload: { about, decision, notes } }) =>
    payload_type === "approval_request" || (payload_type === "approval" && decision === "rejected")
      ? [[payload_type, (about as JsonObject | undefined)?.["action"] ?? decision, notes] as const]
      : [],
  );
}

/** Settings in which work that is not accepted is not tried again. */
const once = (here: Place) => here.write("once.json", { max_retries: 0, max_review_rounds: 0, max_escalations: 0 });

/** Expects that everything is done but the last ticket, whose reviewer did not accept it. */
async function isOnlyNotDeployed(here: Place, { stdout }: Ended): Promise<void> {
  expect(stdout).toMatch(/is failed: 9 of 10 tickets done[^]*^t9 failed: not accepted: Deploy it\.$/m);
  expect(here.has("deployed")).toBe(false);
  const { outcome, tickets, pending_questions } = await here.status();
  expect({ outcome, pending_questions }).toEqual({ outcome: "failed", pending_questions: [] });
  expect(tickets.filter(({ status }) => status !== "done").map(({ ticket_id }) => ticket_id)).toEqual([LAST]);
}

describe("a night of ten tickets with nobody there", () => {
  it.each([
    ["here", ["--reporter", "plain"]],
    ["in the background", ["--detach"]],
  ])("runs the project's own commands and is done without a question, %s", async (_where, flags) => {
    const here = await projectWith(crewOf().model);
    expect(outputUnless(0, await here.bosun(...RUN, ...flags))).toBe("");
    expect(outputUnless(0, await here.bosun("wait"))).toBe("");
    const { outcome, tickets, pending_questions } = await here.status();
    expect({ outcome, pending_questions }).toEqual({ outcome: "done", pending_questions: [] });
    expect(tickets.map(({ ticket_id, status, attempts }) => [ticket_id, status, attempts])).toEqual(
      TICKETS.map((id) => [id, "done", 1]),
    );
    for (const script of ["tested", "built"]) expect(modulesIn(here, script)).toEqual(TICKETS);
    expect(await permissionsIn(here)).toEqual([]);
  });

  it("denies a command that is not allowed, tells the reviewer, and ends as failed", async () => {
    const { model, reviewed } = crewOf([DEPLOY]);
    const here = await projectWith(model);
    const run = await here.bosun(...RUN, "--config", once(here), "--unanswered", "default", "--reporter", "plain");
    expect(outputUnless(1, run)).toBe("");
    expect(run.stderr).toContain("Nobody is here to answer: what is asked for is denied.");
    expect(run.stdout).toContain(`${LAST}               not accepted by manager_codex: Deploy it.`);
    expect(await permissionsIn(here)).toEqual([
      ["approval_request", `run: ${DEPLOY}`, undefined],
      ["approval", "rejected", "Nobody is there to allow it."],
    ]);
    expect(reviewed).toEqual([expect.stringContaining(`Denied: run: ${DEPLOY} (Nobody is there to allow it.)`)]);
    await isOnlyNotDeployed(here, run);
  });

  it("does so where the worker may not even ask", async () => {
    const { model, reviewed } = crewOf([DEPLOY]);
    const here = await projectWith(model);
    // With both flags, nothing of the project's own configuration counts.
    const permissions = { ask: "deny", commands: ["npm test *", "npm run build *"] } as const;
    const roles = here.write("roles.json", pair("codex", "claude", { permissions }));
    const run = await here.bosun(...RUN, "--config", once(here), "--roles", roles, "--reporter", "plain");
    expect(outputUnless(1, run)).toBe("");
    expect(run.stderr).toContain("all other commands that change something are denied");
    expect(await permissionsIn(here)).toEqual([]);
    const refused = (await here.records()).filter(({ record }) => record.disposition === "refused");
    expect(refused.map(({ payload }) => payload["message"])).toEqual([
      `hand asked for a permission, which its role denies: run: ${DEPLOY}`,
    ]);
    expect(reviewed).toEqual([expect.stringContaining(`Denied: run: ${DEPLOY} (The permissions of hand`)]);
    await isOnlyNotDeployed(here, run);
  });

  it("stops and asks for such a command in the morning, when everything else is done", async () => {
    const { model, reviewed } = crewOf([DEPLOY]);
    const here = await projectWith(model);
    const stopped = await here.bosun(...RUN, "--reporter", "plain");
    expect(outputUnless(4, stopped)).toBe("");
    expect(stopped.stdout).toContain("9 of 10 tickets done");
    const [, command = ""] = /bosun (answer \S+ p\d+) allow$/m.exec(stopped.stdout) ?? [];
    const words = [...command.split(" "), "allow", "--resume", "--no-input"];
    expect(outputUnless(0, await here.bosun(...words))).toBe("");
    expect(modulesIn(here, "deployed")).toEqual([LAST]);
    expect(reviewed).toHaveLength(1);
    expect((await here.status()).outcome).toBe("done");
  });
});
