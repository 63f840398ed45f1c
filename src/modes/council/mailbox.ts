import { hash } from "node:crypto";
import type { View } from "../../kernel/kit/state.ts";
import type { About, Mailbox, MailRecord, Message, Received } from "../../kernel/mailbox.ts";
import { from } from "../../kernel/references.ts";
import { type JsonObject, objectOf, textOf } from "../../lib/json.ts";
import { ok } from "../../lib/result.ts";
import { fails, type Fallible } from "../../protocol/failure.ts";
import type { PayloadType } from "../../protocol/payload.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";
import { type Instant, milliseconds, parseInstant } from "../../protocol/timestamp.ts";
import { type Council, manifestOf, memberOf, type Participant, proposalOf, stateOf } from "./state.ts";

type Session = View<Council, Participant>;

/** The messages that people and other programs send; the mode itself writes results. */
export const SENT: readonly PayloadType[] = [
  "participant",
  "agenda_item",
  "comment",
  "proposal",
  "vote",
  "state_change",
  "summary",
];
const SHOWN: ReadonlySet<string> = new Set([...SENT, "proposal_result"]);

/** Fields of the wire that no message has. */
const UNSHOWN = ["turn_id", "ticket_id", "usage", "metadata", "token_sha256"];

/** How far a clock may be ahead, in ms. */
const AHEAD_MS = 300_000;

const AGENT_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** The mailbox of a council (S1-11 to S1-22). */
export const councilMailbox: Mailbox<Session> = {
  folder: "meetings",
  indexed: ["meeting_id", "topic", "state", "creator", "facilitator", "created_at", "participants"],
  message: messageOf,
  standing,
  events,
  received,
};

function messageOf(session: Session, one: MailRecord, next: UnsealedRecord | undefined): Message | undefined {
  const { sequence, session_id, source, payload_type, record } = one;
  const { participant = source } = record.actor ?? {};
  const payload = Object.fromEntries(Object.entries(one.payload).filter(([field]) => !UNSHOWN.includes(field)));
  const joins = payload_type === "participant" && payload["status"] === "joined";
  const agent_id = joins ? textOf(payload["agent_id"]) : participant;
  const common = { message_id: `m${sequence}`, meeting_id: session_id, timestamp_utc: record.received_at, agent_id };
  const message = (message_type: string, content: JsonObject): Message => ({
    agent_id,
    message_type,
    content: { ...common, message_type, ...content },
  });
  if (record.disposition === "refused") {
    // A malformed message is recorded as its refusal alone.
    const {
      code,
      message: why,
      hint = null,
      resolution_hint = hint,
    } = (payload_type === "error" ? one : next)?.payload ?? {};
    const refused = payload_type === "error" ? {} : { refused_type: payload_type };
    return record.actor || SHOWN.has(payload_type)
      ? message("error", { code, message: why, ...refused, ...(resolution_hint ? { allowed: resolution_hint } : {}) })
      : undefined;
  }
  if (record.disposition !== "applied" || !SHOWN.has(payload_type)) return undefined;
  if (payload_type === "proposal") {
    const proposal = session.self.proposals.find(({ at }) => at === sequence);
    return message("proposal", { ...(proposal ? { proposal_id: proposal.id, status: "proposed" } : {}), ...payload });
  }
  const old_state = payload_type === "state_change" ? session.self.left?.[sequence] : undefined;
  return message(payload_type, { ...(old_state === undefined ? {} : { old_state }), ...payload });
}

function standing(
  session: Session,
  { session_id, opened_at, archived }: About,
): Record<string, JsonObject | undefined> {
  const { self } = session;
  const members = session.all().map(memberOf);
  const state = archived ? "archived" : stateOf(self);
  const manifest = {
    meeting_id: session_id,
    ...manifestOf(session),
    state,
    created_at: opened_at,
    participants: members.map(({ agent_id }) => agent_id ?? null),
  };
  const invitation = { meeting_id: session_id, topic: from(self.opened, "/input/topic"), created_at: opened_at };
  return {
    ...Object.fromEntries(
      members.map(({ agent_id, status }) => [
        `invitations/${textOf(agent_id)}/${session_id}.json`,
        status === "invited" ? invitation : undefined,
      ]),
    ),
    [`${session_id}/agenda.json`]: {
      items: self.agenda.map((sequence) => ({ item_id: `m${sequence}`, title: from(sequence, "/title") })),
      proposals: self.proposals.map(proposalOf),
    },
    [`${session_id}/participants.json`]: { participants: members },
    // Last, since it tells of all others.
    [`${session_id}/manifest.json`]: manifest,
  };
}

/** Reads a dropped file. Its token is not kept: only the digest is. */
function received(content: JsonObject, now: Instant): Fallible<Received> {
  const { agent_id, token, message_type, timestamp_utc, meeting_id: _, message_id: __, ...said } = content;
  if (typeof agent_id !== "string" || !AGENT_ID.test(agent_id))
    return fails("validation_failed", "agent_id is no id of a participant", { hint: "letters, digits and . _ -" });
  const type = SENT.find((one) => one === message_type);
  if (type === undefined)
    return fails("validation_failed", "message_type is none that is taken", { hint: SENT.join(", ") });
  const sent = typeof timestamp_utc === "string" ? parseInstant(timestamp_utc) : ok(now);
  if (!sent.ok) return sent;
  if (milliseconds(sent.value) > milliseconds(now) + AHEAD_MS)
    return fails("validation_failed", "timestamp_utc lies in the future", { hint: `it is ${now}` });
  const key = typeof token === "string" ? { key: `sha256:${hash("sha256", token)}` } : {};
  const joins = type === "participant" && said["status"] === "joined" && "key" in key;
  const payload = type === "participant" ? { agent_id, ...said, ...(joins ? { token_sha256: key.key } : {}) } : said;
  return ok({ payload_type: type, payload, participant: agent_id, ...key });
}

/** The events of a record (S1-42). A cast vote is told without what it says. */
function events({ sequence, session_id, source, payload_type, payload, record }: MailRecord): JsonObject[] {
  if (record.disposition !== "applied") return [];
  const common = { meeting_id: session_id, timestamp_utc: record.received_at, message_id: `m${sequence}` };
  const { proposal_id, status, new_state, reason, title } = payload;
  const { creator = "user" } = objectOf(payload["input"]);
  const { participant = payload_type === "session_opened" ? textOf(creator) : source } = record.actor ?? {};
  const agent_id = payload_type === "participant" ? textOf(payload["agent_id"]) : participant;
  const event = (name: string, more: JsonObject = {}): JsonObject => ({ event: name, ...common, agent_id, ...more });
  const said = event("NEW_MESSAGE_IN_MEETING", { message_type: payload_type });
  switch (payload_type) {
    case "session_opened":
      return [event("MEETING_CREATED", { topic: payload["requirement"] ?? null })];
    case "participant":
      return status === "joined" ? [event("AGENT_JOINED_MEETING")] : [said];
    case "agenda_item":
    case "comment":
    case "summary":
      return [said];
    case "proposal":
      return [said, ...(status === "withdrawn" ? [] : [event("PROPOSAL_ADDED", { title: title ?? null })])];
    case "vote":
      return [event("VOTE_CAST", { proposal_id: proposal_id ?? null })];
    case "proposal_result":
      return [event("PROPOSAL_RESOLVED", { proposal_id: proposal_id ?? null, status: status ?? null })];
    case "state_change":
      return [
        event("STATE_CHANGED", { new_state: new_state ?? null, reason: reason ?? null }),
        ...(new_state === "voting" ? [event("VOTING_STARTED")] : []),
        ...(new_state === "closed" ? [event("MEETING_CLOSED")] : []),
      ];
    default:
      return [];
  }
}
