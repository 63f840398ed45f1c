import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type JsonObject, listOf, objectOf, textOf } from "../../src/lib/json.ts";
import { typed } from "./in-process.ts";
import { connect, type Connected } from "./mcp-client.ts";
import { jsonLines, rig, tinyPlan } from "./rig.ts";
import { endAfterwards } from "./strays.ts";

const CALLER = join(import.meta.dirname, "../fixtures/mcp/caller.mjs");

/** Calls a tool that must succeed, and gives its value. */
async function does(served: Connected, name: string, given: Record<string, unknown>): Promise<JsonObject> {
  const { isError, text, value } = await served.call(name, given);
  expect([name, isError ? text : ""]).toEqual([name, ""]);
  return value;
}

async function created(served: Connected, participants: string): Promise<string> {
  const value = await does(served, "meeting_create", { topic: "Which store?", participants, quorum: "2" });
  return textOf(value.session_id);
}

it("lets those with a token join, speak, propose and vote, and the local user lead", async () => {
  const here = endAfterwards(rig());
  const person = await connect(here);
  const meeting = await created(person, "eve,sam");
  const eve = await connect(here, { BOSUN_MEETING_TOKEN: "eve.a-secret" });
  const sam = await connect(here, { BOSUN_MEETING_TOKEN: "sam.another" });
  expect(await does(eve, "meeting_discover", { mine: true })).toMatchObject({ meetings: [{ meeting_id: meeting }] });
  for (const one of [eve, sam]) await does(one, "meeting_join", { meeting });
  const said = await does(eve, "meeting_post", { meeting, text: "Indexes break." });
  await does(sam, "meeting_post", { meeting, text: "They do.", reply_to: said.message_id });
  await does(sam, "meeting_propose", { meeting, title: "Keep it", details: "For a year." });
  const early = await eve.call("meeting_vote", { meeting, proposal: "p1", vote: "yes" });
  expect([early.isError, early.text]).toEqual([true, expect.stringContaining("There is no vote now")]);
  await does(person, "meeting_state", { meeting, state: "voting", reason: "All is said." });
  const odd = await eve.call("meeting_vote", { meeting, proposal: "p1", vote: "maybe" });
  expect([odd.isError, odd.text]).toEqual([true, expect.stringContaining('"yes", "no" or "abstain"')]);
  for (const one of [eve, sam]) await does(one, "meeting_vote", { meeting, proposal: "p1", vote: "yes" });
  const info = await does(eve, "meeting_info", { meeting });
  expect(info).toMatchObject({ state: "discussion", proposals: [{ proposal_id: "p1", status: "accepted" }] });
  const { messages, more } = await does(eve, "meeting_read", { meeting, type: "comment" });
  expect([more, listOf(messages).map((one) => objectOf(one).agent_id)]).toEqual([false, ["eve", "sam"]]);
  const later = await does(eve, "meeting_read", { meeting, type: "comment", since: said.message_id });
  expect(listOf(later.messages)).toHaveLength(1);
  await does(sam, "meeting_leave", { meeting });
  await does(person, "meeting_close", { meeting, summary: "We keep it." });
  expect((await does(eve, "meeting_discover", {})).meetings).toEqual([]);
  expect((await typed(here, ["replay", meeting, "--verify"])).code).toBe(0);
});

it("takes who acts from the environment, and never from an argument", async () => {
  const here = endAfterwards(rig());
  const person = await connect(here);
  const meeting = await created(person, "eve,sam");
  const nobody = await person.call("meeting_join", { meeting });
  expect([nobody.isError, nobody.text]).toEqual([true, expect.stringContaining("BOSUN_MEETING_TOKEN=ID.SECRET")]);
  const eve = await connect(here, { BOSUN_MEETING_TOKEN: "eve.a-secret" });
  await does(eve, "meeting_join", { meeting });
  for (const claim of [{ as: "sam" }, { token: "sam.x" }, { agent_id: "sam" }]) {
    const refused = await eve.call("meeting_post", { meeting, text: "I am Sam.", ...claim });
    expect([refused.isError, refused.text]).toEqual([true, expect.stringContaining("is not a known key")]);
  }
  const thief = await connect(here, { BOSUN_MEETING_TOKEN: "eve.guessed" });
  const refused = await thief.call("meeting_post", { meeting, text: "I am Eve." });
  expect([refused.isError, refused.text]).toEqual([true, expect.stringContaining("not the token")]);
  const stranger = await connect(here, { BOSUN_MEETING_TOKEN: "zed.secret" });
  const uninvited = await stranger.call("meeting_join", { meeting });
  expect([uninvited.isError, uninvited.text]).toEqual([true, expect.stringContaining("not invited")]);
  const { messages } = await does(eve, "meeting_read", { meeting, type: "comment" });
  expect(messages).toEqual([]);
});

it("lets a worker join and vote from inside its ticket under its role's id, and not lead", async () => {
  const here = endAfterwards(rig());
  const person = await connect(here);
  const meeting = await created(person, "smith,eve");
  const eve = await connect(here, { BOSUN_MEETING_TOKEN: "eve.a-secret" });
  await does(eve, "meeting_join", { meeting });
  const about = { meeting };
  const call = (name: string, given: object) => `'${name}=${JSON.stringify(given)}'`;
  const calls = [
    call("meeting_state", { ...about, state: "voting", reason: "I say so." }),
    call("meeting_join", about),
    call("meeting_propose", { ...about, title: "Keep it", details: "For a year." }),
    call("meeting_state", { ...about, state: "voting", reason: "I say so." }),
    call("session_cancel", { session: meeting }),
  ];
  const shell = `'${process.execPath}' '${CALLER}' ${calls.join(" ")} > answers`;
  const plan = here.write("plan.json", tinyPlan([{ task_id: "ask", shell }]));
  const smith = { role_id: "smith", type: "worker", cli_command: ["${node}", "${crew.shell}"] };
  const playbook = { role_id: "playbook", type: "manager", cli_command: ["${node}", "${crew.playbook}"] };
  const roles = here.write("roles.json", JSON.stringify({ roles: [smith, playbook] }));
  expect((await here.run(["run", "--plan", plan, "--roles", roles, "--session", "s-one"])).code).toBe(0);
  const answers = jsonLines<{ isError: boolean; text: string }>(readFileSync(join(here.workspace, "answers"), "utf8"));
  expect(answers).toMatchObject([true, false, false, true, true].map((isError) => ({ isError })));
  expect(answers[4]?.text).toMatch(/turn t\d+ of s-one/);
  const { messages } = await does(eve, "meeting_read", { meeting, type: "proposal" });
  expect(messages).toMatchObject([{ agent_id: "smith", title: "Keep it" }]);
});

it("lets a role of the project call a meeting from its ticket in the home of its session, lead it and vote", async () => {
  const here = endAfterwards(rig());
  const meeting = "k-";
  const calls: [string, object][] = [
    ["meeting_create", { topic: "Which store?", participants: "smith" }],
    ["meeting_join", { meeting }],
    ["meeting_propose", { meeting, title: "Keep it", details: "For a year." }],
    ["meeting_state", { meeting, state: "voting", reason: "All is said." }],
    ["meeting_vote", { meeting, proposal: "p1", vote: "yes" }],
  ];
  const words = calls.map(([name, given]) => `'${name}=${JSON.stringify(given)}'`).join(" ");
  const shell = `'${process.execPath}' '${CALLER}' ${words} > answers`;
  const plan = here.write("plan.json", tinyPlan([{ task_id: "ask", shell }]));
  const smith = { role_id: "smith", type: "worker", cli_command: ["${node}", "${crew.shell}"] };
  const playbook = { role_id: "playbook", type: "manager", cli_command: ["${node}", "${crew.playbook}"] };
  here.write("workspace/.bosun/roles.json", JSON.stringify({ roles: [smith, playbook] }));
  expect((await here.run(["trust", "--yes"])).code).toBe(0);
  expect((await here.run(["run", "--plan", plan, "--session", "s-one"])).code).toBe(0);
  const answers = jsonLines<{ isError: boolean; text: string }>(readFileSync(join(here.workspace, "answers"), "utf8"));
  expect(answers.filter(({ isError }) => isError)).toEqual([]);
  const person = await connect(here);
  const info = await does(person, "meeting_info", { meeting });
  expect(info).toMatchObject({ creator: "smith", proposals: [{ status: "accepted" }], state: "discussion" });
  await does(person, "meeting_close", { meeting, summary: "We keep it." });
});

it("refuses the local user's acts to a check, which has no role", async () => {
  const here = endAfterwards(rig());
  const person = await connect(here);
  const meeting = await created(person, "eve");
  const check = await connect(here, { BOSUN_SESSION_ID: "s-abc", BOSUN_ARTIFACTS_DIR: "/artifacts" });
  const refused = await check.call("meeting_close", { meeting, summary: "Over." });
  expect(refused).toMatchObject({ isError: true, value: { error: { code: "not_permitted" } } });
  expect(await does(check, "meeting_info", { meeting })).toMatchObject({ state: "open" });
});
