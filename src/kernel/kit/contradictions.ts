import { objectOf } from "../../lib/json.ts";
import { isAgentPayloadType, isPayloadType } from "../../protocol/payload.ts";
import { LEDGER_COLLECTIONS, RUNTIME_COLLECTIONS } from "../ledger.ts";
import { type Descriptor, fillingOptions, isOfKit } from "./descriptor.ts";
import { type Arrows, RESTING } from "./lifecycles.ts";
import { SELF, type Self, type Subject } from "./state.ts";
import { SAID } from "./views.ts";

/** Everything in a descriptor that contradicts itself or the kit, a sentence each. `handled` are the types that `Rules.on` has. */
export function contradictionsIn<I, S extends Self, U extends Subject>(
  descriptor: Descriptor<I, S, U>,
  handled: readonly string[],
): string[] {
  return [
    ...inNames(descriptor),
    ...inMessages(descriptor),
    ...inOutsiders(descriptor, handled),
    ...inArrows("phase", descriptor.phases),
    ...inArrows("status", descriptor.states),
    ...inEvents(descriptor),
    ...inPresentation(descriptor),
    ...inInput(descriptor),
  ];
}

type Any = Descriptor<never, never, never>;

function inNames({ name, letter, subject, phases }: Any): string[] {
  const reserved = Object.keys(phases).filter((phase) => RESTING.includes(phase));
  return [
    ...when(!/^[a-z][a-z_]*$/.test(name), `its name "${name}" is not a word of small letters`),
    ...when(!/^[a-z]$/.test(letter), `its letter "${letter}" is not one small letter`),
    ...when(
      subject === SELF || subject === SAID || LEDGER_COLLECTIONS.has(subject) || RUNTIME_COLLECTIONS.has(subject),
      `its subject "${subject}" has the name of values that every session stores`,
    ),
    ...reserved.map((phase) => `its phase "${phase}" has the name of a state that every session has`),
  ];
}

function inMessages({ messages, lines = {} }: Any): string[] {
  const said = Object.entries(messages).flatMap(([message, { to, answers }]) => [
    ...when(!isPayloadType(message), `the message "${message}" is no payload type`),
    ...when(to.length === 0, `nobody gets the message "${message}"`),
    ...when(answers.length === 0, `nothing answers the message "${message}"`),
    ...answers.flatMap((answer) =>
      when(!isAgentPayloadType(answer), `"${answer}" answers "${message}", and agents cannot send it`),
    ),
  ]);
  const unknown = Object.keys(lines).filter((type) => !isPayloadType(type));
  return [
    ...when(Object.keys(messages).length === 0, "it has no message"),
    ...said,
    ...unknown.map((type) => `"${type}" of its lines is no payload type`),
  ];
}

function inOutsiders({ outsiders = [] }: Any, handled: readonly string[]): string[] {
  return [
    ...outsiders.flatMap((type) => [
      ...when(!isPayloadType(type), `"${type}" of outsiders is no payload type`),
      ...when(isOfKit(type), `"${type}" of outsiders is handled in every mode`),
      ...when(!handled.includes(type), `no rule handles "${type}" of outsiders`),
    ]),
    ...handled
      .filter((type) => !outsiders.some((one) => one === type))
      .map((type) => `a rule handles "${type}", and outsiders cannot send it`),
  ];
}

/** Arrows to unknown states, and states that no arrow reaches. */
function inArrows(what: "phase" | "status", arrows: Arrows): string[] {
  const [first, ...others] = Object.keys(arrows);
  const all = Object.entries(arrows).flatMap(([from, on]) =>
    Object.entries(on).map(([event, to]) => ({ from, event, to })),
  );
  const reached = new Set(all.filter(({ from, to }) => from !== to).map(({ to }) => to));
  return [
    ...when(first === undefined, `it has no ${what}`),
    ...all
      .filter(({ to }) => !Object.hasOwn(arrows, to))
      .map(({ from, event, to }) => `"${event}" leads from the ${what} "${from}" to "${to}", which is none`),
    ...others.filter((state) => !reached.has(state)).map((state) => `no event leads to the ${what} "${state}"`),
  ];
}

function inEvents({ events, states }: Any): string[] {
  const { created: _, ...raised } = events;
  const known = new Set(Object.values(states).flatMap((on) => Object.keys(on)));
  return Object.entries(raised).flatMap(([role, event]) =>
    when(!known.has(event), `no status accepts "${event}", its event for "${role}"`),
  );
}

function inPresentation({ states, presentation: { statuses } }: Any): string[] {
  return [
    ...missing(states, statuses).map((status) => `the status "${status}" has no presentation`),
    ...missing(statuses, states).map((status) => `the presentation has the status "${status}", which is none`),
  ];
}

function inInput(descriptor: Any): string[] {
  const { input, requirement, seats, command } = descriptor;
  const fields = objectOf(input["properties"]);
  const absent = (field: string) => !Object.hasOwn(fields, field);
  const { options, unlessFile } = command;
  const isShaped = command.input !== undefined;
  return [
    ...when(absent(requirement), `its requirement "${requirement}" is no field of its input`),
    ...seats.filter(({ at }) => absent(at.split(".")[0] ?? "")).map(({ at }) => `its seat "${at}" is not in its input`),
    ...seats.filter(({ types }) => types.length === 0).map(({ at }) => `no type of role may take its seat "${at}"`),
    ...fillingOptions(descriptor)
      .filter(({ field }) => !isShaped && absent(field))
      .map(({ flags, field }) => `the option "${flags}" fills "${field}", which is no field of its input`),
    ...when(
      unlessFile !== undefined && !options.some(({ field }) => field === unlessFile),
      `no option fills "${unlessFile}", which would make its file unnecessary`,
    ),
  ];
}

function when(is: boolean, what: string): string[] {
  return is ? [what] : [];
}

function missing(these: object, those: object): string[] {
  return Object.keys(these).filter((name) => !Object.hasOwn(those, name));
}
