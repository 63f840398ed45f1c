import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { applyToState, emptyState, newSubject } from "../../src/kernel/state.ts";
import { recordName } from "../../src/log/reader.ts";
import { tellingOf } from "../../src/protocol/telling.ts";
import { asking, INSTRUCTION, ScheduleSession, task } from "../modes/schedule/session.ts";
import { quoted } from "./spec.ts";

it("the quoted program tells what is open after each record", () => {
  const session = new ScheduleSession({ config: { plan_approval: "ask" } })
    .requirement()
    .answer(undefined, "clarification", asking("window", "files"))
    .answerQuestions({ "c1.window": "an hour" })
    .answerQuestions({ "c1.files": "all" })
    .replan(undefined, task("a"), task("b"))
    .send("approval", { decision: "approved" })
    .answer("a", "instruction", INSTRUCTION)
    .fail("a", "rate_limited")
    .stop()
    .recover()
    .command("release", undefined, { role_id: "hand" })
    .deliver("a");
  const folder = mkdtempSync(join(tmpdir(), "bosun-open-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const names = session.records.map(({ payload_type }, index) => recordName(index + 1, payload_type));
  for (const [index, record] of session.records.entries())
    writeFileSync(join(folder, names[index] ?? ""), JSON.stringify(record));
  const program = join(folder, "open.py");
  writeFileSync(program, quoted("open.py"));
  const told = execFileSync("python3", [program, folder], { encoding: "utf8" }).trimEnd().split("\n");

  const known = emptyState();
  for (const [index, record] of session.records.entries()) {
    applyToState(known, record, tellingOf(record), newSubject);
    const turns = Array.from(known.turns.values(), ({ turn_id, role_id }) => `${turn_id} ${role_id}`);
    const asks = Array.from(known.asks.values(), ({ ask_id, kind, open }) => `${ask_id} ${open.join("/") || kind}`);
    const holds = Array.from(known.holds.values(), ({ role_id, reason }) => `${role_id} (${reason})`);
    const parts = Object.entries({ turns, asks, holds }).filter(([, { length }]) => length > 0);
    const open = parts.map(([kind, list]) => `${kind}: ${list.join(", ")}`);
    expect(told[index]).toBe([(names[index] ?? "").slice(0, -".json".length), ...open].join("  "));
  }
  const all = told.join("\n");
  for (const open of ["asks: c1 window/files", "asks: c1 files", "asks: a2 approval", "holds: hand (rate_limited)"])
    expect(all).toContain(open);
});
