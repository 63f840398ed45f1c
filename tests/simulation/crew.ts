import type { Answer, TurnEvent, TurnRequest, TurnResult } from "../../src/kernel/agent.ts";
import type { LedgerTurn } from "../../src/kernel/ledger.ts";
import { type JsonObject, objectOf } from "../../src/lib/json.ts";
import type { SessionValue } from "../../src/modes/schedule/state.ts";
import { type Failure, failure } from "../../src/protocol/failure.ts";
import { later } from "../../src/protocol/timestamp.ts";
import type { Conduct } from "./agents.ts";
import { reported } from "./quotas.ts";
import { renamed } from "./renaming.ts";
import { probe } from "./scenario.ts";
import { councilWord } from "./council-words.ts";
import { type Random, randomOf } from "./random.ts";
import { opinion, planDecision, pmDecision, verdict } from "./talkers.ts";
import type { World } from "./world.ts";

/** The manager's plan: the current one, or before it the scenario's. */
export class Plan {
  tasks: readonly JsonObject[];

  constructor(tasks: readonly JsonObject[]) {
    this.tasks = tasks;
  }

  replace(tasks: readonly JsonObject[]): void {
    this.tasks = tasks;
  }

  /** The plan with one task changed, now and then with a new task that must be done before it. */
  revised(id: string, revision: number): JsonObject[] {
    const before = { task_id: `${id}-before${revision}`, description: `Prepare ${id}` };
    return this.tasks.flatMap((task) => {
      if (task["task_id"] !== id) return [task];
      const changed = { ...task, description: `Work on ${id}, ${revision}. time` };
      const dependencies = [...((task["dependencies"] as string[] | undefined) ?? []), before.task_id];
      return revision % 2 === 0 ? [changed] : [before, { ...changed, dependencies }];
    });
  }
}

/** After so many answers to the same message, an agent does what it should. */
const FOLLY = 4;

/** What each agent does in each turn: a function of the seed, the request, and how often the same was asked. */
export class Crew {
  readonly plan: Plan;
  readonly #world: World;
  readonly #turns = new Map<string, string[]>();

  constructor(world: World) {
    this.#world = world;
    this.plan = new Plan(world.scenario.tasks);
  }

  conduct(request: TurnRequest): Conduct {
    const { scenario, isCalm } = this.#world;
    const { turn_id, subject = "", attempt } = request.stamp;
    const { payload_type: message } = request.payload.message;
    const child = this.#world.nameOf(request.session_id);
    const asked = `${child}${subject}/${message}/${message === "instruction" ? attempt : 0}`;
    const turns = this.#turns.get(asked) ?? [];
    if (!turns.includes(turn_id)) turns.push(turn_id);
    this.#turns.set(asked, turns);
    const time = turns.indexOf(turn_id);
    const random = randomOf(scenario.seed, "conduct", asked, time);
    if (this.#world.isAway(request.role.role_id)) return this.#lost(random);
    const patience = message === "instruction" ? attempt : time;
    const isGood = isCalm || patience >= FOLLY || random.chance(scenario.skill);
    const said = this.#answer(request, random, isGood, time);
    const answer = child !== "" && random.chance(0.8) ? withUsage(said) : said;
    // Long enough that events come at moments of their own: the order of events of the same moment is random.
    const takes_ms = random.between(30, 3000);
    const usual = {
      takes_ms: answer.payload_type === "report" ? takes_ms : takes_ms / 3,
      says: random.chance(0.15) ? [this.#notice(request, random)] : [],
      result: { answer, refused: [] },
      lingers_ms: random.chance(0.2) ? random.between(1, 2000) : 0,
      stubborn: random.chance(0.3),
      reported: this.#reported(request, asked, time),
      ...this.#wish(message, asked, time),
    };
    return isGood ? usual : this.#misconduct(request, random, usual);
  }

  /** An outage. Some providers say when it will be over, and are wrong. */
  #lost(random: Random): Conduct {
    const retry_at = later(this.#world.time.now(), random.between(-5_000, 20_000));
    const details = random.chance(0.2) ? { details: { retry_at } } : {};
    const result = { failure: failure("unavailable", "503", details), refused: [] };
    return { takes_ms: random.between(5, 500), says: [], result, lingers_ms: 0, stubborn: false };
  }

  /** What a worker asks a permission for: one of two actions, so that earlier decisions cover some requests. */
  #wish(message: string, asked: string, time: number): Pick<Conduct, "asks"> {
    const random = randomOf(this.#world.scenario.seed, "wish", asked, time);
    return message === "instruction" && random.chance(0.15) ? { asks: random.pick(["run: make", "run: test"]) } : {};
  }

  #reported({ role }: TurnRequest, asked: string, time: number): NonNullable<Conduct["reported"]> {
    const { scenario, time: clock } = this.#world;
    return reported(scenario, role.account, randomOf(scenario.seed, "reported", asked, time), clock.now());
  }

  #notice({ stamp }: TurnRequest, random: Random): TurnEvent {
    if (random.chance(0.3)) return { kind: "console", stream: "stdout", text: "thinking" };
    if (random.chance(0.4)) {
      return {
        kind: "envelope",
        payload_type: "artifact_ref",
        payload: { label: `${stamp.subject ?? "session"}-${random.between(1, 2)}`, uri: "https://example.org/made" },
      };
    }
    return { kind: "envelope", payload_type: "report", payload: { status: "progress", summary: "On it." } };
  }

  /**
   * Whether the role was held for this turn, by the record. If a crash cut a run short before its end was recorded, the next run
   * must go the same way.
   */
  #wasHeld({ session_id, stamp }: TurnRequest): boolean {
    const text = this.#world.database.texts(session_id, "turn").get(stamp.turn_id);
    return text !== undefined && (JSON.parse(text) as LedgerTurn).held !== undefined;
  }

  /** What goes wrong with a turn, instead of its answer. */
  #misconduct(request: TurnRequest, random: Random, usual: Conduct): Conduct {
    const { comparable } = this.#world.scenario;
    const failed = (wrong: Failure, more: Partial<TurnResult> = {}): Conduct => ({
      ...usual,
      result: { failure: wrong, refused: [], ...more },
    });
    const refusal = {
      payload_type: "report",
      code: "validation_failed",
      pointer: "/payload",
      message: "It is no such.",
    } as const;
    const refused: TurnEvent = { kind: "refused", refusal, excerpt: "{}" };
    const holding = this.#wasHeld(request) ? 0 : 1;
    const kind = random.weighted({
      nothing: 4,
      fails: 2,
      hangs: 1,
      silent: 1,
      refused: 2,
      malformed: 1,
      unexpected: 1,
      error: 1,
      limited: 2 * holding,
      locked: 0.7 * holding,
      talkative: 2,
      hasBadExit: 1,
      late: comparable ? 0 : 1,
    });
    switch (kind) {
      case "nothing":
        return usual;
      case "fails":
        return failed(failure("agent_failed", `It exited with code ${random.between(1, 3)}.`), {
          exit: { code: 1, signal: null },
        });
      case "hangs":
        return { ...usual, takes_ms: Number.POSITIVE_INFINITY };
      case "silent":
        return failed(failure("no_answer", "It said nothing."));
      case "refused":
        return { ...usual, says: [refused], result: { ...usual.result, refused: [refusal] } };
      case "malformed":
        return {
          ...failed(failure("malformed_output", "Nobody can read it."), { refused: [refusal] }),
          says: [refused],
        };
      case "unexpected":
        return {
          ...usual,
          result: { answer: { payload_type: "opinion", payload: { round: 1, position: "Mine" } }, refused: [] },
        };
      case "error":
        return {
          ...usual,
          result: {
            answer: { payload_type: "error", payload: { code: "agent_failed", message: "I cannot." } },
            refused: [],
          },
        };
      case "limited": {
        const retry_at = later(this.#world.time.now(), random.between(100, 8000));
        const details = random.chance(0.7) ? { details: { retry_at } } : {};
        return failed(failure("rate_limited", "Too much.", details));
      }
      case "locked":
        return failed(failure("authentication", "Who are you?"));
      case "talkative": {
        const { answer } = usual.result;
        if (!answer) return usual;
        const { payload_type, payload } = answer;
        const again: TurnEvent = random.chance(0.5)
          ? { kind: "duplicate", payload_type }
          : { kind: "late", payload_type, payload };
        return { ...usual, says: [this.#notice(request, random), refused, again] };
      }
      case "hasBadExit":
        return {
          ...usual,
          result: {
            ...usual.result,
            failure: failure("agent_failed", "It exited with code 3."),
            exit: { code: 3, signal: null },
          },
        };
      case "late":
        return { ...usual, afterwards: this.#notice(request, random) };
    }
  }

  #answer(request: TurnRequest, random: Random, isGood: boolean, time: number): Answer {
    const { expects, message } = request.payload;
    const said = this.#said(request, message.payload_type, random, isGood, time);
    return expects.includes(said.payload_type) || said.payload_type === "error"
      ? said
      : { payload_type: "error", payload: { code: "agent_failed", message: "I may not say what I would." } };
  }

  #said(request: TurnRequest, message: string, random: Random, isGood: boolean, time: number): Answer {
    const { subject = "", attempt } = request.stamp;
    const asks = !isGood && time < 2 && random.chance(0.4);
    switch (message) {
      case "requirement":
        if (request.payload.expects.includes("opinion")) return opinion(request, random, isGood);
        if (request.payload.expects.includes("report")) return contribution(request, random, isGood);
        return asks ? questions(random) : this.#planned(request, random, isGood);
      case "meeting_state":
        return pmDecision(request, random, isGood);
      case "shared_state":
        return planDecision(request, random, isGood);
      case "message":
        return contribution(request, random, isGood);
      case "council_state":
        return councilWord(request, random, isGood);
      case "clarification_response":
        return asks && random.chance(0.3) ? questions(random) : this.#planned(request, random, isGood);
      case "ticket":
        if (asks) return questions(random);
        if (random.chance(request.payload.discuss ? 0.6 : 0.1)) {
          return { payload_type: "instruction_proposal", payload: { summary: "Perhaps so?" } };
        }
        return instruction(random, subject);
      case "instruction_proposal":
        return report(isGood ? "proposal" : random.pick(["proposal", "blocked", "completed", "error"]), random);
      case "report":
        if (request.payload.expects.includes("verdict")) return verdict(request, random, isGood);
        if (subject === "" && random.chance(0.3)) {
          const { ticket } = request.payload.context as { ticket?: { ticket_id: string } };
          const tasks = this.plan.revised(ticket?.ticket_id ?? "", time + 1);
          return { payload_type: "plan", payload: { summary: "Another plan", tasks } };
        }
        return asks ? questions(random) : instruction(random, subject);
      case "instruction":
        // The step of a pipeline may have to answer with JSON.
        if ("steps" in objectOf(request.payload.context["metadata"])) return contribution(request, random, isGood);
        return report(
          isGood ? "completed" : random.pick(["completed", "completed", "blocked", "error", "proposal"]),
          random,
        );
      case "review_request":
        if (asks) return questions(random);
        return {
          payload_type: "review",
          payload: {
            decision: isGood || random.chance(0.6) ? "approved" : "changes_requested",
            notes: `after ${attempt}`,
          },
        };
      case "error":
        return this.#rescue(subject, random, isGood, time, asks);
      default:
        return { payload_type: "error", payload: { code: "internal", message: `What is ${message}?` } };
    }
  }

  /** A first plan that was sent back comes again with other ids. */
  #planned(request: TurnRequest, random: Random, isGood: boolean): Answer {
    const { expects } = request.payload;
    if (!expects.includes("plan"))
      return { payload_type: "clarification", payload: { questions: [], status: "complete" } };
    if (!expects.includes("clarification")) return ownPlan(request, isGood);
    const isRewritten = this.#isSentBack(request) && random.chance(0.8);
    const tasks = isRewritten ? renamed(this.plan.tasks, random) : this.plan.tasks;
    const usage = { input_tokens: 10, output_tokens: 5, cost_usd: 0.01 };
    if (isGood || random.chance(0.5)) return { payload_type: "plan", payload: { summary: "The plan", tasks, usage } };
    const wrong = random.pick([
      [...tasks, ...tasks],
      [...tasks, { task_id: "X", description: "Nobody's", dependencies: ["nowhere"] }],
      [...tasks, { task_id: "X", description: "Its own", dependencies: ["X"] }],
      [...tasks, { task_id: "X", description: "Whose?", assigned_to: { role_id: "stranger" } }],
    ]);
    return { payload_type: "plan", payload: { summary: "The plan", tasks: wrong } };
  }

  /** Whether a person has sent back the first plan: its gate stands until the next plan. */
  #isSentBack({ session_id }: TurnRequest): boolean {
    const text = this.#world.database.texts(session_id, "session").get("session");
    return text !== undefined && (JSON.parse(text) as SessionValue).gate?.first === true;
  }

  /** The manager's answer about a blocked ticket. */
  #rescue(subject: string, random: Random, isGood: boolean, time: number, asks: boolean): Answer {
    if (asks) return questions(random);
    const way = random.weighted({
      instruct: 5,
      replan: 2,
      drop: this.#world.scenario.comparable ? 0 : 0.5,
      giveUp: isGood ? 0.2 : 1,
      review: 1,
    });
    switch (way) {
      case "instruct":
        return instruction(random, subject);
      case "replan":
        return {
          payload_type: "plan",
          payload: { summary: "Another plan", tasks: this.plan.revised(subject, time + 1) },
        };
      case "drop": {
        const tasks = this.plan.tasks.filter(
          (task) =>
            task["task_id"] === subject || !((task["dependencies"] as string[] | undefined) ?? []).includes(subject),
        );
        return { payload_type: "plan", payload: { summary: "A smaller plan", tasks } };
      }
      case "giveUp":
        return { payload_type: "error", payload: { code: "agent_failed", message: "It cannot be done." } };
      case "review":
        return { payload_type: "review", payload: { decision: random.pick(["approved", "changes_requested"]) } };
    }
  }
}

/** A planner's plan, whose author shows. */
function ownPlan({ role: { role_id } }: TurnRequest, isGood: boolean): Answer {
  const task = {
    task_id: role_id,
    description: `As ${role_id} does it`,
    ...(isGood ? {} : { dependencies: ["none"] }),
  };
  return { payload_type: "plan", payload: { summary: `By ${role_id}`, tasks: [task] } };
}

function withUsage({ payload_type, payload }: Answer): Answer {
  return { payload_type, payload: { ...payload, usage: { input_tokens: 20, output_tokens: 5, cost_usd: 0.2 } } };
}

function questions(random: Random): Answer {
  const list = ["one", "two", "three", "four"]
    .slice(0, random.between(1, 4))
    .map((question_id) => ({ question_id, text: `${question_id}?` }));
  return { payload_type: "clarification", payload: { questions: list, status: "open" } };
}

function instruction(random: Random, subject: string): Answer {
  const criteria = random.chance(0.2) ? [probe(subject, random.between(4, 5))] : [];
  return { payload_type: "instruction", payload: { summary: "Do it so.", acceptance_criteria: criteria } };
}

function report(status: "proposal" | "completed" | "blocked" | "error", random: Random): Answer {
  const asked = status === "blocked" && random.chance(0.7) ? { questions: [{ question_id: "q", text: "How?" }] } : {};
  const usage = random.chance(0.5) ? { usage: { input_tokens: 100, output_tokens: 20, cost_usd: 0.1 } } : {};
  return {
    payload_type: "report",
    payload: { status, summary: `It is ${status}.`, outputs: [`out-${random.between(1, 9)}`], ...asked, ...usage },
  };
}

/** A contribution to a conversation or meeting, or an analysis, which may have to be JSON. */
function contribution({ payload }: TurnRequest, random: Random, isGood: boolean): Answer {
  const said = report(isGood ? "completed" : "error", random);
  const metadata = objectOf(payload.context["metadata"]);
  const isJson = "schema" in metadata || "steps" in metadata;
  return isJson && random.chance(0.7) ? { ...said, payload: { ...said.payload, summary: '{"so":"be it"}' } } : said;
}
