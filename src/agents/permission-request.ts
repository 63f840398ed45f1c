import type { PermissionRequest } from "../kernel/agent.ts";

/** A request to do something: in one line, and with all of it where the line leaves something out. */
export function permissionRequest(action: string, whole: string, why: string): PermissionRequest {
  // A line end separates commands, as a semicolon does.
  const line = action.trim().replaceAll(/\s*\n\s*/g, "; ");
  const details = whole === "" && line !== action ? action : whole;
  return {
    action: line,
    ...(details === "" || line.endsWith(`: ${details}`) ? {} : { details }),
    ...(why === "" ? {} : { why }),
  };
}
