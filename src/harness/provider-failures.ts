import { defined, isJsonObject, type JsonObject, objectOf, textOf } from "../lib/json.ts";
import { millisecondsUntil } from "../lib/retry-after.ts";
import { Withholder } from "../lib/withholder.ts";
import { textOfContent } from "./messages.ts";
import { type ChatRequest, ProviderError, type ProviderErrorKind } from "./provider.ts";
import { type ModelAddress, PROVIDERS } from "./providers.ts";

/** What a status, a code and words mean, in this order in one text. Anything else is the server's fault. */
const KINDS: readonly (readonly [ProviderErrorKind, RegExp])[] = [
  [
    "overflow",
    /^413|context.?(?:length|window)|maximum context|(?:prompt|input) (?:is )?too long|token count exceeds/i,
  ],
  [
    "authentication",
    /^40[13]|api.?key.{0,9}(?:invalid|not valid)|(?:invalid|incorrect).{0,9}api.?key|authentication_/i,
  ],
  ["rateLimited", /^429|rate.?limit|resource.?exhausted|insufficient_quota|too many requests/i],
  ["model", /^404/],
  ["server", /^408/],
  ["request", /^4/],
];

/** What a package throws or has in a stream, as an error without the key and the prompt, which both are in the packages' errors. */
export function failureOf(error: unknown, address: ModelAddress, { model, messages }: ChatRequest): ProviderError {
  const { provider, apiKey = "", baseURL = PROVIDERS[provider].baseURL } = address;
  const failure = (kind: ProviderErrorKind, what: string, details: ProviderError["details"] = {}) =>
    new ProviderError(kind, new Withholder([apiKey]).text(`${provider} (${model} at ${baseURL}): ${what}`), details);
  if (error instanceof ProviderError) return failure(error.kind, error.message);
  // `data` is the body of a failed response, `value` an event that was not understood. Some errors are objects without a name.
  const thrown = isJsonObject(error) ? error : {};
  const { name, message, statusCode, responseHeaders, data, value } = thrown;
  const lost = connectionError(thrown);
  if (lost !== undefined) return failure("network", `The connection failed: ${lost}.`);
  if (name === "AI_UnsupportedFunctionalityError") return failure("request", textOf(message));
  const status = typeof statusCode === "number" && statusCode !== 200 ? statusCode : undefined;
  const said = objectOf(data ?? value).error ?? (name === undefined ? thrown : {});
  const { message: told = typeof said === "string" ? said : undefined, code, status: state, type } = objectOf(said);
  const codes = [code, state, type].map(textOf).filter((one) => one !== "");
  const words = textOf(told) || (status ? textOf(message) : "The answer is in no form that this provider has.");
  const kind = KINDS.find(([, pattern]) => pattern.test(`${status} ${codes.join(" ")} ${words}`))?.[0] ?? "server";
  // Servers repeat what they refuse.
  const prompts = messages.flatMap(({ role, content }) => (role === "tool" ? [] : [textOfContent(content)]));
  const shown = prompts.reduce((text, prompt) => (prompt.length < 12 ? text : text.replaceAll(prompt, "…")), words);
  const retryAfterMs = millisecondsUntil(objectOf(responseHeaders));
  const details = defined({ status, code: codes[0], retryAfterMs });
  return failure(kind, `${shown.slice(0, 300)}${status ? ` (HTTP ${status})` : ""}`, details);
}

/** The words of the system's error that is behind one. */
function connectionError({ name, code, message, cause }: JsonObject): string | undefined {
  if (isJsonObject(cause)) return connectionError(cause) ?? (message === "terminated" ? message : undefined);
  const words = [message, code].map(textOf).filter((one) => one !== "");
  return name !== undefined && typeof code === "string" ? words.join(", ") : undefined;
}
