/**
 * `node hostile-worker.ts MODE BYTES`: a worker that prints about so many bytes in the way of the mode, and then its answer. Modes of other dialects
 * than the envelopes speak the lines of that program. It imports nothing of the project, so that it starts fast.
 */
import { existsSync } from "node:fs";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";

const [mode = "", size = "0"] = process.argv.slice(2);

const MIB = 1024 * 1024;
/** A line of the greatest length that is read. */
const LONGEST = 8 * MIB;
/** Small messages are written in pieces of this size. */
const PIECE = 256 * 1024;
/** So much is printed in lines of a few bytes. */
const SHORT = 2 * MIB;

function envelope(payload_type: string, payload: string): string {
  const session_id = process.env["BOSUN_SESSION_ID"] ?? "";
  const source = process.env["BOSUN_ROLE_ID"] ?? "";
  return `{"session_id":"${session_id}","source":"${source}","target":"scheduler","payload_type":"${payload_type}","version":"1.0","payload":${payload}}\n`;
}

function report(more = "", status = "completed"): string {
  return envelope("report", `{"status":"${status}","summary":"Done."${more}}`);
}

/** A valid report of the greatest length with this in its metadata, if `inside` fills the space it is given. */
function filled(inside: (bytes: number) => string, open = '{"a":[', close = "]}", status = "completed"): string {
  const frame = report(`,"metadata":${open}${close}`, status).length;
  return report(`,"metadata":${open}${inside(LONGEST - frame)}${close}`, status);
}

/** As many entries as fit, with commas between them. */
function entries(one: (index: number) => string): (bytes: number) => string {
  return (bytes) => {
    const all: string[] = [];
    let used = 0;
    for (let index = 0; ; index += 1) {
      const entry = one(index);
      used += entry.length + 1;
      if (used > bytes) return all.join(",");
      all.push(entry);
    }
  };
}

/** Almost as many entries as a line may have, and a text that fills it. */
function atMost(one: (index: number) => string, members: number, open = '"a":[', close = "]"): string {
  const all = Array.from({ length: Math.floor(19_900 / members) }, (_, index) => one(index)).join(",");
  const inside = `${open}${all}${close}`;
  return filled((bytes) => `${inside},"text":"${"x".repeat(bytes - inside.length - 11)}"`, "{", "}");
}

function tasks(): string {
  const all = Array.from({ length: 100_000 }, (_, n) => `{"task_id":"t${n}","description":"Do it","dependencies":[]}`);
  return envelope("plan", `{"summary":"Much","tasks":[${all.join(",")}]}`);
}

const keys = (count: number) => Array.from({ length: count }, (_, index) => `"key_${index}":1`).join(",");
const KEYS = keys(300_000);
const claudeLine = (event: object) => `${JSON.stringify(event)}\n`;
const claudeResult = (result: string) =>
  claudeLine({ type: "result", subtype: "success", is_error: false, session_id: "c", result });
const claudeAnswer = claudeResult('{"payload_type":"report","report":{"status":"completed","summary":"Done."}}');
const codexText = (text: string) =>
  `${JSON.stringify({ type: "item.completed", item: { id: "i", type: "agent_message", text } })}\n`;
const codexAnswer = `${codexText('{"payload_type":"report","report":{"status":"completed","summary":"Done."}}')}{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}\n`;

interface Output {
  /** Printed again and again. */
  readonly piece: () => string | Buffer;
  readonly stream?: "stderr";
  /** Whether the answer comes first. */
  readonly after?: boolean;
  readonly answer?: string;
  /** Printed once. */
  readonly once?: boolean;
  /** Prints at most so many bytes: so short are the lines. */
  readonly most?: number;
}

const claude = (piece: () => string, once = false): Output => ({ piece, answer: claudeAnswer, once });
const codex = (piece: () => string): Output => ({ piece, answer: codexAnswer });

const MODES: Readonly<Record<string, Output>> = {
  quiet: { piece: () => "", once: true },
  keys: { piece: () => report(`,${KEYS}`) },
  "keys-metadata": { piece: () => report(`,"metadata":{${KEYS}}`) },
  "keys-number": {
    piece: () =>
      filled(
        entries((n) => `"${n}":1`),
        "{",
        "}",
      ),
  },
  "keys-sparse": {
    piece: () =>
      filled(
        entries((n) => `"${(n * 2_654_435_761) % 4_294_967_295}":1`),
        "{",
        "}",
      ),
  },
  "keys-long": {
    piece: () =>
      filled(
        entries((n) => `"${"k".repeat(5_000)}${n}":1`),
        "{",
        "}",
      ),
  },
  "keys-twice": { piece: () => filled((bytes) => `${entries((n) => `"k${n}":1`)(bytes - 7)},"k1":1`, "{", "}") },
  "keys-each": { piece: () => filled(entries((n) => `{"k${n}":1}`)) },
  "most-keys": { piece: () => atMost((n) => `"key_${n}":1`, 1, '"a":{', "}") },
  "most-sparse": { piece: () => atMost((n) => `"${(n * 2_654_435_761) % 4_294_967_295}":1`, 1, '"a":{', "}") },
  "most-each": { piece: () => atMost((n) => `{"k${n}":1}`, 2) },
  "most-lists": { piece: () => atMost(() => "[]", 2) },
  "most-texts": { piece: () => atMost((n) => `"text ${n}"`, 1) },
  "most-nested": { piece: () => atMost(() => "[".repeat(58) + "]".repeat(58), 59) },
  "most-unknown": { piece: () => report(`,${keys(19_900)}`) },
  lists: { piece: () => filled(entries(() => "[]")) },
  items: { piece: () => filled(entries(() => "1")) },
  outputs: { piece: () => report(`,"outputs":[${entries(() => '""')(LONGEST - 400)}]`) },
  texts: { piece: () => filled(entries((n) => `"text ${n}"`)) },
  escapes: { piece: () => filled((bytes) => `"${"\\n".repeat(Math.floor(bytes / 2) - 1)}"`) },
  text: { piece: () => filled((bytes) => `"${"x".repeat(bytes - 2)}"`) },
  "text-progress": { piece: () => filled((bytes) => `"${"x".repeat(bytes - 2)}"`, '{"a":[', "]}", "progress") },
  "text-late": { piece: () => filled((bytes) => `"${"x".repeat(bytes - 2)}"`), after: true },
  number: { piece: () => filled((bytes) => "1".repeat(bytes)) },
  spaces: { piece: () => filled((bytes) => " ".repeat(bytes)) },
  nested: { piece: () => filled(entries(() => "[".repeat(60) + "]".repeat(60))) },
  deeper: { piece: () => `{"payload_type":${"[".repeat(LONGEST - 100)}\n` },
  broken: { piece: () => filled((bytes) => `"${"x".repeat(bytes - 3)}",`) },
  latin1: {
    piece: () =>
      Buffer.from(
        filled((bytes) => `"${"x".repeat(bytes - 4)}\u00ff"`),
        "latin1",
      ),
  },
  cut: { piece: () => `{"payload_type":"${"x".repeat(12 * MIB)}"}\n` },
  plan: { piece: tasks },
  console: { piece: () => "y\n".repeat(PIECE / 2), most: SHORT },
  "console-json": { piece: () => '{"a":1}\n'.repeat(PIECE / 8), most: SHORT },
  "console-long": { piece: () => `${"y".repeat(MIB)}\n` },
  stderr: { piece: () => "y\n".repeat(PIECE / 2), stream: "stderr", most: SHORT },
  "stderr-long": { piece: () => `${"y".repeat(MIB)}\n`, stream: "stderr" },
  progress: { piece: () => report("", "progress").repeat(1_000) },
  refused: { piece: () => report(',"nonsense":1').repeat(1_000) },
  late: { piece: () => report(',"outputs":["x"]').repeat(1_000), after: true },
  twice: { piece: () => report().repeat(1_000), after: true },
  "claude-keys": claude(() => `{"type":"user","message":{${KEYS}}}\n`),
  "claude-text": claude(() => claudeLine({ type: "user", message: { content: "x".repeat(LONGEST - 100) } })),
  "claude-lists": claude(() => `{"type":"user","message":[${entries(() => "[]")(LONGEST - 100)}]}\n`),
  "claude-flood": claude(() =>
    claudeLine({ type: "assistant", message: { content: [{ type: "text", text: "x" }] } }).repeat(1_000),
  ),
  "claude-braces": claude(() => claudeResult("{".repeat(LONGEST - 200)), true),
  "claude-objects": claude(() => claudeResult('{"a":[1]}'.repeat(600_000)), true),
  "claude-keys-text": claude(() => claudeResult(`{"payload_type":"report","report":{${KEYS}}}`), true),
  "codex-text": codex(() => codexText("x".repeat(LONGEST - 200))),
  "codex-lists": codex(() => `{"type":"item.completed","item":[${entries(() => "[]")(LONGEST - 200)}]}\n`),
  "codex-flood": codex(() => codexText("x").repeat(1_000)),
};

async function print(stream: NodeJS.WriteStream, bytes: Buffer): Promise<void> {
  if (!stream.write(bytes)) await once(stream, "drain");
}

/** Tells the time again and again until the file of this name is there. */
async function honest(over: string): Promise<void> {
  do {
    const told = envelope("report", `{"status":"progress","summary":"${performance.timeOrigin + performance.now()}"}`);
    await print(process.stdout, Buffer.from(told));
    await delay(25);
  } while (!existsSync(over));
  await print(process.stdout, Buffer.from(report()));
}

async function hostile({
  piece,
  stream,
  after,
  answer = report(),
  once: isOnce,
  most = Infinity,
}: Output): Promise<void> {
  const bytes = Buffer.from(piece());
  const said = Buffer.from(answer);
  if (after) await print(process.stdout, said);
  const out = stream === "stderr" ? process.stderr : process.stdout;
  for (let printed = 0; printed < Math.min(most, Number(size)); printed += Math.max(1, bytes.length)) {
    await print(out, bytes);
    if (isOnce) break;
  }
  if (!after) await print(process.stdout, said);
}

if (mode === "honest") await honest(size);
else await hostile(MODES[mode] ?? { piece: () => "", once: true });
