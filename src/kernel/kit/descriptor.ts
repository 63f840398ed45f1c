import { type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import type { Finding } from "../../protocol/document/problem.ts";
import type { PayloadType } from "../../protocol/payload.ts";
import type { Right, Rights } from "../../protocol/rights.ts";
import type { Role, RoleType } from "../../protocol/roles.ts";
import type { Mailbox } from "../mailbox.ts";
import type { ModeReader, Results, SubjectRow } from "../mode.ts";
import type { Presentation } from "../presentation.ts";
import type { Arrows } from "./lifecycles.ts";
import { applyTo, emptyState, inOrder, type KitState, type Self, type Subject, type View, viewOf } from "./state.ts";
import type { Lines } from "./views.ts";

/**
 * Everything about a mode that shows, loads and begins its sessions: data, and pure functions of a value. It loads no state machine, so commands that
 * only show a session stay fast. `I` is the input, `S` the session's own value, `U` a subject's.
 */
export interface Descriptor<I, S extends Self, U extends Subject> {
  /** The noun for its sessions, and its command's name unless `command.words` is set. */
  readonly name: string;
  /** The first letter of generated session ids. */
  readonly letter: string;
  /** Increment when a session decides differently for the same facts. */
  readonly rules: number;
  /** As in `ModeReader`: increment when `S` or `U` change. */
  readonly rows?: number;
  /** The word for a subject, such as `step`; also the collection in which subjects are stored. */
  readonly subject: string;
  /** The word for the session's own seat, such as `judge`, if it has one. */
  readonly seat?: string;
  /** The messages: which roles get one, and what answers it. Rights and `expects` follow from them. */
  readonly messages: { readonly [K in PayloadType]?: Message };
  /** What a person, or another program in a person's name, may send at any time. `Rules.on` handles it. */
  readonly outsiders?: readonly PayloadType[];
  /** What the mode itself writes, besides what every mode's scheduler does. */
  readonly says?: readonly PayloadType[];
  /** Which accepted messages later prompts may show (`Question.view`), and how. */
  readonly lines?: Lines;
  /** The working phases, the first one first. Stopping, waiting, resuming and closing are added. */
  readonly phases: Arrows;
  /** The statuses of a subject, the first one first. */
  readonly states: Arrows;
  readonly events: Events;
  /** The input's JSON Schema, with defaults. An object. */
  readonly input: JsonObject;
  /** Where role ids stand in the input. */
  readonly seats: readonly SeatField[];
  /** What the schema cannot say. Called with a valid input whose roles exist. */
  check?(input: I, roles: readonly KnownRole[]): readonly Finding[];
  /** The field of the input that is the session's requirement: its text, or the words of the command. */
  readonly requirement: string;
  readonly command: ModeCommand;
  readonly presentation: Omit<Presentation, "subjectName" | "retries">;
  /** How a subject is shown. May depend only on the subject and on what never changes of the session. */
  shown(subject: U, self: S): Shown;
  /** The files for programs that know no log. */
  readonly mailbox?: Mailbox<View<S, U>>;
  /** The session in the mode's own words, for `status --json`. Texts are references to records. */
  projection?(session: View<S, U>): JsonObject;
}

/** One kind of message: the types of the roles that get it, and what answers it. `error` always does. */
interface Message {
  readonly to: readonly RoleType[];
  readonly answers: readonly PayloadType[];
}

/** The events of a subject that the kit itself raises. */
interface Events {
  /** It begins. The only event that is no arrow. */
  readonly created: string;
  /** It is offered a turn. */
  readonly asked: string;
  /** Its turn failed, and is tried again later. */
  readonly failed: string;
  /** It is dropped, or the session closes before it is over. A subject whose status does not accept this is no longer in the session. */
  readonly left: string;
  /** The session closes before it is over, instead of `left` where its status accepts this. */
  readonly closed?: string;
  /** A person retries it. Without this event, a closed session cannot be reopened. */
  readonly retried?: string;
}

/** Where role ids stand in an input: `judge`, `debaters.*`, `steps.*.role`. */
export interface SeatField {
  readonly at: string;
  /** The types that may take the seat. A command gives a role of another type the first of them. */
  readonly types: readonly RoleType[];
  /** Whether a role may take several seats of the session. */
  readonly shared?: boolean;
  /** Whether an id that is no role may stand here: of somebody who takes part from outside, without turns. */
  readonly open?: boolean;
  /** Whether the first role without a seat takes it, by the order of the types, if the input names none. For a field of the input itself. */
  readonly fills?: boolean;
}

export type KnownRole = Pick<Role, "role_id" | "type">;

/** How sessions are begun from the command line. */
export interface ModeCommand {
  /** The words that begin a session, such as `meeting run`; the mode's name if absent. */
  readonly words?: string;
  readonly summary: string;
  readonly examples: readonly string[];
  /** How the requirement is asked for: its noun, and the imperative, such as "Say what to debate". */
  readonly noun: string;
  readonly say: string;
  /** The first word, if it fills a field as options do. Its flags are its name, such as `<session>`. */
  readonly operand?: ModeOption;
  /** One for the requirement's field takes the place of the words. */
  readonly options: readonly ModeOption[];
  /** The field whose option makes a file with the whole input unnecessary, if the mode takes one. Without that option the first word is the file. */
  readonly unlessFile?: string;
  /** Set if it is begun in a process of its own, since it waits for others; the flags that name the session there. */
  readonly apart?: string;
  /** Makes the input from the values of the options, if they are not its fields. */
  input?(given: JsonObject): JsonObject;
}

/**
 * An option of the command. Without a value it is a switch. The schema of its field says whether its value is a text, a number, a list of the parts between commas, the session
 * whose transcript the field holds (`TRANSCRIPT`), or the file whose JSON Schema it holds (`JSON_SCHEMA`).
 */
export interface ModeOption {
  readonly flags: string;
  /** The field of the input. */
  readonly field: string;
  readonly description: string;
}

/** The schema of a field of an input; undefined if it has no such field. */
export function fieldOf(input: JsonObject, field: string): JsonObject | undefined {
  const schema = objectOf(input["properties"])[field];
  return schema === undefined ? undefined : objectOf(schema);
}

/** The words that begin a session of a mode at a terminal. */
export function beginningOf({ name, command }: Pick<Descriptor<never, never, never>, "name" | "command">): string {
  return command.words ?? name;
}

/** The option that gives the requirement, if it is not the words of the command. */
export function requirementOption({
  requirement,
  command,
}: Pick<Descriptor<never, never, never>, "requirement" | "command">): ModeOption | undefined {
  return command.options.find(({ field }) => field === requirement);
}

/** Everything that fills fields on the command line. */
export function fillingOptions({ command }: Pick<Descriptor<never, never, never>, "command">): ModeOption[] {
  const { operand, options } = command;
  return operand === undefined ? [...options] : [operand, ...options];
}

/** The options that name the roles of seats. */
export function seatingOptions({
  seats,
  command,
}: Pick<Descriptor<never, never, never>, "seats" | "command">): ModeOption[] {
  return command.options.filter(({ field }) => seats.some(({ at }) => at.split(".")[0] === field));
}

/** How a subject is shown, besides its status. */
export interface Shown {
  readonly title: Json;
  readonly owner?: string;
  readonly depends_on?: readonly string[];
  readonly max_attempts?: number;
  /** The sequence of its latest result. */
  readonly result?: number | undefined;
}

/** The part of a mode that loads and shows a session. */
export function readerOf<I, S extends Self, U extends Subject>(
  descriptor: Descriptor<I, S, U>,
): ModeReader<KitState<S, U>> {
  const { name, subject, presentation, rows, events, states } = descriptor;
  return {
    name,
    ...(rows === undefined ? {} : { rows }),
    presentation: { ...presentation, subjectName: subject, retries: events.retried !== undefined },
    subjects: subject,
    empty: emptyState,
    apply: (state, change) => applyTo(subject, state, change),
    phase: ({ self }) => self?.phase ?? "closed",
    ids: ({ subjects }) => [...subjects.values()].toSorted(inOrder).map(({ id }) => id),
    subject: (state, id) => rowOf(descriptor, state, id),
    results: (state, id) => resultsOf(descriptor, state, id),
    hears: ({ subjects }, id) => Object.keys(states[subjects.get(id)?.status ?? ""] ?? {}).length > 0,
    ...(events.retried === undefined ? {} : { retrying: retryingOf(descriptor) }),
    ...(descriptor.mailbox && { mailbox: mailboxOf(descriptor.mailbox) }),
    ...(descriptor.projection && {
      projection: (state) => state.self && descriptor.projection?.(viewOf(state.self, state)),
    }),
  };
}

/** A mailbox of the mode's state. A session whose opening was refused has no files. */
function mailboxOf<S extends Self, U extends Subject>(mailbox: Mailbox<View<S, U>>): Mailbox<KitState<S, U>> {
  return {
    ...mailbox,
    message: (state, ...record) => state.self && mailbox.message(viewOf(state.self, state), ...record),
    standing: (state, about) => (state.self ? mailbox.standing(viewOf(state.self, state), about) : {}),
  };
}

function retryingOf({
  subject,
  states,
  events,
}: Pick<Descriptor<never, never, never>, "subject" | "states" | "events">) {
  const fitting = Object.keys(states).filter((status) => accepts(states, status, events.retried));
  return {
    which: `a ${subject} that is ${fitting.join(" or ")}`,
    may: ({ subjects }: KitState<Self, Subject>, id: string) => fitting.includes(subjects.get(id)?.status ?? ""),
  };
}

function rowOf<I, S extends Self, U extends Subject>(
  descriptor: Descriptor<I, S, U>,
  { self, subjects }: KitState<S, U>,
  id: string,
): SubjectRow | undefined {
  const subject = subjects.get(id);
  if (!subject || !self) return undefined;
  const { status, since, order, reason, turn, put_again } = subject;
  const { result: _, ...row } = descriptor.shown(subject, self);
  const attempt = ((turn ?? put_again)?.retries ?? 0) + 1;
  return { id, status, since, order, depends_on: [], attempt, reason, ...row };
}

function resultsOf<I, S extends Self, U extends Subject>(
  descriptor: Descriptor<I, S, U>,
  { self, subjects }: KitState<S, U>,
  id: string,
): Results | undefined {
  const subject = subjects.get(id);
  const latest = subject && self ? descriptor.shown(subject, self).result : undefined;
  return latest === undefined ? undefined : { latest, kept: [], figures: {} };
}

/** Whether a status accepts an event. */
export function accepts(states: Arrows, status: string | undefined, event: string | undefined): boolean {
  return event !== undefined && status !== undefined && states[status]?.[event] !== undefined;
}

/** Who may send what: each message's answers from the roles that get it, and what every mode's people and scheduler send. */
export function rightsOf({
  messages,
  outsiders = [],
  says = [],
}: Pick<Descriptor<never, never, never>, "messages" | "outsiders" | "says">): Rights {
  const of = (type: RoleType) => {
    const answered: { [K in PayloadType]?: PayloadType[] } = {};
    for (const [message, { to, answers }] of Object.entries(messages) as [PayloadType, Message][])
      if (to.includes(type)) for (const answer of answers) (answered[answer] ??= []).push(message);
    const right: { [K in PayloadType]?: Right } = answered;
    return Object.keys(answered).length === 0 ? {} : ({ ...right, error: "any_turn", artifact_ref: "always" } as const);
  };
  const always = (types: readonly PayloadType[]) => Object.fromEntries(types.map((type) => [type, "always"]));
  return {
    participant: of("participant"),
    manager: of("manager"),
    worker: of("worker"),
    user: { ...always(outsiders), ...FROM_PEOPLE },
    scheduler: { ...always(says), ...FROM_SCHEDULER },
  };
}

/** Whether people or the scheduler send a type in every mode, so that the kit handles it. */
export function isOfKit(type: PayloadType): boolean {
  return Object.hasOwn(FROM_PEOPLE, type) || Object.hasOwn(FROM_SCHEDULER, type);
}

/** What a person sends in every mode: commands, and answers to what is asked, the engine's own questions among them. */
const FROM_PEOPLE: Rights["user"] = {
  user_command: "always",
  clarification_response: ["clarification"],
  approval: ["approval_request"],
};

const FROM_SCHEDULER: Rights["scheduler"] = {
  session_opened: "always",
  turn_request: "always",
  turn_failed: "always",
  timer_fired: "always",
  time_shifted: "always",
  check_result: "always",
  merge_begun: "always",
  session_stopped: "always",
  session_recovered: "always",
  session_reopened: "always",
  session_begun: "always",
  session_finished: "always",
  final_report: "always",
  session_closed: "always",
  clarification: "always",
  approval_request: "always",
  approval: "always",
  message: "always",
  error: "always",
};
