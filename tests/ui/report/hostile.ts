/** Texts that would run, load, hide or reorder something if they were interpreted. */
export const HOSTILE = [
  '"><img src=x onerror="window.hacked=1">',
  "</script><script>window.hacked=1</script>",
  "<!--<script>",
  "javascript:window.hacked=1",
  "</title></style></svg><iframe src=https://example.org>",
  "\u202Egnp.exe\u2066 \u001B[31m\u001B]8;;https://example.org\u0007x \u009B2J",
  "]]>{{constructor.constructor('window.hacked=1')()}}${window.hacked=1}",
].join(" ");

/** The fields that decide where a record goes; the mild form keeps them. */
const MEANING = new Set(["status", "decision", "from", "to", "event", "payload_type", "command", "subject", "mode"]);
const ALWAYS = new Set(["received_at", "timestamp", "disposition", "kind"]);

/** Appends a text to every text in a record. */
export function spoilt<T>(value: T, text: string, isMild: boolean, key = ""): T {
  if (ALWAYS.has(key) || (isMild && MEANING.has(key))) return value;
  if (typeof value === "string") return (value + text) as T;
  if (Array.isArray(value)) return value.map((one: unknown) => spoilt(one, text, isMild, key)) as T;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, one]) => [name, spoilt(one, text, isMild, name)] as const);
  return Object.fromEntries(entries) as T;
}
