import { type Json, type JsonObject, listOf, objectOf } from "../../src/lib/json.ts";
import type { AnyDescriptor } from "../../src/modes/index.ts";
import type { Role } from "../../src/protocol/roles.ts";
import type { Random } from "./random.ts";

/** A random session of a mode of the kit, made from its input schema and its seats. */
export interface KitSession {
  readonly input: JsonObject;
  readonly roles: readonly Role[];
}

/** What another session might have said. */
function transcriptBy(source: string): Json {
  const said = { sequence: 3, source, payload_type: "report", payload: { text: "That way." } };
  return { session_id: "s-other", mode: "pipeline", up_to: 9, entries: [said] };
}

/** The most entries of a list, beyond the fewest that its schema allows, and the most of a number. */
const MORE = 3;

export function sessionOf(descriptor: AnyDescriptor, random: Random): KitSession {
  const roles: Role[] = [];
  let outside = 0;
  const input = objectOf(valueOf(descriptor.input, ""));
  const defaults = Object.entries(objectOf(descriptor.input["properties"])).map(([field, schema]) => [
    field,
    objectOf(schema).default,
  ]);
  const full = { ...Object.fromEntries(defaults), ...input };
  // What does not go with the rest is left out.
  const wrong = (descriptor.check?.(full as never, roles) ?? []).map(({ pointer }) => pointer.slice(1));
  return { input: Object.fromEntries(Object.entries(input).filter(([field]) => !wrong.includes(field))), roles };

  function valueOf(schema: JsonObject, at: string): Json {
    const { type, enum: choices, examples, holds, items, properties, required, minItems, minimum, maximum } = schema;
    if (holds === "transcript") return transcriptBy(random.pick(["role1", "stranger"]));
    if (holds === "schema") return { type: "object", required: ["so"] };
    if (examples !== undefined) return random.pick(listOf(examples));
    if (choices !== undefined) return random.pick(listOf(choices));
    if (type === "boolean") return random.chance(0.3);
    if (type === "integer") return random.between(Number(minimum), Math.min(Number(maximum), Number(minimum) + MORE));
    if (type === "array") {
      const length = random.between(Number(minItems), Number(minItems) + MORE);
      return Array.from({ length }, () => valueOf(objectOf(items), `${at}.*`));
    }
    if (type === "object") {
      const fields = Object.entries(objectOf(properties));
      const given = fields.filter(([name]) => listOf(required).includes(name) || random.chance(0.5));
      return Object.fromEntries(
        given.map(([name, field]) => [name, valueOf(objectOf(field), at === "" ? name : `${at}.${name}`)]),
      );
    }
    return seated(at) ?? "Which way?";
  }

  /** The role that takes the seat at this place of the input; undefined if there is none. */
  function seated(at: string): string | undefined {
    const seat = descriptor.seats.find((one) => one.at === at);
    if (!seat) return undefined;
    if (seat.open && roles.length > 0 && random.chance(0.3)) {
      outside += 1;
      return `guest${outside}`;
    }
    const known = seat.shared && roles.length > 0 && random.chance(0.3) ? random.pick(roles) : undefined;
    const role_id = known?.role_id ?? `role${roles.length + 1}`;
    if (!known) roles.push({ role_id, type: random.pick([...seat.types]), cli_command: ["agent"] });
    return role_id;
  }
}
