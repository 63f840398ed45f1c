import type { Role } from "../protocol/roles.ts";
import type { Seat } from "./mode.ts";

/** Whether the role may sit there, whoever does now. */
export function suits(role: Pick<Role, "role_id" | "type" | "capabilities">, seat: Seat): boolean {
  return (
    role.type === seat.type &&
    (seat.role_id === undefined || role.role_id === seat.role_id) &&
    (seat.capability === undefined || role.capabilities?.includes(seat.capability) === true)
  );
}
