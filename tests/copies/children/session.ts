import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { capture } from "../../../src/copies/capture.ts";
import { dropCopy, makeCopy, nextAttempt } from "../../../src/copies/copy.ts";
import { land, recoverLanding } from "../../../src/copies/landing.ts";
import { planMerge } from "../../../src/copies/landing-plan.ts";
import type { Place } from "../../../src/copies/place.ts";
import { examined } from "../../../src/copies/preflight.ts";
import { advance, checkOut, merge } from "../../../src/copies/queue.ts";
import { recover } from "../../../src/copies/recovery.ts";
import { makeRepository } from "../../../src/copies/repository.ts";
import { type Git, gitIn } from "../../../src/lib/git.ts";
import { killStray } from "../../processes.ts";
import { value } from "../../results.ts";

// A session of six tickets, of which the third and the sixth are in conflict: node session.ts FOLDER work|land. It is killed at the first git call that
// BOSUN_KILL matches and at which it has not been killed before, in one of three ways. Started again, it goes on.

const [, , folder = "", phase = ""] = process.argv;
const [root, killed, records] = [join(folder, "user"), join(folder, "killed"), join(folder, "records")];
const KILLED = new RegExp(process.env["BOSUN_KILL"] ?? "^$");
const AT = "2026-01-02T03:04:05Z";
const TICKETS = [1, 2, 3, 4, 5, 6].map((number) => `T-${number}`);
const MARK = `BOSUN_COPIES=${folder}`;

const environment = { PATH: process.env["PATH"], HOME: folder, GIT_CONFIG_NOSYSTEM: "1", BOSUN_COPIES: folder };
const plain = gitIn(environment);
let stage = "";
const counted = new Map<string, number>();

const git: Git = async (directory, command, options) => {
  const call = `${stage} ${command[0]}`;
  const times = (counted.get(call) ?? 0) + 1;
  counted.set(call, times);
  const before = existsSync(killed) ? readFileSync(killed, "utf8").split("\n") : [""];
  const label = `${call} ${times}`;
  if (!KILLED.test(label) || before.includes(label)) return plain(directory, command, options);
  appendFileSync(killed, `${label}\n`);
  const way = before.length % 3;
  if (way !== 0) plain(directory, command, options).catch(() => {});
  // Alone, git goes on without the scheduler; else it dies with it, in the middle.
  if (way === 1) await setTimeout((before.length * 7) % 12);
  if (way === 1) for (const child of childrenOf(process.pid)) killStray(child);
  process.kill(process.pid, "SIGKILL");
  return new Promise(() => {});
};

function childrenOf(pid: number): number[] {
  const tasks = readdirSync(`/proc/${pid}/task`);
  return tasks.flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter(Boolean).map(Number),
  );
}

/** Git processes of an earlier scheduler. */
function left(): string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, "latin1").split("\0").includes(MARK);
    } catch {
      return false;
    }
  });
}

const place: Place = {
  session_id: "s-1",
  folder: join(folder, "home"),
  git,
  committer: { name: "Ada", email: "a@b.c" },
};

const record = (type: "merging" | "merged", commit: string) => appendFileSync(records, `${type} ${commit}\n`);

function recorded(type: "merging" | "merged"): string[] {
  const lines = existsSync(records) ? readFileSync(records, "utf8").split("\n") : [];
  return [...new Set(lines.flatMap((line) => (line.startsWith(`${type} `) ? [line.slice(type.length + 1)] : [])))];
}

/** What the agents write: a file of their own, a line of a shared one, and the third and the sixth the same line. */
function edited(numbers: readonly number[]): string {
  const both = numbers.filter((number) => number % 3 === 0).map((number) => `T-${number}`);
  return Array.from({ length: 40 }, (_, at) => {
    if (at === 38 && both.length > 0) return `by ${both.join(" and ")}\n`;
    return at % 5 === 2 && numbers.includes((at - 2) / 5 + 1) ? `by T-${(at - 2) / 5 + 1}\n` : `line ${at + 1}\n`;
  }).join("");
}

const limits = { maxBytes: 1e6, protectedPaths: { globs: [], except: [] } };
const attemptOf = (ticket_id: string, attempt: number) => ({
  ticket_id,
  attempt,
  run: 1,
  author: place.committer,
  subject: ticket_id,
  at: AT,
});

async function worked(ticket_id: string, attempt: number, tree: string, numbers: readonly number[]) {
  writeFileSync(join(tree, `${ticket_id}.txt`), `by ${ticket_id}\n`);
  writeFileSync(join(tree, "a.txt"), edited(numbers));
  const captured = value(await capture(place, attemptOf(ticket_id, attempt), limits));
  if (captured.state !== "captured") throw new Error(JSON.stringify(captured));
  return captured.work.commit;
}

async function integrated(ticket_id: string, number: number, first: string): Promise<void> {
  let [commit, attempt] = [first, 1];
  for (;;) {
    stage = `${ticket_id}.${attempt} merge`;
    const result = value(
      await merge(place, { ticket_id, attempt, commit, subject: `Merge ${ticket_id}`, log_head: "0", at: AT }),
    );
    if (result.state === "merged") return;
    if (result.state === "made") {
      const check = value(await checkOut(place, result.commit));
      if (readFileSync(join(check.tree, "a.txt"), "utf8") !== edited(TICKETS.slice(0, number).map((_, at) => at + 1)))
        throw new Error(`${ticket_id} is merged wrongly`);
      record("merging", result.commit);
      if (value(await advance(place, result)) === "merged") record("merged", result.commit);
    } else {
      attempt += 1;
      stage = `${ticket_id}.${attempt} work`;
      const { tree } = value(await nextAttempt(place, ticket_id, commit, result.conflict));
      commit = await worked(
        ticket_id,
        attempt,
        tree,
        TICKETS.slice(0, number).map((_, at) => at + 1),
      );
    }
  }
}

while (left().length > 0) await setTimeout(5);
stage = "begin";
const user = value(await examined(phase === "work" ? git : plain, root, folder));
const { base } = value(await makeRepository(place, user, {}));
stage = "recover";
const found = value(await recover(place, { merged: recorded("merged"), intended: recorded("merging") }));
for (const { commit } of found.unrecorded) record("merged", commit);
if (phase === "work") {
  for (const [at, ticket_id] of TICKETS.entries()) {
    if (recorded("merged").length > at) continue;
    stage = `${ticket_id}.1 work`;
    const { tree } = value(await makeCopy(place, ticket_id, base));
    const start = await worked(ticket_id, 1, tree, [at + 1]);
    await integrated(ticket_id, at + 1, start);
    value(await dropCopy(place, ticket_id));
  }
} else {
  stage = "recover landing";
  const before = value(await recoverLanding(place));
  if (before === undefined && !existsSync(join(folder, "landed"))) {
    stage = "land";
    const aim = { root, branch: "refs/heads/main", subject: "Merge s-1", at: AT };
    const plan = await planMerge(place, aim);
    // Killed between the branch and the record: it is landed already.
    if (plan.ok) {
      if (plan.value.state !== "planned") throw new Error(plan.value.why);
      const landed = value(await land(place, plan.value.landing));
      if (landed.state !== "landed") throw new Error(`${landed.why}: ${landed.paths.join(", ")}`);
    }
  }
  writeFileSync(join(folder, "landed"), "");
}
