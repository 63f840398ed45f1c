import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import { jsonLines, until } from "../commands/rig.ts";
import { answering, crew, manager, sinceTurn, turnOf } from "../model-servers/brains.ts";
import type { Action, Model } from "../model-servers/conversation.ts";
import { living } from "../processes.ts";
import { pair } from "./crews.ts";
import { outputUnless, placeWith } from "./place.ts";

/** The commands of roles that take part in meetings, as docs/mcp.md has them. */
const COMMANDS = {
  claude: ["claude", "--mcp-config=.mcp.json", "--allowedTools=mcp__bosun__meeting_*"],
  codex: ["codex", "-c", 'mcp_servers.bosun={command="bosun", args=["mcp"]}'],
};

/** A call of a tool of the server, as each program names it. */
function callOf(program: keyof typeof COMMANDS, tool: string, input: JsonObject): Action {
  return program === "claude" ? { tool: `mcp__bosun__${tool}`, input } : { tool, input, namespace: "mcp__bosun" };
}

const TASK = { task_id: "ask", description: "Have it decided which store is kept." };

/** The beginning of the id of the only meeting. */
const meeting = "k-";

/** What the worker calls, one after the other. */
const CALLS: readonly (readonly [tool: string, input: JsonObject])[] = [
  ["meeting_create", { topic: "Which store?", participants: "hand,eve", quorum: "2" }],
  ["meeting_join", { meeting }],
  ["meeting_propose", { meeting, title: "Keep it", details: "For a year." }],
  ["meeting_state", { meeting, state: "voting", reason: "All is said." }],
  ["meeting_vote", { meeting, proposal: "p1", vote: "yes", rationale: "It works." }],
  // Its program refuses this, which nobody allowed.
  ["session_start", { requirement: "More." }],
];

it.each([
  ["claude", "deny"],
  ["codex", "user"],
  ["codex", "deny"],
] as const)(
  "an agent calls a meeting from its ticket, leads it and votes in it, by bosun mcp: %s, whose role has ask: %s",
  async (program, ask) => {
    let [eve, last] = ["", ""];
    const works: Model = async (conversation) => {
      const turn = turnOf(conversation);
      const results = turn ? sinceTurn(conversation, turn).filter(({ from }) => from === "tool") : [];
      last = results.at(-1)?.text ?? last;
      const [tool, input] = CALLS[results.length] ?? [];
      // Eve takes part by commands meanwhile.
      if (tool === "meeting_join") eve = (await byCommand<{ token: string }>("join", "--as", "eve")).token;
      if (tool === "meeting_vote") await byCommand("vote", "p1", "yes", "--token", eve);
      if (tool !== undefined && input !== undefined) return { act: [callOf(program, tool, input)] };
      return answering(conversation, "report", { status: "completed", summary: "It was voted on." });
    };
    const here = await placeWith(crew(manager({ tasks: [TASK] }), works));
    const byCommand = async <T>(name: string, ...words: string[]) => {
      const done = await here.bosun("meeting", name, meeting, ...words, "--json");
      expect(outputUnless(0, done)).toBe("");
      return jsonLines<T>(done.stdout)[0] as T;
    };
    expect(outputUnless(0, await here.bosun("init", "--mcp", "--crew", program, "--yes"))).toBe("");
    const roles = pair("codex", program).roles.map((role) =>
      role.type === "worker" ? { ...role, cli_command: COMMANDS[program], permissions: { ask } } : role,
    );
    here.write("workspace/.bosun/roles.yaml", { roles });
    expect(outputUnless(0, await here.bosun("trust", "--yes"))).toBe("");
    const run = await here.bosun("run", "Decide.", "--session", "s-ask", "--yes", "--reporter", "plain");
    expect(outputUnless(0, run)).toBe("");
    expect(last).toMatch(/requested permissions to use|user rejected MCP tool call|requires approval/);

    const [ran] = jsonLines<{ tickets: object[] }>((await here.bosun("status", "s-ask", "--json")).stdout);
    expect(ran?.tickets).toMatchObject([{ ticket_id: "ask", status: "done", attempts: 1 }]);
    expect(await byCommand("info")).toMatchObject({
      creator: "hand",
      state: "discussion",
      proposals: [{ status: "accepted", result: { counts: { yes: 2 } } }],
    });
    const votes = jsonLines((await here.bosun("meeting", "read", meeting, "--type", "vote", "--json")).stdout);
    expect(votes).toMatchObject([
      { agent_id: "eve", vote: "yes" },
      { agent_id: "hand", vote: "yes", rationale: "It works." },
    ]);
    // What an agent started ends with its turn; the meeting goes on with the next act.
    await byCommand("close", "--summary", "We keep it.");
    const sessions = readdirSync(join(here.environment.BOSUN_HOME ?? "", "sessions"));
    await until("its scheduler to end", () => sessions.flatMap((id) => living(id)).length === 0);
  },
);
