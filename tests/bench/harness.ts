import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ModelServer } from "../model-servers/server.ts";
import type { TalkCost, TalkOrder } from "./harness-work.ts";
import { type Extent, interleaved, medianOf, PROGRAM, table, target } from "./measure.ts";

const WORK = join(import.meta.dirname, "harness-work.ts");

/** One provider of each protocol with events of another form. */
const ENDPOINTS = [
  ["anthropic", "/v1", "/messages"],
  ["openai", "/v1", "/responses"],
  ["openai-compatible", "/v1", "/chat/completions"],
] as const;

/** Prints what a turn costs over the adapter alone, and both over a bare request, with the same server. */
export async function measure({ quick, rounds }: Extent): Promise<void> {
  if (!existsSync(PROGRAM)) {
    console.log("\nharness: left out, because the program is not built (npm run build).");
    return;
  }
  // 200 words, in some twenty events.
  const server = await ModelServer.start(() => ({ text: "envelope ".repeat(200) }));
  let slowest = 0;
  for (const [provider, version, path] of ENDPOINTS) {
    const cost = async (by: TalkOrder["by"]): Promise<TalkCost> => {
      const order: TalkOrder = { by, provider, baseURL: `${server.url}${version}`, path, calls: quick ? 50 : 200 };
      const { stdout } = await promisify(execFile)(process.execPath, [WORK, JSON.stringify(order)]);
      return JSON.parse(stdout) as TalkCost;
    };
    const arms = { fetch: () => cost("fetch"), adapter: () => cost("adapter"), turn: () => cost("turn") };
    const results = await interleaved(rounds, arms);
    const rows = Object.entries(results).map(([by, costs]) => [
      by === "fetch" ? "a bare request" : by === "adapter" ? "the adapter" : "a turn",
      medianOf(costs, ({ wall }) => wall),
      medianOf(costs, ({ cpu }) => cpu),
      medianOf(costs, ({ first_cpu }) => first_cpu),
    ]);
    table(
      `harness with ${provider}: an answer of 200 words`,
      ["", "ms each", "CPU ms each", "CPU ms of the first"],
      rows,
    );
    slowest = Math.max(
      slowest,
      medianOf(results.turn, ({ first_cpu }) => first_cpu),
    );
  }
  await server.close();
  target("CPU ms of a first turn, with what it loads", slowest, "<= 150", slowest <= 150);
}
