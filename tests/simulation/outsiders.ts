import type { JsonObject } from "../../src/lib/json.ts";
import { DESCRIPTORS } from "../../src/modes/index.ts";
import type { Council, Participant } from "../../src/modes/council/state.ts";
import type { MemoryDatabase } from "./memory-store.ts";
import type { Random } from "./random.ts";
import { SESSION_ID } from "./world.ts";

export type Word = readonly [payload_type: string, payload: JsonObject];

/** What somebody from outside does, and who that is; the local user without a name. */
interface Part {
  readonly word: Word;
  readonly who: JsonObject;
}

/** After so many of their acts the local user closes the session. */
export const PARTS = 40;

/** Whether others take part from outside in the sessions of a mode. */
export function takesPart(mode: string): boolean {
  return DESCRIPTORS.some(({ name, outsiders }) => name === mode && outsiders !== undefined);
}

/** The next act from outside, often against the rules; undefined where nobody from outside takes part. With `ends`, the local user closes it. */
export function partOf(database: MemoryDatabase, random: Random, ends: boolean): Part | undefined {
  const self = database.texts(SESSION_ID, "self").get("self");
  if (self === undefined) return undefined;
  const { phase, proposals } = JSON.parse(self) as Council;
  const members = [...database.texts(SESSION_ID, "participant").values()].map(
    (text) => JSON.parse(text) as Participant,
  );
  const outside = members.filter(({ type }) => type === undefined);
  if (outside.length === 0) return undefined;
  const user = (payload_type: string, payload: JsonObject): Part => ({ word: [payload_type, payload], who: {} });
  if (ends) return user("summary", { summary_text: "It is enough." });
  const one = random.chance(0.1) ? { id: "mallory", status: "joined" } : random.pick(outside);
  const key = `sha256:${Buffer.from(one.id).toString("hex").padEnd(64, "0").slice(0, 64)}`;
  const who = { participant: one.id, key: random.chance(0.1) ? key.replace(/.$/, "f") : key };
  const by = (payload_type: string, payload: JsonObject): Part => ({ word: [payload_type, payload], who });
  if (one.status === "invited" && random.chance(0.8))
    return { word: ["participant", { agent_id: one.id, status: "joined", token_sha256: key }], who: {} };
  const open = proposals.filter(({ status }) => status === "proposed").map(({ id }) => id);
  const proposal_id = open.length > 0 && random.chance(0.9) ? random.pick(open) : "p9";
  const what = random.weighted({
    comment: 3,
    propose: open.length < 4 ? 2 : 0,
    vote: phase === "voting" ? 8 : 1,
    call: open.length > 0 && phase === "discussion" ? 4 : 0.5,
    stop: phase === "voting" ? 0.5 : 0,
    start: phase === "open" ? 0.5 : 0.2,
    invite: 0.5,
    leave: 0.3,
    withdraw: 0.3,
    rejoin: 0.3,
    nonsense: 0.3,
  });
  const acts: Readonly<Record<typeof what, () => Part>> = {
    comment: () => by("comment", { text: "So I say." }),
    propose: () => by("proposal", { title: "So", details: "So be it." }),
    vote: () => by("vote", { proposal_id, vote: random.pick(["yes", "no", "abstain"]) }),
    call: () => (random.chance(0.2) ? by : user)("state_change", { new_state: "voting", reason: "Enough." }),
    stop: () => user("state_change", { new_state: "discussion", reason: "Enough." }),
    start: () => user("state_change", { new_state: "discussion", reason: "Go on." }),
    invite: () => user("participant", { agent_id: `late${random.between(1, 3)}`, status: "invited" }),
    leave: () => by("participant", { agent_id: one.id, status: "left" }),
    withdraw: () => by("proposal", { proposal_id, status: "withdrawn" }),
    rejoin: () => user("participant", { agent_id: one.id, status: "joined", token_sha256: key }),
    nonsense: () => by("vote", { vote: "perhaps" }),
  };
  return acts[what]();
}
