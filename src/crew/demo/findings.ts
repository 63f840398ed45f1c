import { listOf, objectOf, textWithin } from "../../lib/json.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import { pathOf } from "../kept-file.ts";
import { counted, type Item, readFinding } from "../survey/finding.ts";
import { askBosun } from "./bosun.ts";
import type { Demo } from "./session.ts";

const SHOWN = 6;
const SHOWN_OF_A_KIND = 3;

/** Shows what the crew found and returns the path of its report. */
export async function showFindings({ screen, bosun, session }: Demo): Promise<Result<string, Failure>> {
  const { events } = await askBosun(bosun, ["status", session.session_id, "--json"]);
  const tickets = listOf(events[0]?.["tickets"]).map(objectOf);
  const digestTicket = tickets.find((ticket) => ticket["ticket_id"] === "digest");
  const artifacts = listOf(digestTicket?.["artifacts"]).map(objectOf);
  const kept = (label: string) =>
    pathOf(textWithin(artifacts.findLast((artifact) => artifact["label"] === label)?.["uri"]), bosun.home);
  const [digest, report] = [kept("digest.json"), kept("report.md")];
  if (digest === undefined || report === undefined) {
    return err(failure("not_found", "The crew kept no report of its findings."));
  }
  const { items, details } = await readFinding(digest);
  const kinds = listOf(details["kinds"]).map(objectOf);
  const clean = kinds.filter((kind) => kind["items"] === 0).map((kind) => textWithin(kind["looked_at"]));
  const title = `What the crew found: ${counted(items.length, "finding")}, worst first`;
  screen.section("findings", { items, clean }, title);
  const top = topFindings(items, SHOWN, SHOWN_OF_A_KIND);
  for (const { file, line, text } of top) {
    screen.say(line === undefined ? file : `${file}:${line}`, 3, "bold");
    screen.say(text, 6);
  }
  if (items.length > top.length) screen.say(`${items.length - top.length} more are in the report of findings below.`);
  if (clean.length > 0) screen.say("Checked, with nothing to find:");
  for (const text of clean) screen.say(text, 6);
  return ok(report);
}

/** The first findings, but only one per file and few of a kind, so that a long list of one kind does not hide the others. */
export function topFindings(items: readonly Item[], most: number, ofAKind: number): Item[] {
  const top: Item[] = [];
  for (const item of items) {
    const sameKind = top.filter(({ claim }) => textWithin(claim["from"]) === textWithin(item.claim["from"]));
    const sameFile = top.some(({ file }) => file === item.file);
    if (top.length < most && sameKind.length < ofAKind && !sameFile) top.push(item);
  }
  return top;
}
