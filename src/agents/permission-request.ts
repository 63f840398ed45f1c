import type { PermissionRequest } from "../kernel/agent.ts";

/** Creates a permission request: the action in one line, and all of it as details if the line leaves something out. */
export function permissionRequest(action: string, whole: string, why: string): PermissionRequest {
  // A newline separates commands, as a semicolon does.
  const line = action.trim().replaceAll(/\s*\n\s*/g, "; ");
  const details = whole === "" && line !== action ? action : whole;
  return {
    action: line,
    ...(details === "" || line.endsWith(`: ${details}`) ? {} : { details }),
    ...(why === "" ? {} : { why }),
  };
}
