import { hash } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/lib/json.ts";
import { councilMode } from "../../../src/modes/council/mode.ts";
import { validate } from "../../protocol/examples.ts";
import { CouncilSession } from "./session.ts";

const { mailbox } = councilMode;
if (!mailbox) throw new Error("a council has a mailbox");

/** Every message of a session, as its mailbox has it. */
function messagesOf(session: CouncilSession): JsonObject[] {
  const all = session.records.map((record, index) => ({ ...record, sequence: index + 1 }));
  return all.flatMap((record, index) => {
    const message = mailbox?.message(session.state, record, all[index + 1]);
    return message ? [message.content] : [];
  });
}

function eventsOf(session: CouncilSession): JsonObject[] {
  return session.records.flatMap((record, index) => mailbox?.events({ ...record, sequence: index + 1 }) ?? []);
}

/** Two from outside go through a whole council, one of them against its rules. */
function whole(): CouncilSession {
  const session = new CouncilSession({ participants: ["eve", "sam"], goal: "One store." }, {}, []).join("eve", "sam");
  session.as("eve", "agenda_item", { title: "The store" }).as("sam", "comment", { text: "Indexes." }).propose();
  session.votes("eve", "yes").callVote().votes("eve", "yes", "p1", { rationale: "It works." }).votes("sam", "yes");
  return session.send("summary", { summary_text: "We keep it." });
}

describe("the mailbox of a council", () => {
  it("has each message under the names of the seed, and fits the published schema", () => {
    const messages = messagesOf(whole());
    for (const message of messages) expect(validate("meeting_message", message)).toMatchObject({ ok: true });
    expect(messages.map(({ message_type, agent_id }) => [message_type, agent_id])).toEqual([
      ["participant", "eve"],
      ["participant", "sam"],
      ["state_change", "scheduler"],
      ["agenda_item", "eve"],
      ["comment", "sam"],
      ["proposal", "user"],
      ["error", "eve"],
      ["state_change", "user"],
      ["vote", "eve"],
      ["vote", "sam"],
      ["proposal_result", "scheduler"],
      ["state_change", "scheduler"],
      ["summary", "user"],
      ["state_change", "scheduler"],
    ]);
    const of = (type: string) => messages.find(({ message_type }) => message_type === type);
    expect(of("proposal")).toEqual({
      message_id: "m7",
      meeting_id: "s-1",
      timestamp_utc: expect.stringMatching(/Z$/),
      agent_id: "user",
      message_type: "proposal",
      proposal_id: "p1",
      title: "Keep it",
      details: "Keep it, as it is.",
      status: "proposed",
    });
    expect(of("error")).toMatchObject({
      code: "not_permitted",
      refused_type: "vote",
      allowed: expect.stringContaining("comment"),
    });
    expect(of("vote")).toMatchObject({ proposal_id: "p1", vote: "yes", rationale: "It works." });
    expect(messages[7]).toMatchObject({ old_state: "discussion", new_state: "voting", reason: "Enough." });
    expect(JSON.stringify(messages)).not.toContain("sha256");
  });

  it("has manifest, agenda and participants as they stand, and invitations until they are taken", () => {
    const about = { session_id: "it", opened_at: "2026-01-01T00:00:00Z", archived: false };
    const standing = (session: CouncilSession) => session.resolved(mailbox.standing(session.state, about));
    const opened = standing(new CouncilSession({ participants: ["eve"] }, {}, []));
    expect(opened["invitations/eve/it.json"]).toMatchObject({ meeting_id: "it", topic: "Which store?" });
    const session = whole();
    expect(standing(session)).toMatchObject({
      "it/manifest.json": {
        meeting_id: "it",
        topic: "Which store?",
        goal: "One store.",
        creator: "user",
        state: "closed",
        participants: ["eve", "sam"],
        protocol: { threshold: ">1/2", rule: "yes > 1/2 of those who can vote" },
      },
      "it/agenda.json": { items: [{ title: "The store" }], proposals: [{ status: "accepted", result: { voted: 2 } }] },
      "it/participants.json": {
        participants: [{ agent_id: "eve", status: "joined", refused: 1 }, { agent_id: "sam" }],
      },
    });
    expect(standing(session)["invitations/eve/it.json"]).toBeUndefined();
    expect(session.resolved(mailbox.standing(session.state, { ...about, archived: true }))).toMatchObject({
      "it/manifest.json": { state: "archived" },
    });
  });

  it("tells what happens as the events of the seed, and not what is voted", () => {
    const events = eventsOf(whole());
    expect(events.map(({ event }) => event)).toEqual([
      "MEETING_CREATED",
      "AGENT_JOINED_MEETING",
      "AGENT_JOINED_MEETING",
      "STATE_CHANGED",
      "NEW_MESSAGE_IN_MEETING",
      "NEW_MESSAGE_IN_MEETING",
      "NEW_MESSAGE_IN_MEETING",
      "PROPOSAL_ADDED",
      "STATE_CHANGED",
      "VOTING_STARTED",
      "VOTE_CAST",
      "VOTE_CAST",
      "PROPOSAL_RESOLVED",
      "STATE_CHANGED",
      "NEW_MESSAGE_IN_MEETING",
      "STATE_CHANGED",
      "MEETING_CLOSED",
    ]);
    const cast = events.filter(({ event }) => event === "VOTE_CAST");
    expect(cast[0]).toMatchObject({ agent_id: "eve", proposal_id: "p1" });
    expect(JSON.stringify(cast)).not.toMatch(/yes|It works/);
  });
});

describe("a dropped file", () => {
  const NOW = "2026-01-01T00:00:00Z";
  const read = (content: JsonObject) => mailbox.received({ agent_id: "eve", token: "s3cret", ...content }, NOW);
  const key = `sha256:${hash("sha256", "s3cret")}`;

  it("is a message of whom its token names, without the token", () => {
    expect(read({ message_type: "comment", text: "Hello.", meeting_id: "it", timestamp_utc: NOW })).toEqual({
      ok: true,
      value: { payload_type: "comment", payload: { text: "Hello." }, participant: "eve", key },
    });
  });

  it("joins with a token of its own", () => {
    expect(read({ message_type: "participant", status: "joined" })).toMatchObject({
      value: { payload: { agent_id: "eve", status: "joined", token_sha256: key } },
    });
  });

  it.each([
    ["an id that leads elsewhere", { agent_id: "../eve" }, "agent_id"],
    ["no id", { agent_id: 7 }, "agent_id"],
    ["a type that nobody sends", { message_type: "session_closed" }, "message_type"],
    ["a time that is none", { timestamp_utc: "yesterday" }, "yesterday"],
    ["a time ahead", { timestamp_utc: "2026-01-01T01:00:00Z" }, "future"],
  ])("is refused with %s", (_, more, why) => {
    const received = read({ message_type: "comment", text: "x", ...more });
    expect(received).toMatchObject({ ok: false, error: { message: expect.stringContaining(why) } });
  });
});
