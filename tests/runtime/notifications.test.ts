import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { notificationFor } from "../../src/commands/driver/runtime-environment.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import { err } from "../../src/lib/result.ts";
import { failure } from "../../src/protocol/failure.ts";
import type { SessionEvent } from "../../src/runtime/bus.ts";
import type { NotificationHook } from "../../src/runtime/notifications.ts";
import type { Session } from "../../src/runtime/session.ts";
import type { Store } from "../../src/store/store.ts";
import { crew, instructed, type Script, task } from "./crew.ts";
import { newRig } from "./rig.ts";
import { begin, type Choices, defaults, DONE, onAsk, resume, type Rig, run, say } from "./sessions.ts";
import { living } from "../processes.ts";

/** Keeps what it is told, one line each, and its marks: one that begins while another runs is seen. */
const KEEPS = `echo begin >>marks; cat >>told; echo "$BOSUN_EVENT" >>events; echo end >>marks`;

function terms(rig: Rig, timeout_ms = 20_000): NotificationHook {
  return {
    message: (session, notification) => notificationFor("bosun", rig.home, rig.store, session, notification),
    timeout_ms,
  };
}

function choices(
  rig: Rig,
  command: readonly string[],
  more: Choices & { on?: string[]; timeout_ms?: number },
): Choices {
  const notify = { command, ...(more.on ? { on: more.on } : {}) } as JsonObject;
  return {
    ...more,
    config: { ...more.config, notify } as Choices["config"] & object,
    notify: terms(rig, more.timeout_ms),
  };
}

const keeps = ["sh", "-c", KEEPS];

function told(rig: Rig): JsonObject[] {
  const file = join(rig.workspace, "told");
  const lines = existsSync(file)
    ? readFileSync(file, "utf8")
        .split("\n")
        .filter((line) => line !== "")
    : [];
  return lines.map((line) => JSON.parse(line) as JsonObject);
}

function marks(rig: Rig): string[] {
  return readFileSync(join(rig.workspace, "marks"), "utf8").trimEnd().split("\n");
}

function warnings(session: Session<never>): string[] {
  const texts: string[] = [];
  session.bus.subscribe((event: SessionEvent) => event.kind === "warning" && texts.push(event.text));
  return texts;
}

const asks: Script = () => ({
  payload_type: "clarification",
  payload: { status: "open", questions: [{ question_id: "q", text: "Why?", default: "Because." }] },
});

describe("a notification", () => {
  it("reports a question, the stop and the end, each with what to do next", async () => {
    const rig = newRig();
    const tasks = [instructed("a")];
    const its = choices(rig, keeps, { agentFor: crew(tasks, { requirement: asks }) });
    const session = await begin(rig, its);
    expect(await run(session)).toMatchObject({ kind: "stopped", reason: "waiting" });
    const { session_id } = session;
    const about = `${basename(rig.workspace)}: Do the thing`;
    const base = { session_id, home: rig.home };
    const answer = `bosun answer ${session_id} c1.q Because.`;
    const question = {
      kind: "question",
      ask_id: "c1",
      question_id: "c1.q",
      text: "Why?",
      options: [],
      default: "Because.",
    };
    expect(told(rig)).toMatchObject([
      {
        ...base,
        event: "question",
        message: `${about}\n${session_id} needs a person:\nc1.q: Why?\n  ${answer}`,
        questions: [question],
        next: [answer],
      },
      {
        ...base,
        event: "stopped",
        message: expect.stringContaining(`${session_id} is waiting: 1 turn\n`) as string,
        reason: "waiting",
        questions: [question],
        next: [answer, `bosun resume ${session_id}`],
      },
    ]);

    const again = await resume(rig, session_id, its);
    again.submit({
      source: "user",
      payload_type: "clarification_response",
      payload: { status: "answered", answers: [{ question_id: "c1.q", text: "So." }] },
    });
    expect(await run(again)).toMatchObject(DONE);
    expect(told(rig).slice(2)).toMatchObject([
      {
        ...base,
        event: "closed",
        message: expect.stringContaining(`${session_id} is done: 1 of 1 ticket done`) as string,
        outcome: "done",
        next: [`bosun report ${session_id}`, `bosun replay ${session_id} --verify`],
      },
    ]);
    expect(readFileSync(join(rig.workspace, "events"), "utf8")).toBe("question\nstopped\nclosed\n");
  });

  it("is sent once for a question that stays open across resumes", async () => {
    const rig = newRig();
    const its = choices(rig, keeps, { agentFor: crew([], { requirement: asks }), on: ["question"] });
    const session = await begin(rig, its);
    await run(session);
    for (let times = 0; times < 3; times += 1) await run(await resume(rig, session.session_id, its));
    expect(told(rig)).toMatchObject([{ event: "question" }]);
    expect(told(rig)[0]).not.toHaveProperty("again");
  });

  it("is not sent for a question answered at once, nor for unselected events", async () => {
    const rig = newRig();
    const tasks = [instructed("a")];
    const recorded: string[] = [];
    const store: Store = {
      ...rig.store,
      commit: (lease, commit) => {
        for (const change of commit.changes) if ("put" in change) recorded.push(`${change.put} ${change.id}`);
        return rig.store.commit(lease, commit);
      },
    };
    const agentFor = crew(tasks, { requirement: asks });
    const session = await begin(rig, choices(rig, keeps, { agentFor, store, on: ["question"] }));
    expect(await run(session, defaults(rig, session))).toMatchObject({ outcome: "done" });
    expect(told(rig)).toEqual([]);
    expect(recorded).toContain("ask c1");
    expect(recorded).not.toContain("process notification");
  });

  it("reports a hold once for its account, with the remedy", async () => {
    const rig = newRig();
    const roles = (["boss", "hand"] as const).map((role_id) => ({
      role_id,
      type: role_id === "boss" ? ("manager" as const) : ("worker" as const),
      cli_command: ["unused"] as [string],
      account: "ours",
    }));
    const refuses: Script = () => ({ payload_type: "error", payload: { code: "authentication", message: "Log in." } });
    const its = choices(rig, keeps, { agentFor: crew([], { requirement: refuses }), roles, on: ["hold"] });
    const session = await begin(rig, its);
    expect(await run(session)).toMatchObject({ kind: "stopped", reason: "waiting" });
    const { session_id } = session;
    const about = `${basename(rig.workspace)}: Do the thing`;
    expect(told(rig)).toMatchObject([
      {
        event: "hold",
        message: `${about}\n${session_id}: the role "boss" (account "ours") is held (authentication): log in with its program.`,
        holds: [{ role_id: "boss" }, { role_id: "hand" }],
        next: [`bosun resume ${session_id} --release boss`, `bosun status ${session_id}`],
      },
    ]);
  });

  it("runs in the workspace with the minimal environment and its event", async () => {
    const rig = newRig();
    const script = "env >seen; pwd >where; cat >input";
    const session = await begin(
      rig,
      choices(rig, ["sh", "-c", script], { agentFor: crew([task("a")]), on: ["closed"] }),
    );
    expect(await run(session)).toMatchObject({ outcome: "done" });
    const seen = readFileSync(join(rig.workspace, "seen"), "utf8");
    expect(seen).toContain(`BOSUN_SESSION_ID=${session.session_id}`);
    expect(seen).toContain("BOSUN_EVENT=closed");
    // Vitest sets it for its tests.
    expect(seen).not.toContain("VITEST");
    expect(readFileSync(join(rig.workspace, "where"), "utf8").trim()).toBe(rig.workspace);
    expect(JSON.parse(readFileSync(join(rig.workspace, "input"), "utf8"))).toMatchObject({ event: "closed" });
  });

  it("combines fifty questions, and never runs two programs at once", async () => {
    const rig = newRig();
    const tasks = Array.from({ length: 50 }, (_, index) => task(`t${index}`));
    const gate = Promise.withResolvers<void>();
    const asked: Script = async ({ stamp }, context) => {
      if (stamp.subject !== "t0") await gate.promise;
      return asks({ stamp } as never, context);
    };
    const waits = `echo begin >>marks; cat >>told; until [ -e go ]; do sleep 0.02; done; echo end >>marks`;
    const agentFor = crew(tasks, { ticket: asked });
    const manager = {
      role_id: "boss",
      type: "manager" as const,
      cli_command: ["unused"] as [string],
      max_instances: 50,
    };
    const hand = { role_id: "hand", type: "worker" as const, cli_command: ["unused"] as [string], max_instances: 50 };
    const session = await begin(
      rig,
      choices(rig, ["sh", "-c", waits], {
        agentFor,
        roles: [
          { ...manager, supports_multiple_instances: true },
          { ...hand, supports_multiple_instances: true },
        ],
        config: { max_workers: 50 },
        on: ["question"],
      }),
    );
    let open = 0;
    onAsk(session, () => {
      open += 1;
      if (open === 1) gate.resolve();
      if (open === 50) writeFileSync(join(rig.workspace, "go"), "");
    });
    expect(await run(session)).toMatchObject({ kind: "stopped", reason: "waiting" });
    expect(marks(rig).length).toBeLessThanOrEqual(6);
    expect(marks(rig).join(" ")).toMatch(/^(begin end ?)+$/);
    const questions = told(rig).flatMap(({ questions: all }) => all as unknown as JsonObject[]);
    expect(new Set(questions.map(({ ask_id }) => ask_id)).size).toBe(50);
    expect(questions).toHaveLength(50);
    expect(told(rig).at(-1)).toMatchObject({ next: { length: 6, 5: "bosun inbox" } });
  });
});

describe("a notification program", () => {
  it.each<readonly [string, timeout_ms: number, readonly string[], RegExp]>([
    [
      "is missing",
      30_000,
      ["no-such-program"],
      /notify\.command "no-such-program" exited with code 127, saying: .*not found/,
    ],
    ["is a path that does not exist", 30_000, ["./none"], /"\.\/none" exited with code 127/],
    ["is a directory", 30_000, ["/"], /"\/" exited with code 126/],
    [
      "fails",
      30_000,
      ["sh", "-c", "echo first >&2; echo '\u001B[31mno bell' >&2; exit 3"],
      /"sh" exited with code 3, saying: no bell\./,
    ],
    ["does not read", 30_000, ["sh", "-c", "exec <&-; exit 1"], /exited with code 1\./],
    ["is killed", 30_000, ["sh", "-c", "kill -9 $$"], /was ended by signal SIGKILL/],
    [
      "hangs with its child processes",
      1_000,
      ["sh", "-c", "trap '' TERM; sleep 3600 & sleep 3600"],
      /did not end within 1 s/,
    ],
    ["floods", 30_000, ["yes"], /printed too much/],
  ])("that %s causes one warning, and the session goes on", async (_how, timeout_ms, command, warning) => {
    const rig = newRig();
    const tasks = [instructed("a")];
    const config = { max_output_bytes: 1_000_000 };
    const session = await begin(
      rig,
      choices(rig, command, { agentFor: crew(tasks), on: ["closed"], timeout_ms, config }),
    );
    const said = warnings(session as never);
    expect(await run(session)).toEqual(DONE);
    expect(said).toEqual([expect.stringMatching(warning)]);
    expect(said[0]).not.toContain("\u001B");
    expect(living(session.session_id)).toEqual([]);
  });

  it("that fails is not run again for the same question", async () => {
    const rig = newRig();
    const its = choices(rig, ["sh", "-c", "echo begin >>marks; exit 1"], {
      agentFor: crew([], { requirement: asks }),
      on: ["question"],
    });
    const session = await begin(rig, its);
    await run(session);
    await run(await resume(rig, session.session_id, its));
    expect(marks(rig)).toEqual(["begin"]);
  });

  it("is ended if the session fails", async () => {
    const rig = newRig();
    let full = false;
    const store: Store = {
      ...rig.store,
      commit: (lease, commit) =>
        full ? Promise.resolve(err(failure("storage_full", "The disk is full."))) : rig.store.commit(lease, commit),
    };
    const command = ["sh", "-c", "cat >>told; sleep 3600"];
    const session = await begin(
      rig,
      choices(rig, command, { agentFor: crew([], { requirement: asks }), store, timeout_ms: 600_000 }),
    );
    const ended = session.run({ waitForPeople: true });
    await expect.poll(() => told(rig).length).toBe(1);
    full = true;
    say(session, "tell", { text: "Hello." });
    expect(await ended).toMatchObject({ ok: false, error: { code: "storage_full" } });
    expect(living(session.session_id)).toEqual([]);
  });
});
