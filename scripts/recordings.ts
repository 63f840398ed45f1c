/**
 * `npm run recordings`: records two sessions in real terminals, with the built program and tmux: one of twenty tickets, watched and
 * answered in the dashboard, and the interactive demo. Writes docs/recordings.md, and docs/images/dashboard.png if there is Chromium.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import os from "node:os";
import { delimiter, dirname, join } from "node:path";
import { findChromium, openFile, startChromium } from "../tests/browser.ts";
import { counted } from "../src/ui/words.ts";
import { pageOf, Terminal } from "./terminal.ts";

const ROOT = join(import.meta.dirname, "..");

/** A moment of a recording: what happens, and the screen then. */
interface Moment {
  readonly told: string;
  readonly screen: string;
}

const scratch = mkdtempSync(join(os.tmpdir(), "bosun-recordings-"));
/** `bosun` is on the PATH, as for a person who has installed it. */
const environment = {
  PATH: [join(scratch, "bin"), dirname(process.execPath), process.env.PATH].join(delimiter),
  BOSUN_HOME: join(scratch, "home"),
};
try {
  mkdirSync(join(scratch, "bin"));
  chmodSync(join(ROOT, "dist", "bin.js"), 0o755);
  symlinkSync(join(ROOT, "dist", "bin.js"), join(scratch, "bin", "bosun"));
  const { moments, picture } = await recordTwenty();
  const demo = await recordDemo();
  writeFileSync(join(ROOT, "docs", "recordings.md"), documentOf(moments, demo));
  await paint(picture);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

/** Twenty tickets: two questions before the plan, a review by the person, a failed check, a look into a ticket, the graph, detach, attach. */
async function recordTwenty(): Promise<{ moments: Moment[]; picture: string }> {
  const moments: Moment[] = [];
  writeFileSync(join(scratch, "plan.json"), JSON.stringify(twenty()));
  const keep = (terminal: Terminal, told: string) => moments.push({ told, screen: terminal.screen() });
  const terminal = new Terminal("bosun run --plan plan.json", scratch, 112, 30, environment);
  await terminal.shows("[a] answer");
  keep(terminal, "The manager asks before it plans.");
  terminal.type("a");
  await terminal.shows("Question 1 of 2");
  terminal.type("2", "Enter");
  await terminal.shows("Question 2 of 2");
  keep(terminal, "`a` asks on the normal screen.");
  terminal.type("100 a minute", "Enter");
  await terminal.shows("Enter sends them");
  keep(terminal, "All answers are confirmed before they are sent.");
  terminal.type("Enter");
  await terminal.shows("in_progress");
  await terminal.shows("needs your review");
  keep(terminal, "Twenty tickets: one waits for a person's review, and nothing else waits for that.");
  const picture = terminal.styled();
  terminal.type("Enter");
  await terminal.shows("history ·");
  keep(terminal, "Enter opens a ticket: its facts, its history and what its agent prints.");
  terminal.type("Escape");
  // Before that, the key would be Alt-g.
  await terminal.shows("── events");
  terminal.type("g");
  await terminal.shows("also after");
  keep(terminal, "`g` shows what depends on what.");
  terminal.type("g", "q");
  await terminal.shows("bosun attach s-");
  keep(terminal, "`q` detaches: the session goes on.");
  terminal.end();
  const again = new Terminal("bosun attach", scratch, 140, 40, environment);
  await again.shows("needs your review");
  keep(again, "`bosun attach` comes back, here in a wide terminal.");
  again.type("a");
  await again.shows("Review of");
  again.type("1", "Enter");
  await again.shows("20 of 20 tickets done");
  keep(again, "The review is given, and the rest is done: the normal screen has the summary.");
  again.end();
  return { moments, picture };
}

/** The interactive demo: its questions are answered with Enter, which also goes on after each section. */
async function recordDemo(): Promise<Moment[]> {
  const moments: Moment[] = [];
  const terminal = new Terminal("bosun demo --interactive", scratch, 90, 40, environment);
  let before = "";
  for (let pressed = 0; pressed < 40; pressed += 1) {
    const screen = await settled(terminal);
    if (screen !== before)
      moments.push({
        told: pressed === 0 ? "It asks two questions." : `After pressing Enter ${counted(pressed, "time")}:`,
        screen,
      });
    before = screen;
    if (screen.includes("Done in")) break;
    terminal.type("Enter");
  }
  terminal.end();
  return moments;
}

/** The screen once it stays the same for a second. */
async function settled(terminal: Terminal): Promise<string> {
  let screen = terminal.screen();
  for (let same = 0; same < 10; same += 1) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    const now = terminal.screen();
    if (now !== screen) same = 0;
    screen = now;
  }
  return screen;
}

function documentOf(twentyTickets: readonly Moment[], demo: readonly Moment[]): string {
  return [
    "# Recordings",
    "",
    "Screens of real terminals, recorded by `npm run recordings`: nothing is drawn by hand.",
    "",
    "## A session of twenty tickets in the dashboard",
    "",
    ...twentyTickets.flatMap(block),
    "## `npm start -- --interactive`",
    "",
    ...demo.flatMap(block),
  ].join("\n");
}

function block({ told, screen }: Moment): string[] {
  const temporary = `${os.tmpdir()}/bosun-demo-`;
  const shown = screen.replaceAll(scratch, "/tmp/scratch").replaceAll(ROOT, ".").replaceAll(temporary, "/tmp/demo-");
  const lines = shown.trimEnd().split("\n");
  return [told, "", "```", ...lines.map((line) => line.trimEnd()), "```", ""];
}

async function paint(styled: string): Promise<void> {
  const chromium = findChromium();
  if (chromium === undefined) {
    console.error("There is no Chromium on the PATH, so docs/images/dashboard.png stays as it is.");
    return;
  }
  const file = join(scratch, "dashboard.html");
  writeFileSync(file, pageOf(styled));
  const browser = await startChromium(chromium);
  const { page } = await openFile(browser, file, { width: 1000, height: 560, theme: "dark" });
  await page.locator("pre").screenshot({ path: join(ROOT, "docs", "images", "dashboard.png") });
  await browser.close();
}

/** A plan as a manager may write it for a web service; its steps only take some time and print. */
function twenty(): object {
  const work = (lines: number) => `for i in $(seq ${lines}); do echo "edited $i of ${lines} files"; sleep 0.3; done`;
  const tasks: [id: string, description: string, dependencies: string[], more?: object][] = [
    ["survey", "Find every endpoint and who calls it", []],
    ["limits", "Decide the limits of each endpoint", ["survey"]],
    ["store", "A store for counters that survives a restart", []],
    ["clock", "A clock that tests can set", []],
    ["window", "Sliding window over the counters", ["store", "clock"]],
    ["keys", "Count by API key, else by address", ["survey"]],
    ["middleware", "Middleware that refuses with 429", ["window", "keys"], { review: "user" }],
    ["headers", "RateLimit headers on every answer", ["middleware"]],
    ["retry-after", "Retry-After on refusals", ["middleware"]],
    ["config", "Limits in the configuration, checked at start", ["limits"]],
    ["reload", "Reload limits without a restart", ["config"]],
    ["metrics", "Metrics of refused requests", ["keys"]],
    ["dashboards", "A panel for refusals", ["metrics"]],
    ["unit-tests", "Unit tests of the window", ["window"]],
    ["load-test", "Load test with a thousand clients", ["clock"]],
    ["docs-users", "Document the limits for users", ["limits"]],
    ["docs-ops", "Document how to change limits", ["config"]],
    ["changelog", "Changelog and migration note", ["docs-users"]],
    ["canary", "Switch it on for one tenant", ["headers", "retry-after", "unit-tests"]],
    ["rollout", "Switch it on for everybody", ["canary", "load-test", "changelog"]],
  ];
  return {
    requirement: "Add rate limiting to the API",
    summary: "Twenty tasks, from the survey to the rollout.",
    questions: [
      {
        question_id: "scope",
        text: "Is the limit counted for each API key or for each address?",
        why: "It decides what the counters are stored by.",
        options: ["API key", "API key, else address", "address"],
        default: "API key, else address",
      },
      { question_id: "limit", text: "How many requests may a client make?", default: "60 a minute" },
    ],
    tasks: tasks.map(([task_id, description, dependencies, more = {}], index) => ({
      task_id,
      description,
      dependencies,
      // While something is at work, the review does not open by itself.
      instruction: {
        summary: description,
        steps: [{ text: "work", shell: work(task_id === "load-test" ? 80 : 3 + (index % 4)) }],
      },
      acceptance_criteria: [{ text: "it works", command: ["true"] }],
      review: "checks",
      ...more,
    })),
    metadata: { playbook: { instruction: "with_plan" } },
  };
}
