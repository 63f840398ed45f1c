import { canonicalJson } from "../../lib/canonical.ts";
import { defined, type Json, type JsonObject } from "../../lib/json.ts";
import { err, ok } from "../../lib/result.ts";
import { lackIn } from "../../protocol/content-check.ts";
import type { Failure, Fallible } from "../../protocol/failure.ts";
import type { Role, RoleType } from "../../protocol/roles.ts";
import { type Patch, wrongAt } from "../step.ts";
import type { Draft } from "./draft.ts";
import type { Self, Subject } from "./state.ts";

/** What of a role a mode tells whoever may ask it. */
export interface Seated {
  readonly type: RoleType;
  readonly display_name: string;
  readonly description?: string;
  /** What it can be asked, in words or as a JSON Schema. */
  readonly input_schema?: Json;
  /** What it was asked last, and whether that was refused once as a repeat. */
  readonly question?: string;
  readonly repeated?: true;
}

/** The role with this id. */
export function seatedAs(roles: readonly Role[], id: string): Seated {
  const role = roles.find(({ role_id }) => role_id === id);
  const { type = "participant", display_name = id, metadata = {} } = role ?? {};
  const description = typeof metadata["description"] === "string" ? metadata["description"] : undefined;
  return { type, display_name, ...defined({ description, input_schema: role?.input_schema || undefined }) };
}

/** A role as whoever chooses among several is told it. */
export function introduced({
  id,
  display_name,
  description,
  input_schema,
}: Seated & { readonly id: string }): JsonObject {
  return { agent_name: id, role: display_name, ...defined({ description, input_schema }) };
}

/** Who is meant: the one with this id, or else the only one with this display name. The failure at `pointer` lists those there are. */
export function whoIs<U extends Seated & { readonly id: string }>(
  name: string,
  all: readonly U[],
  { pointer, who, of }: { readonly pointer: string; readonly who: string; readonly of: string },
): Fallible<U> {
  const same = (text: string) => text.trim().toLowerCase() === name.trim().toLowerCase();
  const [one, another] = all.filter(({ display_name }) => same(display_name));
  const found = all.find(({ id }) => id === name.trim()) ?? (another ? undefined : one);
  if (found) return ok(found);
  const names = all.map(({ id, display_name }) => (id === display_name ? id : `${id} (${display_name})`));
  return err(wrongAt(pointer, `"${name}" is no ${who} of this ${of}`, `the ${who}s are ${names.join(", ")}`));
}

/** Why a text does not fit the `input_schema` of whom it is for. */
export function lackFor(
  { id, input_schema }: Pick<Seated, "input_schema"> & { readonly id: string },
  text: string,
  pointer: string,
): Failure | undefined {
  const lack = lackIn(input_schema, text);
  if (lack === undefined) return undefined;
  // A schema that was stored has its members in this order.
  const form = typeof input_schema === "string" ? input_schema : canonicalJson(input_schema ?? null);
  return wrongAt(pointer, `"${id}" takes only bare JSON of its input_schema: ${lack}`, `the schema is ${form}`);
}

/**
 * Why a question cannot be put to a subject; keeps it if it can. One that its `input_schema` does not fit is refused, and once the one that it has just
 * answered: whoever asks the same again means it.
 */
export function unfitFor<S extends Self, U extends Subject & Seated>(
  draft: Draft<S, U>,
  one: U,
  { text, pointer, isAnswered }: { readonly text: string; readonly pointer: string; readonly isAnswered: boolean },
): Failure | undefined {
  const { id, question, repeated } = one;
  const lack = lackFor(one, text, pointer);
  if (lack) return lack;
  const isRepeated = isAnswered && question === text.trim() && !repeated;
  const kept: Patch<Seated> = { question: text.trim(), repeated: isRepeated ? true : undefined };
  draft.patchSubject(id, kept as Patch<U>);
  if (!isRepeated) return undefined;
  return wrongAt(
    pointer,
    `"${id}" has just answered this`,
    "ask something new, ask another, or end; once more the same is asked",
  );
}
