import type { View } from "../../kernel/kit/state.ts";
import {
  type About,
  digestOf,
  type Mailbox,
  type MailRecord,
  type Message,
  type Received,
} from "../../kernel/mailbox.ts";
import { from } from "../../kernel/references.ts";
import { defined, type JsonObject, objectOf, textOf } from "../../lib/json.ts";
import { ok } from "../../lib/result.ts";
import { fails, type Fallible } from "../../protocol/failure.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";
import { type Instant, milliseconds, parseInstant } from "../../protocol/timestamp.ts";
import { type Council, ID, type Participant, PERSON, proposalOf, standingOf } from "./state.ts";

type Session = View<Council, Participant>;

/** The messages that people and other programs send; the mode itself writes results. */
export const SENT = ["participant", "agenda_item", "comment", "proposal", "vote", "state_change", "summary"] as const;

const SHOWN: readonly string[] = [...SENT, "proposal_result"];

/** Fields of the wire that no message has. */
const UNSHOWN = ["turn_id", "ticket_id", "usage", "metadata", "token_sha256"];

/** How far a clock may be ahead, in ms. */
const AHEAD_MS = 300_000;

/** The mailbox of a council (S1-11 to S1-22). */
export const councilMailbox: Mailbox<Session> = {
  folder: "meetings",
  indexed: ["meeting_id", "topic", "state", "creator", "facilitator", "created_at", "participants"],
  message: messageOf,
  standing,
  events,
  received,
};

/** What messages and events say of a record: who joins, has called the council, or is known by its channel. */
function headOf({ sequence, session_id, source, payload_type, payload, record }: MailRecord) {
  const joins = payload_type === "participant" && payload.status === "joined" ? payload.agent_id : undefined;
  const creator = payload_type === "session_opened" ? (objectOf(payload["input"]).creator ?? PERSON) : undefined;
  return {
    message_id: `m${sequence}`,
    meeting_id: session_id,
    timestamp_utc: record.received_at,
    agent_id: textOf(joins ?? creator ?? record.actor?.participant ?? source),
  };
}

function messageOf({ self }: Session, one: MailRecord, next: UnsealedRecord | undefined): Message | undefined {
  const { sequence, payload_type, payload, record } = one;
  const head = headOf(one);
  const message = (message_type: string, content: JsonObject): Message => ({
    agent_id: head.agent_id,
    message_type,
    content: { ...head, message_type, ...content },
  });
  const isShown = SHOWN.includes(payload_type);
  if (record.disposition === "refused" && (record.actor || isShown)) {
    // A malformed message is recorded as its refusal alone.
    const refused_type = payload_type === "error" ? undefined : payload_type;
    const { code, message: why, resolution_hint: allowed } = (refused_type ? next?.payload : payload) ?? {};
    return message("error", defined({ code, message: why, refused_type, allowed }));
  }
  if (record.disposition !== "applied" || !isShown) return undefined;
  const said = Object.fromEntries(Object.entries(payload).filter(([field]) => !UNSHOWN.includes(field)));
  const proposal = self.proposals.find(({ at }) => at === sequence);
  const made = proposal && { proposal_id: proposal.id, status: "proposed" };
  return message(payload_type, { ...made, ...defined({ old_state: self.left?.[sequence] }), ...said });
}

function standing(session: Session, { session_id, opened_at, archived }: About) {
  const { agenda, proposals } = session.self;
  const now = standingOf(session);
  const members = session.all();
  const about = { meeting_id: session_id, created_at: opened_at };
  const files: Record<string, JsonObject | undefined> = {};
  for (const { id, status } of members)
    files[`invitations/${id}/${session_id}.json`] = status === "invited" ? { ...about, topic: now.topic } : undefined;
  files[`${session_id}/agenda.json`] = {
    items: agenda.map((sequence) => ({ item_id: `m${sequence}`, title: from(sequence, "/title") })),
    proposals: proposals.map(proposalOf),
  };
  files[`${session_id}/participants.json`] = { participants: now.participants };
  const state = archived ? "archived" : now.state;
  files[`${session_id}/manifest.json`] = { ...about, ...now, state, participants: members.map(({ id }) => id) };
  return files;
}

/** Reads a dropped file. Its token is not kept: only the digest is. */
function received(content: JsonObject, now: Instant): Fallible<Received> {
  const { agent_id, token, message_type, timestamp_utc = now, meeting_id: _, message_id: __, ...said } = content;
  if (typeof agent_id !== "string" || !new RegExp(ID).test(agent_id))
    return fails("validation_failed", "agent_id is no id of a participant", { hint: "letters, digits and . _ -" });
  const payload_type = SENT.find((one) => one === message_type);
  if (payload_type === undefined)
    return fails("validation_failed", "message_type is none that is taken", { hint: SENT.join(", ") });
  const sent = parseInstant(textOf(timestamp_utc));
  if (!sent.ok) return sent;
  if (milliseconds(sent.value) > milliseconds(now) + AHEAD_MS)
    return fails("validation_failed", "timestamp_utc lies in the future", { hint: `it is ${now}` });
  const known = { participant: agent_id, ...(typeof token === "string" ? { key: digestOf(token) } : {}) };
  if (payload_type !== "participant") return ok({ payload_type, payload: said, ...known });
  const token_sha256 = said["status"] === "joined" ? known.key : undefined;
  return ok({ payload_type, payload: { agent_id, ...said, ...defined({ token_sha256 }) }, ...known });
}

/** What a record is to those who follow, by its type and by the status or state that it says (S1-42). */
const EVENTS: Readonly<Record<string, readonly string[]>> = {
  session_opened: ["MEETING_CREATED"],
  participant: ["NEW_MESSAGE_IN_MEETING"],
  "participant joined": ["AGENT_JOINED_MEETING"],
  agenda_item: ["NEW_MESSAGE_IN_MEETING"],
  comment: ["NEW_MESSAGE_IN_MEETING"],
  proposal: ["NEW_MESSAGE_IN_MEETING", "PROPOSAL_ADDED"],
  "proposal withdrawn": ["NEW_MESSAGE_IN_MEETING"],
  vote: ["VOTE_CAST"],
  proposal_result: ["PROPOSAL_RESOLVED"],
  state_change: ["STATE_CHANGED"],
  "state_change voting": ["STATE_CHANGED", "VOTING_STARTED"],
  "state_change closed": ["STATE_CHANGED", "MEETING_CLOSED"],
  summary: ["NEW_MESSAGE_IN_MEETING"],
};

/** A cast vote is told without what it says. */
function events(one: MailRecord): JsonObject[] {
  const { payload_type, payload, record } = one;
  if (record.disposition !== "applied") return [];
  const { requirement: topic, proposal_id, title, status, new_state, reason } = payload;
  const names = EVENTS[`${payload_type} ${textOf(status ?? new_state)}`] ?? EVENTS[payload_type] ?? [];
  const told = defined({ topic, proposal_id, title, status, new_state, reason });
  return names.map((event) => ({ event, ...headOf(one), message_type: payload_type, ...told }));
}
