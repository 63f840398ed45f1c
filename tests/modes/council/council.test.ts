import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/lib/json.ts";
import { CHAIR, CouncilSession, keyOf, ROLES } from "./session.ts";

/** A council of two from outside, in the discussion, with one proposal. */
function outside(input: JsonObject = {}, ids = ["eve", "sam"]): CouncilSession {
  return new CouncilSession({ participants: ids, ...input }, {}, []).join(...ids).propose();
}

describe("a council of roles", () => {
  it("discusses in rounds, votes and closes by itself", () => {
    const session = new CouncilSession();
    expect(session.open).toEqual(["ann council_state ann", "bob council_state bob", "cid council_state cid"]);
    session
      .says("ann")
      .answer("bob", "proposal", { title: "Keep it", details: "For a year." })
      .answer("cid", "pass", { reason: "All is said." });
    expect([session.standings, session.self.round]).toEqual([["discussion", "p1 proposed"], 2]);
    for (const id of ["ann", "bob", "cid"]) session.answer(id, "pass", { reason: "All is said." });
    expect(session.standings).toEqual(["voting", "p1 proposed"]);
    session.answer("ann", "vote", { proposal_id: "p1", vote: "yes" });
    session.answer("bob", "vote", { proposal_id: "p1", vote: "no", rationale: "It costs." });
    session.answer("cid", "vote", { proposal_id: "p1", vote: "yes" });
    expect(session.written("proposal_result")).toEqual([
      {
        proposal_id: "p1",
        status: "accepted",
        counts: { yes: 2, no: 1, abstain: 0 },
        weights: { yes: 2, no: 1, abstain: 0 },
        base: "active",
        base_size: 3,
        quorum: 0,
        quorum_met: true,
        voted: 3,
        rule: "yes > 1/2 of those who can vote",
        decided_early: false,
        missing: [],
        dissent: [{ agent_id: "bob", vote: "no", rationale: "It costs." }],
      },
    ]);
    expect(session.ended).toMatchObject({
      outcome: "done",
      report: {
        result: {
          summary: "Nobody wrote a summary: nothing is left to decide. The proposals:\np1, accepted:\nKeep it",
          conclusion: "Keep it\nFor a year.",
          dissent: ["It costs."],
          proposals: [{ proposal_id: "p1", agent_id: "bob", status: "accepted", result: { voted: 3 } }],
        },
      },
    });
    expect(session.written("state_change").map(({ old_state, new_state }) => [old_state, new_state])).toEqual([
      ["open", "discussion"],
      ["discussion", "voting"],
      ["voting", "discussion"],
      ["discussion", "closed"],
    ]);
  });

  it("concludes with its summary if it accepts nothing", () => {
    const session = new CouncilSession({ max_rounds: 1, facilitator: "chair" }, {}, [...ROLES, CHAIR]);
    for (const id of ["ann", "bob", "cid"]) session.answer(id, "pass", { reason: "All is said." });
    session.answer(undefined, "summary", { summary_text: "Nothing to do." });
    expect(session.ended?.report["result"]).toMatchObject({ conclusion: "Nothing to do.", dissent: [] });
  });

  it("shows each role what was said before its round, and no vote before the result", () => {
    const session = new CouncilSession({ goal: "One store." }).says("ann", "ANN").says("bob", "BOB");
    const shown = (id: string) => JSON.stringify(session.resolved(session.draft(id)));
    expect(shown("cid")).not.toMatch(/ANN|BOB/);
    session.answer("cid", "proposal", { title: "Keep it", details: "So." });
    expect(shown("ann")).toMatch(/ANN.*BOB/s);
    for (const id of ["ann", "bob", "cid"]) session.answer(id, "pass", { reason: "All is said." });
    session.answer("ann", "vote", { proposal_id: "p1", vote: "no", rationale: "SECRET" });
    expect(session.resolved(session.draft("bob"))).toMatchObject({
      expects: ["error", "pass", "vote"],
      choices: { "/proposal_id": ["p1"] },
      message: { payload: { asked: "vote", proposal_id: "p1", goal: "One store.", state: "voting" } },
    });
    expect(shown("bob")).not.toContain("SECRET");
  });

  it("withdraws the turns of a vote that is decided early", () => {
    const session = new CouncilSession().answer("ann", "proposal", { title: "Keep it", details: "So." });
    for (const id of ["bob", "cid", "ann", "bob", "cid"]) session.answer(id, "pass", { reason: "All is said." });
    session
      .answer("ann", "vote", { proposal_id: "p1", vote: "yes" })
      .answer("bob", "vote", { proposal_id: "p1", vote: "yes" });
    expect(session.written("proposal_result")).toMatchObject([
      { status: "accepted", decided_early: true, missing: ["cid"] },
    ]);
    expect(session.ended).toMatchObject({ outcome: "done" });
  });

  it("goes on after a vote that ends when it is called, for want of voters", () => {
    const session = new CouncilSession({ participants: ["ann"], quorum: "2" });
    session.answer("ann", "proposal", { title: "Keep it", details: "So." });
    session.answer("ann", "pass", { reason: "All is said." });
    expect(session.ended).toMatchObject({ outcome: "done" });
    expect(session.written("proposal_result")).toMatchObject([{ status: "no_quorum", quorum: 2, missing: ["ann"] }]);
  });

  it("closes without a vote if nobody proposes anything", () => {
    const session = new CouncilSession();
    for (const id of ["ann", "bob", "cid"]) session.answer(id, "pass", { reason: "All is said." });
    expect(session.ended?.report["result"]).toMatchObject({ proposals: [], round: 1 });
  });

  it("takes a role whose turns fail for one that does not vote", () => {
    const session = new CouncilSession({}, { max_retries: 0 });
    session
      .answer("ann", "proposal", { title: "Keep it", details: "So." })
      .answer("bob", "pass", { reason: "All is said." })
      .fail("cid");
    for (const id of ["ann", "bob"]) session.answer(id, "pass", { reason: "All is said." });
    session.fail("cid");
    session.answer("ann", "vote", { proposal_id: "p1", vote: "yes" }).fail("cid");
    session.answer("bob", "vote", { proposal_id: "p1", vote: "no" });
    expect(session.written("proposal_result")).toMatchObject([{ status: "rejected", voted: 2, missing: ["cid"] }]);
  });

  it("refuses what does not answer, and a vote on another proposal", () => {
    const session = new CouncilSession().answer("ann", "vote", { proposal_id: "p1", vote: "yes" });
    expect([session.refused, session.draft("ann").context["refused"]]).toMatchObject(["not_permitted", [{}]]);
    expect(session.why).toContain("send comment or proposal or pass");
  });
});

describe("a facilitator that is a role", () => {
  const led = (input: JsonObject = {}) => new CouncilSession({ facilitator: "chair", ...input }, {}, [...ROLES, CHAIR]);
  const round = (session: CouncilSession) => {
    for (const id of ["ann", "bob", "cid"]) session.answer(id, "pass", { reason: "All is said." });
    return session;
  };

  it("goes on, calls the vote, and closes with its summary", () => {
    const session = led().answer("ann", "proposal", { title: "Keep it", details: "So." });
    for (const id of ["bob", "cid"]) session.says(id);
    expect(session.open).toEqual(["chair council_state"]);
    expect(session.draft(undefined)).toMatchObject({
      expects: ["error", "state_change", "summary"],
      choices: { "/new_state": ["discussion", "voting"] },
    });
    session.answer(undefined, "state_change", { new_state: "discussion", reason: "More." });
    round(session).answer(undefined, "state_change", { new_state: "voting", reason: "Enough." });
    for (const id of ["ann", "bob"]) session.answer(id, "vote", { proposal_id: "p1", vote: "no" });
    expect([session.standings, session.open]).toEqual([["discussion", "p1 rejected"], ["chair council_state"]]);
    session.answer(undefined, "summary", { summary_text: "Nothing is kept." });
    expect(session.ended?.report["result"]).toMatchObject({ summary: "Nothing is kept.", facilitator: "chair" });
  });

  it("may only end once the rounds are over", () => {
    const session = round(led({ max_rounds: 1 }));
    expect(session.draft(undefined)).toMatchObject({ expects: ["error", "summary"] });
    session.answer(undefined, "state_change", { new_state: "discussion", reason: "More." });
    expect(session.why).toContain("the 1 rounds are over");
    session.answer(undefined, "state_change", { new_state: "closed", reason: "Done." });
    expect(session.why).toContain("closes with a summary");
    session.answer(undefined, "state_change", { new_state: "voting", reason: "Vote." });
    expect(session.ended?.report["result"]).toMatchObject({
      summary: expect.stringContaining("Nothing was proposed."),
    });
  });

  it("decides a tie", () => {
    const session = led({ participants: ["ann", "bob"], tie: "facilitator" });
    session
      .answer("ann", "proposal", { title: "Keep it", details: "So." })
      .answer("bob", "pass", { reason: "All is said." });
    session.answer(undefined, "state_change", { new_state: "voting", reason: "Enough." });
    session
      .answer("ann", "vote", { proposal_id: "p1", vote: "yes" })
      .answer("bob", "vote", { proposal_id: "p1", vote: "no" });
    expect([session.standings, session.open]).toEqual([["voting", "p1 tied"], ["chair council_state"]]);
    session.answer(undefined, "vote", { proposal_id: "p1", vote: "yes" });
    expect([session.last.disposition, session.standings]).toEqual(["applied", ["discussion", "p1 accepted"]]);
    expect(session.written("proposal_result").map(({ status, decided_by }) => [status, decided_by])).toEqual([
      ["tied", undefined],
      ["accepted", "chair"],
    ]);
  });
});

describe("those from outside", () => {
  it("are waited for, act by their tokens, and the council goes on as the local user says", () => {
    const session = new CouncilSession({ participants: ["eve", "sam"] }, {}, []);
    expect([session.standings, session.members]).toEqual([["open"], ["eve invited", "sam invited"]]);
    session.join("eve").join("sam");
    expect(session.standings).toEqual(["discussion"]);
    session.as("eve", "comment", { text: "Hello." }).as("sam", "proposal", { title: "Keep it", details: "So." });
    session.callVote().votes("eve", "yes").votes("eve", "yes", "p1", { rationale: "Still." }).votes("sam", "yes");
    expect([session.standings, session.members]).toEqual([
      ["discussion", "p1 accepted"],
      ["eve joined", "sam joined"],
    ]);
    session.send("summary", { summary_text: "We keep it." });
    expect(session.ended).toMatchObject({ outcome: "done", report: { result: { summary: "We keep it." } } });
  });

  it("vote from the next vote on if they join late", () => {
    const session = outside({}, ["eve", "sam"]).send("participant", { agent_id: "kim", status: "invited" });
    session.callVote().join("kim").votes("kim", "yes");
    expect([session.refused, session.why]).toEqual(["not_permitted", expect.stringContaining("had joined when")]);
    session.votes("eve", "yes").votes("sam", "yes").propose("Move").callVote();
    session.votes("kim", "no", "p2").votes("eve", "no", "p2");
    expect(session.standings).toEqual(["discussion", "p1 accepted", "p2 rejected"]);
  });

  it("void their votes when they leave", () => {
    const session = outside({}, ["eve", "sam", "kim"]).callVote().votes("eve", "yes").votes("sam", "no");
    session.as("sam", "participant", { agent_id: "sam", status: "left" });
    expect(session.standings).toEqual(["voting", "p1 proposed"]);
    session.votes("kim", "yes");
    expect(session.written("proposal_result")).toMatchObject([
      { status: "accepted", counts: { yes: 2, no: 0 }, base_size: 2 },
    ]);
    expect(session.members).toEqual(["eve joined", "sam left", "kim joined"]);
    session.join("sam");
    expect(session.why).toContain("has left");
  });

  it("lose their old token when they join again", () => {
    const session = outside();
    session.send("participant", { agent_id: "eve", status: "joined", token_sha256: keyOf("eve", 2) });
    session.as("eve", "comment", { text: "It is me." });
    expect([session.refused, session.why]).toEqual(["not_permitted", expect.stringContaining("join again")]);
    session.as("eve", "comment", { text: "It is me." }, keyOf("eve", 2));
    expect(session.last.disposition).toBe("applied");
    expect(session.state.subjects.get("eve")).toMatchObject({ key: keyOf("eve", 2) });
  });

  it("vote on what was called after they had joined, though they joined again since", () => {
    const session = outside().callVote();
    session.send("participant", { agent_id: "eve", status: "joined", token_sha256: keyOf("eve", 2) });
    session.as("eve", "vote", { proposal_id: "p1", vote: "yes" }, keyOf("eve", 2));
    expect(session.last.disposition).toBe("applied");
  });

  it("lead if the council was called by them", () => {
    const session = new CouncilSession({ participants: ["sam"], creator: "eve" }, {}, []).join("sam", "eve").propose();
    session.as("sam", "state_change", { new_state: "voting", reason: "Now." });
    expect(session.why).toBe('"sam" may not change the state: "eve" leads, and the local user may');
    session.as("eve", "state_change", { new_state: "voting", reason: "Now." }).votes("eve", "yes");
    expect(session.why).toContain('"eve" does not vote on p1');
    session.votes("sam", "yes").as("eve", "participant", { agent_id: "eve", status: "left" });
    session.as("eve", "participant", { agent_id: "eve", status: "invited" });
    expect(session.why).toContain('"eve" has not joined: it is left');
    session.send("participant", { agent_id: "eve", status: "invited" }).join("eve");
    session.as("eve", "summary", { summary_text: "So." });
    expect(session.ended).toMatchObject({ outcome: "done" });
  });

  it("vote once more after a tie, if that is the rule", () => {
    const session = outside({ tie: "revote" }).callVote().votes("eve", "yes").votes("sam", "no");
    expect(session.standings).toEqual(["voting", "p1 proposed"]);
    session.votes("eve", "yes").votes("sam", "no");
    expect(session.written("proposal_result").map(({ status }) => status)).toEqual(["tied", "rejected"]);
  });

  it("have until the deadline", () => {
    const session = outside({ discussion_s: 60, voting_s: 30, quorum: "2" });
    expect(session.open).toEqual(
      ["timer:discussion in 60000 ms"].map((line) => expect.stringMatching(line.slice(0, 16))),
    );
    session.fireTimer("timer:discussion");
    expect(session.standings).toEqual(["voting", "p1 proposed"]);
    session.votes("eve", "yes").fireTimer("timer:voting");
    expect(session.standings).toEqual(["discussion", "p1 no_quorum"]);
    session.fireTimer("timer:discussion");
    expect(session.ended).toMatchObject({ outcome: "done" });
  });

  it.each<[what: string, act: (session: CouncilSession) => unknown, why: string]>([
    ["a vote outside voting", (s) => s.votes("eve", "yes"), "there is no vote now: it is discussion"],
    ["a vote of a stranger", (s) => s.callVote().votes("mallory", "yes"), '"mallory" is not invited'],
    [
      "a vote on an unknown proposal",
      (s) => s.callVote().votes("eve", "yes", "p9"),
      'there is no proposal "p9": open: p1',
    ],
    [
      "a vote on what is decided",
      (s) => s.callVote().votes("sam", "no").votes("eve", "yes"),
      "the proposal p1 is rejected, which is final",
    ],
    ["the token of another", (s) => s.as("eve", "comment", { text: "I am eve." }, keyOf("sam")), "not the token"],
    [
      "a proposal during a vote",
      (s) => s.callVote().as("eve", "proposal", { title: "No", details: "No." }),
      "allowed in voting",
    ],
    [
      "a vote without proposals",
      (s) => s.send("proposal", { proposal_id: "p1", status: "withdrawn" }).callVote(),
      "nothing is proposed",
    ],
    [
      "a reply to what is not there",
      (s) => s.as("eve", "comment", { text: "So.", reply_to_message_id: "m999" }),
      "no message m999",
    ],
    [
      "somebody in the name of another",
      (s) => s.as("eve", "participant", { agent_id: "sam", status: "left" }),
      "cannot speak for",
    ],
    [
      "a close without a summary",
      (s) => s.send("state_change", { new_state: "closed", reason: "Done." }),
      "closes with a summary",
    ],
  ])("are refused %s, told what is allowed, and counted", (what, act, why) => {
    const session = outside();
    act(session);
    expect([session.last.disposition, session.why]).toEqual(["refused", expect.stringContaining(why)]);
    expect(session.records.at(-1)).toMatchObject({ payload_type: "error", target: "user" });
    const counted = [...session.state.subjects.values()].flatMap(({ id, refused }) =>
      refused ? [`${id} ${refused}`] : [],
    );
    const isKnown = /^a vote (?:outside|on)|reply|name of|during/.test(what);
    expect(counted).toEqual(isKnown ? ["eve 1"] : []);
  });

  it("take part beside roles, which get turns", () => {
    const session = new CouncilSession({ participants: ["ann", "bob", "eve"] });
    expect(session.open).toEqual([]);
    session.join("eve");
    session
      .says("ann")
      .answer("bob", "proposal", { title: "Keep it", details: "So." })
      .as("eve", "comment", { text: "EVE" });
    expect([session.open, session.standings]).toEqual([[], ["discussion", "p1 proposed"]]);
    session.callVote();
    expect(session.open).toEqual(["ann council_state ann", "bob council_state bob"]);
    expect(session.resolved(session.draft("ann")).context["transcript"]).toMatchObject([
      { source: "ann" },
      { source: "bob", payload_type: "proposal" },
      { source: "eve", payload: { text: "EVE" } },
    ]);
    session.answer("ann", "vote", { proposal_id: "p1", vote: "yes" }).votes("eve", "yes");
    expect(session.standings).toEqual(["discussion", "p1 accepted"]);
  });
});
