import { defined } from "../../lib/json.ts";
import type { RoleType } from "../../protocol/roles.ts";
import type { Seat } from "../mode.ts";
import { from } from "../references.ts";
import type { KnownRole, Shown } from "./descriptor.ts";
import type { Subject } from "./state.ts";

/** A role that says something, as a subject: its id is the role's. */
export interface Speaker extends Subject {
  readonly type: RoleType;
  /** The sequence of its latest accepted report. */
  readonly said?: number;
}

/** The types of the roles that can be speakers. */
export const SPEAKERS = ["participant", "worker", "manager"] as const;

/** What a speaker begins with. */
export function seated(id: string, roles: readonly KnownRole[]): Pick<Speaker, "id" | "type"> {
  return { id, type: roles.find(({ role_id }) => role_id === id)?.type ?? "participant" };
}

export function seatOf(speaker: Speaker | undefined): Seat {
  return { type: speaker?.type ?? "participant", ...defined({ role_id: speaker?.id }) };
}

/** A speaker is shown with what it said. */
export function shownAsSaying({ id, said }: Speaker): Shown {
  return { title: said === undefined ? id : from(said, "/summary"), owner: id };
}
