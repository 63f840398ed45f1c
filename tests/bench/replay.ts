import { type Extent, inProcess, newDirectory, interleaved, medianOf, table } from "./measure.ts";
import { logFolder, type SessionOrder } from "./sessions.ts";
import type { Checked, Played } from "./work.ts";

interface Floor {
  readonly working: number;
  readonly records: number;
  readonly bytes: number;
}

/** Verifies a whole log, by its chain and by re-deciding it, beside reading, parsing and hashing its files. */
export async function measure(extent: Extent): Promise<void> {
  const tasks = extent.quick ? 1_000 : 10_000;
  const home = newDirectory(extent);
  const order: SessionOrder = { home, shape: { tasks, layers: 10 }, max_workers: 64, files: true };
  await inProcess("session", order, { ...extent, profile: undefined });
  const folder = logFolder(home);
  const results = await interleaved(extent.rounds, {
    floor: () => inProcess<Floor>("read-floor", { folder }, { ...extent, profile: undefined }),
    chain: () => inProcess<Checked>("chain", { folder }, extent),
    replay: () => inProcess<Checked>("replay", { folder }, extent),
    player: () => inProcess<Played>("player", { folder }, extent),
  });
  const [first] = results.floor;
  if (first === undefined) return;
  const { records, bytes } = first;
  const mebibytes = bytes / 2 ** 20;
  const arms = [
    ["read, parse, hash", medianOf(results.floor, ({ working }) => working), Number.NaN],
    ["the chain (verify)", ...figures(results.chain)],
    ["every decision (replay --verify)", ...figures(results.replay)],
  ] as const;
  const floor = arms[0][1];
  table(
    `replay: ${records.toLocaleString("en-US")} records of ${tasks.toLocaleString("en-US")} tickets, ${Math.round(mebibytes)} MiB, one file each`,
    ["", "ms", "records/s", "MiB/s", "x floor", "RSS MiB"],
    arms.map(([name, ms, rss]) => [name, ms, (records * 1e3) / ms, (mebibytes * 1e3) / ms, ms / floor, rss]),
  );
  const figure = (of: keyof Played) => medianOf(results.player, (played) => played[of]);
  table(
    "replay: the player, in ms",
    ["open", "read all", "seek", "slowest seek", "step back", "RSS MiB"],
    [[figure("opened"), figure("working"), figure("seek"), figure("slowest"), figure("back"), figure("rss_peak")]],
  );
}

function figures(results: readonly Checked[]): [working: number, rss: number] {
  return [medianOf(results, ({ working }) => working), medianOf(results, ({ rss_peak }) => rss_peak)];
}
