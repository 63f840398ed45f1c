import { describe, expect, it } from "vitest";
import { modeOf } from "../../../src/kernel/kit/mode.ts";
import type { FactOf } from "../../../src/kernel/mode.ts";
import { failure } from "../../../src/protocol/failure.ts";
import type { Actor } from "../../../src/protocol/record.ts";
import { fromPerson } from "../../../src/runtime/facts.ts";
import { type D, type Member, note, panel, panelRules, PanelSession } from "./panel.ts";

const EVE: Actor = { user: "eve", host: "h", via: "cli" };
const OPEN = { outsiders: ["opinion"], lines: { opinion: { text: "/position" } } } as const;

/** Notes down who sent what about whom. */
const RULES = {
  on: {
    opinion(draft: D, { actor, source, payload }: FactOf<"opinion">, member: Member | undefined) {
      if (payload.position === "?") return failure("validation_failed", "say something");
      note(draft, `${source} ${actor?.user} about ${member?.id ?? "nobody"}: ${payload.position}`);
      return undefined;
    },
  },
};

function say(session: PanelSession, payload: object, channel: { subject?: string; actor?: Actor } = { actor: EVE }) {
  return session.submit("user", "opinion", { round: 1, position: "No tea.", ...payload }, channel);
}

describe("a message of an outsider", () => {
  it("is handled with the person of its channel, without a turn", () => {
    const session = say(new PanelSession(RULES, OPEN), {});
    expect(session.noted).toEqual(["user eve about nobody: No tea."]);
    expect(session.open).toEqual(["ann requirement ann", "bob requirement bob"]);
    session.ends();
  });

  it("never counts as a member's answer, whatever its payload says", () => {
    const session = new PanelSession(RULES, OPEN).admit("ann");
    const { turn_id } = session.turn("ann");
    say(session, { turn_id, metadata: { source: "ann", actor: { user: "ann" } } }, { subject: "ann", actor: EVE });
    expect(session.noted).toEqual(["user eve about ann: No tea."]);
    expect([session.status("ann"), session.turn("ann").turn_id]).toEqual(["asked", turn_id]);
    session.ends();
  });

  it("is refused as the rules say, and not shown to anybody then", () => {
    const session = say(new PanelSession(RULES, OPEN), { position: "?" });
    expect(session.refused).toBe("validation_failed");
    expect([session.noted, session.state.said.size]).toEqual([[], 0]);
    session.ends();
  });

  it("is one of the types that the mode names", () => {
    const open = modeOf({ ...panel, ...OPEN }, { ...panelRules, ...RULES }).rights;
    const opinion = { payload_type: "opinion", payload: { round: 1, position: "No tea." } } as const;
    const verdict = { payload_type: "verdict", payload: { conclusion: "None." } } as const;
    expect(fromPerson(opinion, open)).toMatchObject({ ok: true });
    expect(fromPerson(verdict, open)).toMatchObject({ ok: false, error: { code: "not_permitted" } });
    expect(fromPerson(opinion, modeOf(panel, panelRules).rights)).toMatchObject({ ok: false });
  });

  it("is refused from a role that has no turn", () => {
    const session = new PanelSession(RULES, OPEN).opinion("ann");
    session.submit("ann", "opinion", { round: 1, position: "Again." }, { subject: "ann" });
    expect([session.refused, session.noted]).toEqual(["not_permitted", []]);
    session.ends();
  });
});
