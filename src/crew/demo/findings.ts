import { join } from "node:path";
import { listOf, objectOf, textWithin } from "../../lib/json.ts";
import type { LogRecord } from "../../protocol/record.ts";
import { counted, type Item, readFinding } from "../survey/finding.ts";
import type { Demo } from "./bosun.ts";

const SHOWN = 6;
const SHOWN_OF_A_KIND = 3;

/** Shows what the crew found and returns the path of its report. */
export async function showFindings({ screen, bosun }: Demo, log: readonly LogRecord[]): Promise<string> {
  const kept = (name: string) => {
    const artifact = log.findLast(
      ({ payload_type, payload }) => payload_type === "artifact_ref" && payload["label"] === name,
    );
    return join(bosun.setting.home, textWithin(artifact?.payload["uri"]));
  };
  const { items, details } = await readFinding(kept("digest.json"));
  const kinds = listOf(details["kinds"]).map(objectOf);
  const clean = kinds.filter((kind) => kind["items"] === 0).map((kind) => textWithin(kind["looked_at"]));
  screen.section("findings", { items, clean }, `What the crew found: ${counted(items.length, "finding")}, worst first`);
  const top = topFindings(items, SHOWN, SHOWN_OF_A_KIND);
  for (const { file, line, text } of top) {
    screen.say(line === undefined ? file : `${file}:${line}`, 3, "bold");
    screen.say(text, 6);
  }
  if (items.length > top.length) screen.say(`${items.length - top.length} more are in the report of findings below.`);
  if (clean.length > 0) screen.say("Checked, with nothing to find:");
  for (const text of clean) screen.say(text, 6);
  return kept("report.md");
}

/** The first findings, but only one per file and few of a kind, so that a long list of one kind does not hide the others. */
export function topFindings(items: readonly Item[], most: number, ofAKind: number): Item[] {
  const top: Item[] = [];
  for (const item of items) {
    const sameKind = top.filter(({ claim }) => claim["from"] === item.claim["from"]);
    const sameFile = top.some(({ file }) => file === item.file);
    if (top.length < most && sameKind.length < ofAKind && !sameFile) top.push(item);
  }
  return top;
}
