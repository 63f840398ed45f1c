import { type Json, type JsonObject } from "../../lib/json.ts";
import { from } from "../references.ts";
import type { Descriptor } from "./descriptor.ts";
import type { Self, Subject, View } from "./state.ts";

/** What of a mode its shared state is made from. */
type Described<S extends Self, U extends Subject> = Pick<
  Descriptor<never, S, U>,
  "requirement" | "lines" | "shown" | "presentation"
>;

/** What the shared state cannot know of a session. */
export interface Progress {
  readonly status: "planning" | "executing" | "reviewing";
  readonly current_step: number;
  readonly max_steps: number;
  /** Whether its subjects are steps, each with a task of its own. */
  readonly isPlanned: boolean;
  /** The role that gets the results, and gives the tasks; everybody gets them without one. */
  readonly lead?: string;
}

/** The session as seed 2's shared state, made of its subjects and of the records that `lines` names. Texts are references. */
export function sharedState<S extends Self, U extends Subject>(
  { requirement, lines = {}, shown, presentation }: Described<S, U>,
  session: View<S, U>,
  { status, current_step, max_steps, isPlanned, lead = "scheduler" }: Progress,
): JsonObject {
  const { opened, ended } = session.self;
  const task = from(opened, `/input/${requirement}`);
  const messages: JsonObject[] = [messageOf("user", "all", "TASK", task)];
  const results: Record<string, Json> = {};
  const told = new Set<string>();
  const tell = (one: U | undefined) => {
    if (!one || !isPlanned || told.has(one.id)) return;
    told.add(one.id);
    const { title, owner = "all" } = shown(one, session.self);
    messages.push(messageOf(lead, owner, "TASK", title, { step: one.id }));
  };
  for (const { sequence, source, payload_type, subject = source } of inOrder(session.said())) {
    const { text, as = "RESULT" } = lines[payload_type] ?? {};
    if (text === undefined) continue;
    const one = session.subject(subject);
    tell(one);
    const content = from(sequence, text);
    const receiver = source === lead || lead === "scheduler" ? "all" : lead;
    messages.push(
      messageOf(source, receiver, as, content, { sequence, ...(one && isPlanned ? { step: one.id } : {}) }),
    );
    if (as === "RESULT") results[source] = content;
  }
  for (const one of session.all()) if (presentation.statuses[one.status]?.stage === "begun") tell(one);
  return {
    task,
    plan: isPlanned ? session.all().map((one) => shown(one, session.self).title) : [],
    results,
    messages,
    status: ended ? (ended.outcome === "done" ? "done" : "failed") : status,
    current_step,
    max_steps,
  };
}

/** A payload of type `message`. */
export function messageOf(
  sender: string,
  receiver: string,
  msg_type: string,
  content: Json,
  metadata: JsonObject = {},
): JsonObject {
  return { sender, receiver, content, msg_type, metadata };
}

function inOrder<T extends { readonly sequence: number }>(said: readonly T[]): T[] {
  return said.toSorted((a, b) => a.sequence - b.sequence);
}
