import { type JsonObject, textOf } from "./json.ts";

/** How long a response's headers ask to wait: in milliseconds, seconds, or until a time by the server's own clock. */
export function millisecondsUntil(headers: JsonObject): number | undefined {
  const { "retry-after-ms": ms, "retry-after": after, date } = headers;
  const told = [Number(textOf(ms) || Number.NaN), Number(textOf(after) || Number.NaN) * 1000];
  return [...told, Date.parse(textOf(after)) - Date.parse(textOf(date))].find((wait) => wait >= 0);
}
