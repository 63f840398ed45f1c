import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { MODES } from "../simulation/modes.ts";
import { DEBATE } from "./debate.ts";
import { SCHEDULE } from "./schedule.ts";
import { play } from "./stage.ts";

// Records the stories with this version: `node tests/golden-logs/record.ts tests/fixtures/golden-logs`. Recorded logs never change: a later version
// records into a folder of its own.
const folder = resolve(process.argv[2] ?? "");
// The files of the sessions go into a relative home.
const home = mkdtempSync(join(tmpdir(), "bosun-golden-"));
process.chdir(home);
process.on("exit", () => rmSync(home, { recursive: true }));

for (const story of [SCHEDULE, DEBATE]) {
  const made = join(folder, `${story.mode}-rules-${MODES.get(story.mode)?.rules}`);
  mkdirSync(made, { recursive: true });
  const [, waiting = [], ...others] = await play(story);
  writeFileSync(join(made, "waiting.ndjson"), waiting.join(""));
  writeFileSync(join(made, "closed.ndjson"), others.at(-1)?.join("") ?? "");
}
