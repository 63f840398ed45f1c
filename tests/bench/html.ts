import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Browser } from "playwright-core";
import { findChromium, openFile, startChromium } from "../browser.ts";
import {
  type Extent,
  inProcess,
  interleaved,
  median,
  medianOf,
  newDirectory,
  PROGRAM,
  table,
  target,
  wallTime,
} from "./measure.ts";
import { logFolder, type SessionOrder } from "./sessions.ts";

/** The envelopes of a ticket without notes: the instruction's request, the report, the review's request, the review. */
const WITHOUT_NOTES = 4;
const ENVELOPES = 20;

/** What a page took to open, in ms from the start of the navigation, and how many elements it has then. */
interface Opened {
  readonly loaded: number;
  readonly painted: number;
  readonly searched: number;
  readonly elements: number;
}

/** The time to write the HTML report of a large session, and to open it in Chromium. */
export async function measure(extent: Extent): Promise<void> {
  if (!existsSync(PROGRAM)) {
    console.log("\nhtml: left out, because the program is not built (npm run build).");
    return;
  }
  const tasks = extent.quick ? 100 : 1_000;
  const home = newDirectory(extent);
  const notes = ENVELOPES - WITHOUT_NOTES;
  const order: SessionOrder = { home, shape: { tasks, layers: 10 }, max_workers: 64, files: true, notes };
  await inProcess("session", order, { ...extent, profile: undefined });
  const folder = logFolder(home);
  const file = join(home, "report.html");
  const write = [PROGRAM, "report", folder, "--html", file];
  const verify = [PROGRAM, "replay", folder, "--verify"];
  const written = await interleaved(extent.rounds, {
    report: () => wallTime(process.execPath, write),
    verify: () => wallTime(process.execPath, verify),
  });
  const bytes = statSync(file).size;
  const packed = gzipSync(readFileSync(file)).length;
  const opened = await openings(file, extent.rounds);
  const mebibytes = (size: number) => size / 2 ** 20;
  table(
    `html: the report of ${tasks.toLocaleString("en-US")} tickets with ${ENVELOPES} envelopes each`,
    ["", "figure"],
    [
      ["write, ms", median(written.report)],
      ["of that to verify the log, ms", median(written.verify)],
      ["size, MiB", mebibytes(bytes)],
      ["packed with gzip, MiB", mebibytes(packed)],
      ...(opened === undefined
        ? []
        : ([
            ["open in Chromium: loaded, ms", medianOf(opened, ({ loaded }) => loaded)],
            ["first paint, ms", medianOf(opened, ({ painted }) => painted)],
            ["first search, ms", medianOf(opened, ({ searched }) => searched)],
            ["elements", medianOf(opened, ({ elements }) => elements)],
          ] as const)),
    ],
  );
  if (opened === undefined) console.log("  not opened: there is no Chromium on the PATH");
  else {
    const loaded = medianOf(opened, (one) => Math.max(one.loaded, one.painted));
    target("opened in ms", loaded, "<= 500", loaded <= 500);
  }
}

async function openings(file: string, rounds: number): Promise<Opened[] | undefined> {
  const program = findChromium();
  if (program === undefined) return undefined;
  const browser = await startChromium(program);
  try {
    const { opened } = await interleaved(rounds, { opened: () => open(browser, file) });
    return opened;
  } finally {
    await browser.close();
  }
}

/** In the page: when it showed its first content, in ms. */
const PAINTED = `new Promise((painted) =>
  new PerformanceObserver((list) => {
    const [first] = list.getEntriesByName("first-contentful-paint");
    if (first) painted(first.startTime);
  }).observe({ type: "paint", buffered: true }))`;

/** In the page: when it was loaded, and its elements. */
const LOADED = `[performance.getEntriesByType("navigation")[0].loadEventEnd, document.querySelectorAll("*").length]`;

async function open(browser: Browser, file: string): Promise<Opened> {
  const { page } = await openFile(browser, file, { width: 1280, height: 900, theme: "light" });
  const painted = await page.evaluate<number>(PAINTED);
  const [loaded, elements] = await page.evaluate<[number, number]>(LOADED);
  const began = performance.now();
  await page.fill("#search", "t9-99");
  await page.locator("#envelopes .count", { hasText: " of " }).waitFor();
  const searched = performance.now() - began;
  await page.close();
  return { loaded, painted, searched, elements };
}
