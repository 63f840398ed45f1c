import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { messagesIn } from "../../../src/commands/lookup/mailbox.ts";
import { council } from "../../../src/modes/council/council.ts";
import { councilMode } from "../../../src/modes/council/mode.ts";
import type { Role } from "../../../src/protocol/roles.ts";
import { kitRules } from "../kit-rules.ts";
import { ModeSession } from "../kit.ts";
import { keyOf } from "./session.ts";

const IDS = Array.from({ length: 100 }, (_, index) => `member${index}`);
const MESSAGES = 10_000;

/** CPU time in ms that work takes. */
function cpu(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

it("a post takes at most 5 ms with 100 participants and 10,000 messages, and changes as little as the first", () => {
  const roles: Role[] = [];
  const input = { topic: "Which store?", participants: IDS };
  const session = new ModeSession(councilMode, kitRules(council), { roles, input, unchecked: true });
  const by = (id: string) => ({ actor: { user: "a", host: "h", via: "cli", participant: id, key: keyOf(id) } });
  for (const id of IDS)
    session.submit("user", "participant", { agent_id: id, status: "joined", token_sha256: keyOf(id) }, by(id));
  const post = (index: number) => {
    const id = IDS[index % IDS.length] ?? "";
    session.submit("user", "comment", { text: `Message ${index}` }, by(id));
  };
  post(0);
  post(1);
  const first = session.last.changes.length;
  for (let index = 2; index < MESSAGES; index += 1) post(index);
  expect(session.state.said.size).toBe(MESSAGES);
  const posts = 200;
  const taken = cpu(() => {
    for (let index = 0; index < posts; index += 1) post(MESSAGES + index);
  });
  expect([session.last.disposition, session.last.changes.length]).toEqual(["applied", first]);
  expect(taken / posts).toBeLessThan(5);
}, 120_000);

it("reading a few of 10,000 messages opens only their files", () => {
  const directory = mkdtempSync(join(tmpdir(), "bosun-mailbox-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  mkdirSync(join(directory, "messages"));
  for (let sequence = 1; sequence <= MESSAGES; sequence += 1) {
    const type = sequence % 1000 === 0 ? "vote" : "comment";
    const name = `msg_20260101T000000000Z-${String(sequence).padStart(6, "0")}_${IDS[sequence % 100] ?? ""}_${type}.json`;
    writeFileSync(join(directory, "messages", name), JSON.stringify({ message_id: `m${sequence}` }));
  }
  let votes: unknown[] = [];
  const some = cpu(() => {
    votes = [...messagesIn(directory, { type: "vote", since: "m5000" })];
  });
  expect(votes).toEqual([6, 7, 8, 9, 10].map((thousand) => ({ message_id: `m${thousand}000` })));
  expect([...messagesIn(directory, { agent: "member7" })]).toHaveLength(100);
  const all = cpu(() => expect([...messagesIn(directory, {})]).toHaveLength(MESSAGES));
  expect(some).toBeLessThan(all / 4);
}, 120_000);
