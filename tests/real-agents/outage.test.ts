import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { crew, manager, turnOf, worker } from "../model-servers/brains.ts";
import type { Conversation, Model } from "../model-servers/conversation.ts";
import { pair, type Program } from "./crews.ts";
import { outputUnless, placeWith } from "./place.ts";

/** How long the server answers with 503, and then refuses connections. */
const PHASE_MS = Number(process.env["BOSUN_OUTAGE_S"] ?? 30) * 1000;

/** Both phases, the pauses of Bosun and of the programs, and the work on a busy machine. */
const LIMIT_MS = 6 * PHASE_MS + 300_000;

const TASK = {
  task_id: "note",
  description: "Write note.txt.",
  acceptance_criteria: [{ text: "it is there", command: ["test", "-s", "note.txt"] }],
};

const brains = crew(
  manager({ tasks: [TASK] }),
  worker(() => [{ write: "note.txt", content: "A note.\n" }, { run: "cat note.txt" }]),
);

/** No failure may be taken for an attempt: the first would be the last. */
const SETTINGS = { max_attempts: 1, max_retries: 0, max_escalations: 0 };

type Seat = "manager" | "worker";

function seatOf(conversation: Conversation): Seat | undefined {
  const types = turnOf(conversation)?.types;
  return types === undefined ? undefined : types.includes("report") ? "worker" : "manager";
}

/** A model that is away for both phases from the first request of a seat on. The server is known once it has started. */
function leaving(seat: Seat): { readonly model: Model; refuse: (ms: number) => Promise<void>; over: Promise<void> } {
  let isAway = false;
  const left = {
    refuse: async (_ms: number) => {},
    over: Promise.resolve(),
    model: (conversation: Conversation) => {
      if (seatOf(conversation) === seat && !hasLeft) {
        hasLeft = isAway = true;
        left.over = delay(PHASE_MS).then(async () => {
          await left.refuse(PHASE_MS);
          isAway = false;
        });
      }
      return isAway ? { status: 503 } : brains(conversation);
    },
  };
  let hasLeft = false;
  return left;
}

const SEATS: readonly (readonly [Program, Seat])[] = (
  ["claude", "codex", "opencode", "gemini by ACP"] as const
).flatMap((program) => [[program, "manager"] as const, [program, "worker"] as const]);

describe("a session whose model answers with 503, and then refuses connections", () => {
  it.each(SEATS)(
    "is done without spending an attempt: %s as %s",
    async (program, seat) => {
      const left = leaving(seat);
      const here = await placeWith(left.model);
      left.refuse = (ms) => here.server.refuse(ms);
      const crewOf = seat === "manager" ? pair(program, "codex") : pair("codex", program);
      const roles = here.write("roles.json", { roles: crewOf.roles.map((role) => ({ ...role, timeout_s: 600 })) });
      const settings = here.write("settings.json", SETTINGS);
      const began = performance.now();
      const ran = await here.bosun(
        ...["run", "Write a note.", "--roles", roles, "--config", settings, "--yes", "--reporter", "plain"],
      );
      await left.over;
      expect(outputUnless(0, ran)).toBe("");
      const { tickets } = await here.status();
      expect(tickets.map(({ ticket_id, status, attempts }) => [ticket_id, status, attempts])).toEqual([
        ["note", "done", 1],
      ]);
      const failures = (await here.records()).filter(({ payload_type }) => payload_type === "turn_failed");
      expect(new Set(failures.map(({ payload }) => payload["code"]))).toEqual(
        new Set(failures.map(() => "unavailable")),
      );
      const shown = ran.stdout.match(/HELD: \S+ is unavailable since \S+; next try \S+/g) ?? [];
      expect(shown.length).toBe(failures.length);
      console.log(
        `${program} as ${seat}: ${failures.length} tries were lost, ${((performance.now() - began) / 1000).toFixed(1)} s`,
      );
    },
    LIMIT_MS,
  );
});
