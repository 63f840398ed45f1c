import { basename } from "node:path";
import { type Seat, suits } from "../../kernel/mode.ts";
import type { Role, RoleType } from "../../protocol/roles.ts";

/** Maximum number of simultaneous turns for each type of role. */
export type Capacity = Readonly<Record<RoleType, number>>;

/** Finds the role of a crew that can take a seat now, within the capacity of its type and its own instances. */
export class Seats {
  readonly roles: readonly Role[];
  readonly isHeld: (role_id: string) => boolean;
  readonly #capacity: Capacity;
  readonly #takenByRole = new Map<string, number>();
  readonly #takenByType = new Map<RoleType, number>();

  constructor(roles: readonly Role[], capacity: Capacity, isHeld: (role_id: string) => boolean) {
    this.roles = roles;
    this.#capacity = capacity;
    this.isHeld = isHeld;
  }

  /** The suitable role with the fewest running turns. Roles of the same program or account as `unlike` come after others, `rather_not` comes last. */
  pick(seat: Seat): Role | undefined {
    const unlike = this.roles.find(({ role_id }) => role_id === seat.unlike);
    let best: { readonly role: Role; readonly rank: number } | undefined;
    if ((this.#takenByType.get(seat.type) ?? 0) >= this.#capacity[seat.type]) return undefined;
    for (const role of this.roles) {
      if (!suits(role, seat) || this.isHeld(role.role_id)) continue;
      const taken = this.#takenByRole.get(role.role_id) ?? 0;
      if (taken >= instances(role)) continue;
      const rank =
        role.role_id === seat.rather_not ? Number.POSITIVE_INFINITY : taken + (isLike(role, unlike) ? ALIKE : 0);
      if (!best || rank < best.rank) best = { role, rank };
    }
    return best?.role;
  }

  /** Whether a role may have several turns at once. */
  hasSeveral(role: Role): boolean {
    return role.supports_multiple_instances ?? instances(role) > 1;
  }

  take(role: Role): void {
    this.#takenByRole.set(role.role_id, (this.#takenByRole.get(role.role_id) ?? 0) + 1);
    this.#takenByType.set(role.type, (this.#takenByType.get(role.type) ?? 0) + 1);
  }

  free(role: Role): void {
    this.#takenByRole.set(role.role_id, (this.#takenByRole.get(role.role_id) ?? 0) - 1);
    this.#takenByType.set(role.type, (this.#takenByType.get(role.type) ?? 0) - 1);
  }
}

/** Larger than any role's number of turns. */
const ALIKE = 1_000_000;

/** Whether two roles are filled by the same program, or belong to the same account. */
function isLike(role: Role, other: Role | undefined): boolean {
  if (other === undefined) return false;
  if (role.account !== undefined && role.account === other.account) return true;
  return basename(role.cli_command?.[0] ?? role.role_id) === basename(other.cli_command?.[0] ?? other.role_id);
}

/** A manager runs one turn at a time unless configured otherwise; other roles run as many as the capacity allows. */
function instances(role: Role): number {
  if (role.max_instances !== undefined) return role.max_instances;
  const several = role.supports_multiple_instances ?? role.type !== "manager";
  return several ? Number.POSITIVE_INFINITY : 1;
}
