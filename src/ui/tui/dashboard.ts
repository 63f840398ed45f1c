import { showEnding } from "../ending.ts";
import { heldWords } from "../hold-words.ts";
import { applyRecord } from "../model/apply.ts";
import { awaitsAcceptance, emptyModel, type SessionModel } from "../model/model.ts";
import { RecordFormatter } from "../record-formatter.ts";
import { BRIEF } from "../record-event.ts";
import type { Ending, Opening, Reporter } from "../reporter.ts";
import { stoppingWords } from "../stopping.ts";
import type { Terminal } from "../terminal.ts";
import type { ChildWaiting } from "../waiting.ts";
import { localize } from "../words.ts";
import type { SessionEvent } from "../../runtime/bus.ts";
import { UNAVAILABLE } from "../../kernel/outages.ts";
import { collectEarly } from "../../runtime/memory.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";
import type { Key } from "../keyboard/decoder.ts";
import { dashboardFrame, pageRows, selectable } from "./frame.ts";
import { keysFor } from "./keys.ts";
import type { Scene } from "./scene.ts";
import type { Screen } from "./screen.tsx";
import { outputBefore, outputLine, Stories, storyOf } from "./stories.ts";
import { type Action, type BesideAction, handleKey, INITIAL_VIEW, selectedOf, type SessionAction } from "./view.ts";

/** How often changes are drawn at most, in ms, and for which part of the time. Clocks on the screen advance once a second. */
const DRAW_MS = 100;
const DRAWING = 0.1;
const TICK_MS = 1_000;

/** Maximum time after its record until an ask can be answered, in ms. */
const ASK_MS = 2_000;

/** How long a person presses no key until a question opens by itself, in ms. */
const OPENS_MS = 3_000;

/** How long a notice is shown, in ms. */
const NOTICE_MS = 5_000;

/** Controls the session for the person at the dashboard. */
export interface Steering {
  /** Whether anything waits for an answer. The model may still list asks that no record has settled. */
  readonly waits: boolean;
  /** Prompts for all open asks on the normal screen, this ticket's first. Settles when the screen is free again. */
  answer(ticket_id: string | undefined): Promise<void>;
  /** Sends a command. Resolves to a message for the person. */
  command(action: SessionAction): Promise<string>;
  /** Whether there is a git repository. */
  readonly diffs: boolean;
  /** Whether what the session made can be merged into a branch of the person's. */
  readonly merges: boolean;
  /** Accepts the result, and has it merged once the session has closed. */
  merge(): Promise<void>;
  /** Shows something on the normal screen. Settles when that is free again, with a message for the person. */
  show(action: BesideAction): Promise<string>;
}

export interface DashboardParts {
  readonly terminal: Terminal;
  /** Undefined if this screen is read-only. */
  readonly steering: Steering | undefined;
  /** Detaches from a session that another process runs. Undefined if this process runs it. */
  readonly detach: (() => void) | undefined;
}

/** The live dashboard. It only watches: the session goes on even if the dashboard lags or closes. */
export class Dashboard implements Reporter {
  /** The model is built from every earlier record. */
  readonly needsAll = true;
  readonly #parts: DashboardParts;
  readonly #model: SessionModel = emptyModel();
  readonly #stories = new Stories();
  readonly #formatter = new RecordFormatter();
  #opening: Opening | undefined;
  #view = INITIAL_VIEW;
  #screen: Screen | undefined;
  #drawing: NodeJS.Timeout | undefined;
  #drawn = 0;
  #isChanged = true;
  #isStopping = false;
  /** Until this time, an ask that becomes answerable is prompted at once, because the person has already pressed the key. */
  #answerUntil = 0;
  /** From this time, an ask that is new is prompted by itself once nothing else is at work. */
  #opensAt = Number.POSITIVE_INFINITY;
  #isClosed = false;
  #notice: { readonly text: string; readonly until: number } | undefined;

  constructor(parts: DashboardParts) {
    this.#parts = parts;
  }

  begin(opening: Opening): void {
    this.#opening = opening;
    for (const record of opening.earlier) this.#apply(this.#model.sequence + 1, record);
    collectEarly();
    for (const turn of this.#model.turns.values())
      for (const line of outputBefore(opening.output, turn)) this.#stories.addTo(line);
    // Load Ink only here, because it takes as long to load as everything else together and other reporters do not need it.
    void import("./screen.tsx").then((loaded) => {
      if (this.#isClosed) return;
      this.#screen = new loaded.Screen({
        terminal: this.#parts.terminal,
        frame: (columns, rows) => dashboardFrame(this.#scene(), this.#view, columns, rows),
        onKey: (key) => this.#key(key),
      });
    });
    this.#draw();
  }

  event(event: SessionEvent): void {
    this.#isChanged = true;
    switch (event.kind) {
      case "record":
        this.#apply(event.sequence, event.record);
        return;
      case "console":
        this.#stories.addTo(outputLine(event, this.#opening?.time() ?? 0));
        return;
      case "warning":
        this.notice(event.text);
        return;
      case "stopping": {
        this.#isStopping = true;
        const words = stoppingWords(event, this.#opening);
        if (words !== undefined) this.notice(words);
        return;
      }
      case "turn_started":
      case "turn_ended":
      case "ask":
      case "ended":
      // The records cover these.
    }
  }

  /** Nothing to add: an open ask is always visible, with the command that answers it. */
  asked(): void {
    this.#isChanged = true;
  }

  childWaits({ session_id }: ChildWaiting): void {
    this.notice(`${session_id} waits for you: ${localize(this.#parts.terminal.out, `bosun answer ${session_id}`)}`);
  }

  end(ending: Ending): void {
    this.close();
    showEnding(this.#parts.terminal, ending, this.#opening?.resumed);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#drawing);
    this.#screen?.close();
  }

  /** Call when something new can be answered. Its record may already be on the screen. */
  canAnswer(): void {
    // Prompts that are open take it themselves.
    if (this.#screen?.isOpen !== false) this.#opensAt = performance.now() + OPENS_MS;
    if (this.#answerUntil > performance.now()) this.#answer();
  }

  /** Shows a message for a while. */
  notice(text: string): void {
    this.#notice = { text, until: performance.now() + NOTICE_MS };
    this.#isChanged = true;
  }

  #apply(sequence: number, record: UnsealedRecord): void {
    applyRecord(this.#model, sequence, record);
    const { output, presentation } = this.#opening ?? {};
    const telling = { ...BRIEF, output, presentation: presentation?.() };
    for (const line of storyOf(record, this.#formatter, telling)) this.#stories.add(line);
  }

  #draw(): void {
    const now = performance.now();
    const began = process.cpuUsage();
    // The screen is hidden while a prompt is open.
    if (this.#screen?.isOpen === true) {
      if (now >= this.#opensAt) this.#openQuestion();
      if (this.#isChanged || now - this.#drawn >= TICK_MS) {
        this.#isChanged = !this.#screen.draw();
        this.#drawn = now;
      }
    }
    const { user, system } = process.cpuUsage(began);
    const rest = (user + system) / 1e3 / DRAWING;
    this.#drawing = setTimeout(() => this.#draw(), Math.min(Math.max(DRAW_MS, rest), TICK_MS)).unref();
  }

  #openQuestion(): void {
    const { page, typing, confirm } = this.#view;
    if (this.#model.turns.size > 0 || page === "help" || (typing ?? confirm) !== undefined) return;
    this.#opensAt = Number.POSITIVE_INFINITY;
    if (this.#parts.steering?.waits === true) this.#answer();
  }

  #scene(): Scene {
    const { terminal, steering, detach } = this.#parts;
    const { session_id = "", elsewhere } = this.#opening ?? {};
    const hasNotice = this.#notice !== undefined && this.#notice.until > performance.now();
    return {
      model: this.#model,
      presentation: this.#opening?.presentation(),
      now: this.#opening?.time() ?? 0,
      events: this.#stories.events,
      story: (ticket_id) => this.#stories.of(ticket_id),
      answer: localize(terminal.out, `bosun answer ${session_id}`),
      steers: steering !== undefined,
      diffs: steering?.diffs === true,
      merges: steering?.merges === true && awaitsAcceptance(this.#model),
      outages: heldWords([...this.#model.holds.values()].filter(({ reason }) => reason === UNAVAILABLE)),
      ctrl_c: elsewhere?.ctrl_c ?? "stops",
      detaches: detach !== undefined,
      notice: hasNotice ? this.#notice?.text : undefined,
    };
  }

  #key(key: Key): void {
    this.#waitsToOpen();
    const scene = this.#scene();
    const listed = selectable(scene, this.#view);
    const { view, action } = handleKey(this.#view, key, {
      listed,
      paused: this.#model.state === "paused",
      rows: pageRows(this.#parts.terminal.out.stream.rows),
      steers: scene.steers,
      diffs: scene.diffs,
      merges: scene.merges,
      cuts: scene.ctrl_c === "stops" && !this.#isStopping && this.#model.turns.size > 0,
      ...keysFor(scene, selectedOf(this.#view, listed)),
    });
    this.#view = view;
    this.#isChanged = this.#screen?.draw() !== true;
    if (action) this.#carryOut(action);
  }

  /** Lets a question that opens by itself wait longer: the person is at work here. */
  #waitsToOpen(): void {
    if (this.#opensAt < Number.POSITIVE_INFINITY) this.#opensAt = performance.now() + OPENS_MS;
  }

  #answer(): void {
    const { steering } = this.#parts;
    if (steering?.waits === true) {
      this.#answerUntil = 0;
      this.#opensAt = Number.POSITIVE_INFINITY;
      const ticket_id = this.#view.page === "ticket" ? this.#view.selected : undefined;
      this.#screen?.hide();
      void steering.answer(ticket_id).finally(() => this.#screen?.show());
      return;
    }
    this.#answerUntil = this.#model.asks.size > 0 ? performance.now() + ASK_MS : 0;
    this.notice("Nothing waits for you now.");
  }

  #carryOut(action: Action): void {
    const { steering, detach } = this.#parts;
    switch (action.do) {
      case "stop":
        // The second signal ends this process, which can report that only on the normal screen.
        if (this.#isStopping) this.#screen?.close();
        process.kill(process.pid, "SIGINT");
        return;
      case "suspend":
        return this.#screen?.suspend();
      case "leave":
        if (detach) detach();
        else this.notice("The session runs in this process. Ctrl-C stops it; bosun resume goes on with it.");
        return;
      case "answer":
        return this.#answer();
      case "merge":
        return void steering?.merge();
      case "report":
      case "log":
      case "diff":
      case "edit":
      case "next":
        this.#screen?.hide();
        void steering?.show(action).then((told) => {
          this.#waitsToOpen();
          this.#screen?.show();
          if (told !== "") this.notice(told);
        });
        return;
      default:
        void steering?.command(action).then((told) => this.notice(told));
    }
  }
}
