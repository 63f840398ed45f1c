import type { SessionValue } from "./state.ts";

/** The capability of independent reviewers. */
export const REVIEW = "review";

/** Whether the crew has independent reviewers: participants with the capability `review`. Otherwise the manager reviews. */
export function hasReviewers({ roles }: Pick<SessionValue, "roles">): boolean {
  return roles.some(({ type, capabilities }) => type === "participant" && capabilities.includes(REVIEW));
}
