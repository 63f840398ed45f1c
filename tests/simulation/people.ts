import type { JsonObject } from "../../src/lib/json.ts";
import type { LedgerAsk, LedgerFigures, LedgerHold, LedgerTurn } from "../../src/kernel/ledger.ts";
import type { QuestionSet, Ticket } from "../../src/modes/schedule/state.ts";
import type { Commit, Lease } from "../../src/store/store.ts";
import type { Crew } from "./crew.ts";
import { MODES } from "./modes.ts";
import { PARTS, partOf, takesPart, type Word } from "./outsiders.ts";
import { type Random, randomOf } from "./random.ts";
import { renamed } from "./renaming.ts";
import { SESSION_ID, type World } from "./world.ts";

/** People at other terminals: they see what is stored, and write to the inbox. */
export class People {
  readonly #world: World;
  readonly #crew: Crew;
  readonly #store: ReturnType<World["database"]["connect"]>;
  readonly #asked = new Set<string>();
  readonly #times = new Map<string, number>();
  /** The asks whose questions are answered one by one. */
  readonly #slowly = new Set<string>();
  #said = 0;
  #interruptions: number;

  constructor(world: World, crew: Crew) {
    this.#world = world;
    this.#crew = crew;
    this.#store = world.database.connect();
    const { interjections, interruptions } = world.scenario;
    this.#interruptions = interruptions;
    for (let index = 0; index < interjections; index++) {
      world.time.after(world.chance.between(500, 30_000), () => this.#interject());
    }
    if (takesPart(world.scenario.mode)) this.#takePart(0);
  }

  /** Those from outside act, and the local user ends it after a while. */
  #takePart(times: number): void {
    const { chance, database, isCalm, sessions, time } = this.#world;
    time.after(chance.between(200, 4000), () => {
      const [row] = sessions;
      if (row?.outcome !== null && row !== undefined) return;
      const part = row && partOf(database, chance, isCalm || times > PARTS);
      if (row && part && this.#store.inbox.pending(row.session_id).length < 3)
        this.#put(row.session_id, part.word, part.who);
      this.#takePart(times + 1);
    });
  }

  /** Everything that they sent, by a mark that must be found in the record once. */
  readonly words = new Map<string, Word>();

  /** Looks for changes in a commit that need a person. */
  observe({ session_id }: Lease, { changes }: Commit): void {
    for (const change of changes) {
      if (!("put" in change)) continue;
      const value = change.value as unknown;
      if (change.put === "ask") this.#notice(session_id, value as LedgerAsk);
      else if (change.put === "turn" && (value as LedgerTurn).status === "open")
        this.#mayInterrupt((value as LedgerTurn).subject);
      else if (change.put === "figures" && (value as LedgerFigures).paused) this.#unpauseLater(session_id);
      else if (change.put === "hold" && this.#wantsRelease(value as LedgerHold)) {
        this.#releaseLater(session_id, change.id, (value as LedgerHold).role_id);
      }
    }
  }

  /**
   * Whether a hold needs a person: it does not end by itself within an hour. Its end may come from a clock that was set back since, or from one
   * that was set forward, which the session's own time does not follow.
   */
  #wantsRelease({ until, since = this.#world.time.now() }: LedgerHold): boolean {
    const now = Math.min(Date.parse(since), Date.parse(this.#world.time.now()));
    return until === undefined || Date.parse(until) - now > 3_600_000;
  }

  /** Does something once for each key, after a while. */
  #later(what: string, act: () => void): void {
    if (this.#asked.has(what)) return;
    this.#asked.add(what);
    this.#world.time.after(this.#world.chance.between(1000, 15_000), () => {
      this.#asked.delete(what);
      act();
    });
  }

  /** May interrupt a turn about a ticket that has begun. */
  #mayInterrupt(subject: string | undefined): void {
    const { chance, time } = this.#world;
    if (subject === undefined || this.#interruptions === 0 || !chance.chance(0.4)) return;
    this.#interruptions -= 1;
    time.after(chance.between(10, 1000), () => {
      const tasks = this.#crew.plan.tasks.map((task) => (task["task_id"] === subject ? this.#otherwise(task) : task));
      this.#put(SESSION_ID, ["plan", { summary: "My plan", tasks }]);
    });
  }

  #unpauseLater(session_id: string): void {
    this.#later(`${session_id} pause`, () => {
      const figures = this.#store.value(session_id, "figures", "figures") as unknown as LedgerFigures | undefined;
      if (!figures?.paused || figures.closed) return;
      this.#put(session_id, ["user_command", { command: "resume" }]);
      this.#unpauseLater(session_id);
    });
  }

  #releaseLater(session_id: string, id: string, role_id: string): void {
    this.#later(`${session_id} hold ${id}`, () => {
      if (this.#store.value(session_id, "hold", id) === undefined) return;
      this.#put(session_id, ["user_command", { command: "release", role_id }]);
      this.#releaseLater(session_id, id, role_id);
    });
  }

  #notice(session_id: string, ask: LedgerAsk): void {
    const key = `${session_id} ${ask.ask_id} ${ask.record}`;
    if (this.#asked.has(key)) return;
    this.#asked.add(key);
    // The number of this question among those of its kind: the same in every run of a seed without interjections.
    const kind = `${this.#world.nameOf(session_id)}${ask.kind}/${ask.subject ?? ""}`;
    const time = (this.#times.get(kind) ?? 0) + 1;
    this.#times.set(kind, time);
    const random = randomOf(this.#world.scenario.seed, "person", kind, time);
    if (randomOf(this.#world.scenario.seed, "one by one", kind, time).chance(0.4)) this.#slowly.add(key);
    const silent = random.chance(this.#world.scenario.silence);
    const slow = silent ? [60_000, 200_000] : random.chance(0.2) ? [10_000, 40_000] : [100, 4000];
    const delay = random.between(slow[0] as number, slow[1] as number);
    this.#world.time.after(delay, () => this.#react(session_id, ask, random, 0));
  }

  #react(session_id: string, ask: LedgerAsk, random: Random, tries: number): void {
    const stands = this.#store.value(session_id, "ask", ask.ask_id) as unknown as LedgerAsk | undefined;
    if (stands?.record !== ask.record) {
      // The same question may come again: work that was sent back can be reviewed again unchanged.
      this.#asked.delete(`${session_id} ${ask.ask_id} ${ask.record}`);
      return;
    }
    const waits = this.#store.inbox.pending(session_id).length > 0;
    if (!waits) this.#put(session_id, this.#answer(session_id, ask, random, tries));
    this.#world.time.after(5100, () => this.#react(session_id, ask, random, waits ? tries : tries + 1));
  }

  #answer(session_id: string, ask: LedgerAsk, random: Random, tries: number): Word {
    const isPlain = tries > 1 || this.#world.isCalm;
    switch (ask.kind) {
      case "questions":
        return this.#answerQuestions(session_id, ask, random, isPlain);
      case "review": {
        const decision = isPlain || random.chance(0.7) ? "approved" : "changes_requested";
        return ["review", { decision, ticket_id: ask.subject }];
      }
      case "approval":
        return this.#approve(ask, random, isPlain);
      case "permission":
        return this.#permit(ask, random, isPlain);
    }
  }

  #answerQuestions(session_id: string, { ask_id, record }: LedgerAsk, random: Random, isPlain: boolean): Word {
    const asked = this.#world.database.record(session_id, record)?.payload["questions"];
    const questions = asked as readonly { question_id: string; options?: readonly string[] }[];
    if (!/^c\d/.test(ask_id)) {
      const text = this.#world.scenario.comparable || random.chance(0.7) ? "repeat" : "give up";
      return ["clarification_response", { answers: [{ question_id: `${ask_id}.again`, text }], status: "answered" }];
    }
    // Otherwise a plan could be sent back for ever.
    const answerTo = ({ options: [first] = [] }: (typeof questions)[number]) =>
      first !== undefined && (isPlain || random.chance(0.5)) ? first : "So.";
    const answers = questions.map((question) => ({
      question_id: `${ask_id}.${question.question_id}`,
      text: answerTo(question),
    }));
    if (this.#slowly.has(`${session_id} ${ask_id} ${record}`)) {
      const next = this.#nextQuestion(session_id, ask_id);
      return ["clarification_response", { answers: answers.slice(next, next + 1), status: "answered" }];
    }
    const way = isPlain ? "all" : random.weighted({ all: 6, some: 1, bare: 1, complete: 1, wrong: 1 });
    const answered = (list: readonly JsonObject[], status = "answered"): Word => [
      "clarification_response",
      { answers: list, status, ask_id },
    ];
    switch (way) {
      case "all":
        return ["clarification_response", { answers, status: "answered" }];
      case "some":
        return answered(answers.slice(0, 1));
      case "bare":
        return answered(questions.map(({ question_id }) => ({ question_id, text: "So." })));
      case "complete":
        return answered([], "complete");
      case "wrong":
        return answered([{ question_id: "nobody.asked", text: "So." }]);
    }
  }

  /** The place of the first question that is not answered. */
  #nextQuestion(session_id: string, ask_id: string): number {
    const set = this.#store.value(session_id, "question", ask_id) as unknown as QuestionSet | undefined;
    return Math.max(0, set?.answers.indexOf(null) ?? 0);
  }

  #approve({ ask_id }: LedgerAsk, random: Random, isPlain: boolean): Word {
    const { comparable } = this.#world.scenario;
    const changing = comparable && ask_id !== "a1" ? 0 : 3;
    const way = isPlain
      ? "approve"
      : random.weighted({ approve: 6, sendBack: changing, reject: comparable ? 0 : 0.5, edit: comparable ? 0 : 3 });
    switch (way) {
      case "approve":
        return ["approval", { decision: "approved", ...(random.chance(0.5) ? { ask_id } : {}) }];
      case "sendBack":
        return ["approval", { decision: "changes_requested", notes: "Not so.", ask_id }];
      case "reject":
        return ["approval", { decision: "rejected", ask_id }];
      case "edit": {
        const tasks = this.#edited(random);
        return ["approval", { decision: "approved", plan: { summary: "A person's plan", tasks }, ask_id }];
      }
    }
  }

  #permit({ ask_id }: LedgerAsk, random: Random, isPlain: boolean): Word {
    const way = isPlain ? "once" : random.weighted({ once: 3, ticket: 2, session: 1, deny: 2, wrong: 1 });
    if (way === "wrong") return ["approval", { decision: "changes_requested", ask_id }];
    if (way === "deny") return ["approval", { decision: "rejected", ask_id, notes: "No." }];
    return ["approval", { decision: "approved", scope: way, ask_id }];
  }

  /** The plan with a new task, often with a changed task that is being worked on, and sometimes with other ids. */
  #edited(random: Random): JsonObject[] {
    const name = `P${random.between(1, 3)}`;
    const tasks = this.#crew.plan.tasks.filter((task) => task["task_id"] !== name);
    const changed = random.chance(0.6) ? this.#somethingBusy(SESSION_ID) : undefined;
    const planned = random.chance(0.6) ? renamed(tasks, random, this.#doneTickets()) : tasks;
    return [
      ...planned.map((task) => (task["task_id"] === changed ? this.#otherwise(task) : task)),
      { task_id: name, description: "A person's task" },
    ];
  }

  #otherwise(task: JsonObject): JsonObject {
    return { ...task, description: `Otherwise, says word ${this.#said}` };
  }

  #doneTickets(): ReadonlySet<string> {
    const tickets = [...this.#world.database.texts(SESSION_ID, "ticket")];
    return new Set(tickets.flatMap(([id, text]) => ((JSON.parse(text) as Ticket).status === "done" ? [id] : [])));
  }

  /** A subject that has a turn or a discussion. */
  #somethingBusy(session_id: string): string | undefined {
    const { database } = this.#world;
    const open = ["turn", "child"].flatMap((collection) => [...database.texts(session_id, collection).values()]);
    const subjects = open.flatMap((text) => (JSON.parse(text) as { subject?: string }).subject ?? []);
    return subjects.length > 0 ? this.#world.chance.pick(subjects) : undefined;
  }

  /** Sends something without being asked. */
  #interject(): void {
    const { chance, isCalm } = this.#world;
    const open = this.#world.sessions.filter(({ outcome }) => outcome === null);
    const to = open.length > 1 ? chance.pick(open) : open[0];
    if (isCalm || !to) return;
    const { session_id, mode } = to;
    const tasks = this.#crew.plan.tasks.map((task) => task["task_id"] as string);
    const subjects = [...this.#world.database.texts(session_id, MODES.get(mode)?.subjects ?? "").keys()];
    const any = mode === "schedule" ? chance.pick(tasks) : chance.pick(["nobody", ...subjects]);
    const ticket_id = (chance.chance(0.6) ? this.#somethingBusy(session_id) : undefined) ?? any;
    const command = (payload: JsonObject): Word => ["user_command", payload];
    const what = chance.weighted({
      tell: 3,
      tellTicket: 2,
      pause: 1,
      stop: 0.5,
      resume: 0.5,
      cancel: open.length > 1 ? 2 : 0.3,
      cancelTicket: 1,
      retry: 2,
      release: 1,
      limits: 1,
      plan: mode === "schedule" ? 2 : 0,
      review: 2,
      approval: 0.5,
      answers: 0.5,
      nonsense: 1,
      requirement: 0.3,
    });
    const words: Record<typeof what, () => Word> = {
      tell: () => command({ command: "tell", text: "Mind the gap." }),
      tellTicket: () => command({ command: "tell", ticket_id, text: "Here too." }),
      pause: () => command({ command: "pause" }),
      stop: () => command({ command: "stop" }),
      resume: () => command({ command: "resume" }),
      cancel: () => command({ command: "cancel" }),
      cancelTicket: () => command({ command: "cancel", ticket_id }),
      retry: () => command({ command: "retry", ticket_id }),
      release: () => command({ command: "release", role_id: chance.pick(this.#world.scenario.roles).role_id }),
      limits: () => command({ command: "limits", limits: { turns: 500 } }),
      plan: () => ["plan", { summary: "My plan", tasks: this.#edited(chance) }],
      review: () => ["review", { decision: chance.pick(["approved", "changes_requested"]), ticket_id }],
      approval: () => ["approval", { decision: "approved" }],
      answers: () => ["clarification_response", { answers: [], status: "complete" }],
      nonsense: () =>
        chance.pick<Word>([
          ["turn_failed", {}],
          ["review", { decision: "perhaps" }],
          ["nothing", {}],
        ]),
      requirement: () => ["requirement", { text: "Something else" }],
    };
    this.#put(session_id, words[what]());
  }

  #put(session_id: string, word: Word, who: JsonObject = {}): void {
    this.#said += 1;
    const via = `person-${this.#said}`;
    const [payload_type, payload] = word;
    const put = this.#world.database.put(
      session_id,
      { payload_type, payload },
      { user: "ada", host: "there", via, ...who },
    );
    if (put.ok) this.words.set(via, word);
    this.#world.log(
      () => `${via} says ${this.#world.nameOf(session_id)}${payload_type} ${JSON.stringify(payload).slice(0, 120)}`,
    );
  }
}
