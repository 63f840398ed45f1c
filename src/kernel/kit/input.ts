import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { pointerTo } from "../../lib/json-pointer.ts";
import { isJsonObject, type Json, type JsonObject, listOf, objectOf } from "../../lib/json.ts";
import { nearest } from "../../lib/nearest.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { textCheck } from "../../protocol/content-check.ts";
import type { Finding } from "../../protocol/document/problem.ts";
import { fileFindings } from "../../protocol/schema-errors.ts";
import type { Descriptor, KnownRole, SeatField } from "./descriptor.ts";

/** What of a descriptor an input is read by. */
export type InputForm<I> = Pick<Descriptor<I, never, never>, "input" | "seats" | "check">;

/** Reads the input of a session, with the defaults of its schema. Fails with everything that is wrong with it. */
export function readInput<I>(
  form: InputForm<I>,
  given: unknown,
  roles: readonly KnownRole[],
): Result<I, readonly Finding[]> {
  const input = structuredClone(withSeatsFilled(form, (given ?? {}) as Json, roles));
  const validate = validatorOf(form.input);
  const broken = validate(input) ? [] : fileFindings(validate.errors ?? []);
  const seats = form.seats.flatMap((seat) => idsAt(input, seat).map((found) => ({ ...found, seat })));
  const wrong = [...broken, ...seats.flatMap((one, index) => unseated(one, seats.slice(0, index), roles))];
  const findings = wrong.length > 0 ? wrong : [...unusable(form, input), ...(form.check?.(input as I, roles) ?? [])];
  return findings.length > 0 ? err(findings) : ok(input as I);
}

/** The fields for a JSON Schema that hold none. */
function unusable({ input: { properties } }: Pick<InputForm<never>, "input">, input: Json): Finding[] {
  return Object.entries(objectOf(properties)).flatMap(([field, schema]) => {
    const given = objectOf(input)[field];
    if (objectOf(schema).holds !== "schema" || given === undefined) return [];
    const check = textCheck(objectOf(given), { isPersons: true });
    return check.ok
      ? []
      : [{ pointer: pointerTo("", field), what: `${JSON.stringify(field)} is no JSON Schema: ${check.error}` }];
  });
}

/** A schema's validator. Making one takes ajv some ms. */
function validatorOf(schema: JsonObject): ValidateFunction {
  const known = validators.get(schema);
  if (known) return known;
  // The schema is the program's own, so it is not validated itself.
  const ajv = new Ajv2020({
    allErrors: true,
    verbose: true,
    ownProperties: true,
    strict: false,
    useDefaults: true,
    meta: false,
    validateSchema: false,
  });
  const made = ajv.compile(schema);
  validators.set(schema, made);
  return made;
}

const validators = new WeakMap<JsonObject, ValidateFunction>();

/** The input with a role in each seat that it leaves to the first that fits and has no seat. */
export function withSeatsFilled(
  { seats }: Pick<InputForm<never>, "seats">,
  given: Json,
  roles: readonly KnownRole[],
): Json {
  if (!isJsonObject(given)) return given;
  const input: Record<string, Json | undefined> = { ...given };
  for (const { at, types, fills } of seats) {
    if (fills !== true || input[at] !== undefined) continue;
    const taken = new Set(seats.flatMap((seat) => idsAt(input as Json, seat).map(({ role_id }) => role_id)));
    const fitting = types.flatMap((type) => roles.filter((role) => role.type === type && !taken.has(role.role_id)));
    if (fitting[0]) input[at] = fitting[0].role_id;
  }
  return input;
}

/** A role id in an input. */
interface Seated {
  readonly role_id: string;
  readonly pointer: string;
}

/** The role ids at the place of a seat. */
export function idsAt(input: Json, { at }: Pick<SeatField, "at">): Seated[] {
  let found: (readonly [pointer: string, value: Json | undefined])[] = [["", input]];
  for (const key of at.split("."))
    found = found.flatMap(([pointer, value]) =>
      key === "*"
        ? listOf(value).map((item, index) => [pointerTo(pointer, String(index)), item] as const)
        : [[pointerTo(pointer, key), objectOf(value)[key]] as const],
    );
  return found.flatMap(([pointer, role_id]) => (typeof role_id === "string" ? [{ pointer, role_id }] : []));
}

const isKnown = (id: string, roles: readonly KnownRole[]) => roles.some(({ role_id }) => role_id === id);

/** Why a role cannot take its seat: nobody has this id, or its type does not fit, or it has a seat already. */
function unseated(
  { role_id, pointer, seat }: Seated & { readonly seat: SeatField },
  before: readonly (Seated & { readonly seat: SeatField })[],
  roles: readonly KnownRole[],
): Finding[] {
  const fitting = [...new Set(roles.flatMap(({ role_id, type }) => (seat.types.includes(type) ? [role_id] : [])))];
  const names = `${JSON.stringify(seat.at.split(".")[0])} names ${JSON.stringify(role_id)}`;
  if (before.some((other) => other.role_id === role_id && !(seat.shared && other.seat.shared)))
    return [{ pointer, what: `${names}, which has a seat already`, expected: "a role of its own for each seat" }];
  if (fitting.includes(role_id) || (seat.open === true && !isKnown(role_id, roles))) return [];
  const what = `${names}, which no fitting role has`;
  const expected =
    fitting.length === 0 ? `a ${seat.types.join(" or ")} among the roles` : `one of ${fitting.join(", ")}`;
  return [{ pointer, what, expected, nearest: nearest(role_id, fitting) }];
}
