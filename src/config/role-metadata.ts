import { isJsonObject, type Json, type JsonObject, objectOf } from "../lib/json.ts";

/** How many turns a minute are one in a second, a minute, an hour and a day. */
const PER_MINUTE: Readonly<Record<string, number>> = { s: 60, m: 1, h: 1 / 60, d: 1 / 1440 };
const RATE = /^(\d+(?:\.\d+)?) ?(?:turns? ?)?(?:\/|per) ?([smhd])(?:ec|econd|in|inute|our|ay)?$/;

/**
 * Adds to an entry of a registry the `rate_limit` and the `permissions` of its `metadata`, behind its own. What cannot be read becomes an unknown
 * key, which the schema refuses.
 */
export function withMetadata(entry: JsonObject): JsonObject {
  const { rate_limit, permissions, network } = objectOf(entry.metadata);
  const behind = (said: Json, own: Json = {}) => (isJsonObject(said) && isJsonObject(own) ? { ...said, ...own } : said);
  return {
    ...entry,
    ...(rate_limit !== undefined && { rate_limit: behind(rateLimitIn(rate_limit), entry.rate_limit) }),
    ...(permissions !== undefined && {
      permissions: behind(permissionsIn(permissions, network !== undefined), entry.permissions),
    }),
  };
}

/** Where a file has what is at a pointer into a registry after `withMetadata`. */
export function asWritten({ roles }: JsonObject, pointer: string): string {
  const [, index = "", field = "", rest = ""] = /^\/roles\/(\d+)\/(rate_limit|permissions)(.*)$/s.exec(pointer) ?? [];
  const { metadata, [field]: own } = objectOf((roles as Json[] | undefined)?.[Number(index)]);
  return own !== undefined || metadata === undefined ? pointer : `/roles/${index}/metadata/${field}${rest}`;
}

/** A number of turns a minute, or a text such as `10/min` or `600 per hour`. */
function rateLimitIn(said: Json): Json {
  if (typeof said === "number") return { turns_per_minute: said };
  if (typeof said !== "string") return said;
  const [, count, unit = ""] = RATE.exec(said) ?? [];
  return { [count === undefined ? said : "turns_per_minute"]: Number(count) * (PER_MINUTE[unit] ?? 0) };
}

/** A list of the words `read`, `write` and `network`, without which the others are not allowed. */
function permissionsIn(said: Json, hasNetwork: boolean): Json {
  if (!Array.isArray(said)) return said;
  const words = (said as Json[]).map(String);
  const unknown = words.filter((word) => !["read", "write", "network"].includes(word));
  return {
    write: words.includes("write") ? "workspace" : "none",
    ...(!hasNetwork && { network: words.includes("network") }),
    ...Object.fromEntries(unknown.map((word) => [word, true])),
  };
}
