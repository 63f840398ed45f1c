import { join } from "node:path";
import type * as Harness from "../../src/harness/index.ts";
import type { ProviderName } from "../../src/harness/providers.ts";

/** `fetch` is the floor: the same request, and every event of the answer read and parsed. */
export interface TalkOrder {
  readonly by: "fetch" | "adapter" | "turn";
  readonly provider: ProviderName;
  readonly baseURL: string;
  readonly path: string;
  readonly calls: number;
}

/** In ms: processor time until the first answer, with everything that is loaded for it; then each call. */
export interface TalkCost {
  readonly first_cpu: number;
  readonly wall: number;
  readonly cpu: number;
}

const MODEL = "model-1";
const PROMPT = "What is the colour of the envelope?";

async function asker({ by, provider, baseURL, path }: TalkOrder): Promise<() => Promise<unknown>> {
  if (by === "fetch") return () => readEvents(`${baseURL}${path}`);
  // The library as it is shipped.
  const library = join(import.meta.dirname, "..", "..", "dist", "harness", "index.js");
  const { providerAdapter, TurnRunner } = (await import(library)) as typeof Harness;
  const adapter = await providerAdapter({ provider, model: MODEL, baseURL, apiKey: "key" });
  if (by === "adapter") return () => adapter.sendChat({ model: MODEL, messages: [{ role: "user", content: PROMPT }] });
  const runner = new TurnRunner({ name: "ann", adapter, model: MODEL });
  return () => runner.runTurn([], PROMPT);
}

async function readEvents(url: string): Promise<number> {
  const messages = [{ role: "user", content: PROMPT }];
  const body = JSON.stringify({ model: MODEL, stream: true, max_tokens: 1_000, messages, input: messages });
  const { body: stream } = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
  let [rest, events] = ["", 0];
  for await (const text of (stream as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
    const lines = `${rest}${text}`.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (!line.startsWith("data: {")) continue;
      JSON.parse(line.slice(6));
      events += 1;
    }
  }
  if (events === 0) throw new Error("the server sent no event");
  return events;
}

function cpuSince(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}

const order = JSON.parse(process.argv[2] ?? "") as TalkOrder;
const start = process.cpuUsage();
const ask = await asker(order);
await ask();
const first_cpu = cpuSince(start);
const [began, beganCpu] = [performance.now(), process.cpuUsage()];
for (let call = 0; call < order.calls; call += 1) await ask();
const wall = (performance.now() - began) / order.calls;
const cost: TalkCost = { first_cpu, wall, cpu: cpuSince(beganCpu) / order.calls };
console.log(JSON.stringify(cost));
