import { defined } from "../../lib/json.ts";
import type { Dashboard, Steering } from "../../ui/tui/dashboard.ts";
import type { BesideAction, SessionAction } from "../../ui/tui/view.ts";
import { wrappedLines } from "../../ui/display.ts";
import { alertWords, isResult } from "../../ui/waiting.ts";
import { localize } from "../../ui/words.ts";
import type { Asker, OpenAsk, SessionControl } from "./interaction.ts";
import { EXIT_DONE } from "../../runtime/exit.ts";
import { hasCopies, mergeHere, repositoryOf, showBeside } from "./beside.ts";
import { commandMessage, decisionMessage, type Refusal } from "./put.ts";
import { PromptAsker, type PromptAskerParts } from "./prompt-asker.ts";

/** Asks the person at the dashboard. The dashboard shows what waits; the questions are asked on the normal screen, on request. */
export class DashboardAsker implements Asker, Steering {
  readonly diffs: boolean;
  readonly merges: boolean;
  #isMerging = false;
  readonly #parts: Omit<PromptAskerParts, "left">;
  readonly #control: SessionControl;
  readonly #asks = new Map<string, OpenAsk>();
  #dashboard: Dashboard | undefined;
  #prompts: PromptAsker | undefined;
  /** What is shown in the dashboard's place: the end of the session waits for it. */
  #beside: Promise<unknown> | undefined;

  constructor(parts: Omit<PromptAskerParts, "left">, control: SessionControl) {
    this.#parts = parts;
    this.#control = control;
    this.diffs = repositoryOf(parts) !== undefined;
    this.merges = hasCopies(parts);
  }

  /** The dashboard that this is for. */
  set dashboard(dashboard: Dashboard) {
    this.#dashboard = dashboard;
  }

  ask(ask: OpenAsk): void {
    // The result that was to be merged was not accepted.
    this.#isMerging = false;
    this.#asks.set(ask.ask_id, ask);
    const { context, session_id } = this.#parts;
    context.terminal.err.alert(alertWords(session_id, ask.waiting()));
    void this.#prompts?.askAll([ask]);
    this.#dashboard?.canAnswer();
  }

  async merge(): Promise<void> {
    const ask = [...this.#asks.values()].find((one) => isResult(one.waiting()[0]));
    const [result] = ask?.waiting() ?? [];
    if (ask === undefined || !isResult(result)) return;
    this.#isMerging = true;
    const said = ask.say(decisionMessage(result, "approved"));
    const refused = await said.catch((error: unknown) => this.#control.broken(error));
    if (refused) this.#isMerging = false;
  }

  /** Merges what was accepted, if the person wanted that, and returns the exit code. Call once the session is closed. */
  mergeAccepted(): Promise<number> {
    return this.#isMerging ? mergeHere(this.#parts) : Promise.resolve(EXIT_DONE);
  }

  get waits(): boolean {
    return [...this.#asks.values()].some((ask) => ask.waiting().length > 0);
  }

  look(): void {
    this.#prompts?.look();
  }

  complain(why: Refusal): void {
    if (this.#prompts) this.#prompts.complain(why);
    else this.#dashboard?.notice(this.#words(why));
  }

  async end(): Promise<void> {
    await this.#prompts?.end();
    await this.#beside;
  }

  async show(action: BesideAction): Promise<string> {
    const shown = showBeside(this.#parts, action);
    this.#beside = shown.catch((error: unknown) => this.#control.broken(error));
    return shown.catch(() => "");
  }

  /** Asks everything that is open. A question that the person leaves open (Esc, Ctrl-C, Ctrl-D) waits at the dashboard. */
  async answer(ticket_id: string | undefined): Promise<void> {
    const { context } = this.#parts;
    const { err } = context.terminal;
    for (const line of wrappedLines("Esc goes back to the dashboard and leaves the rest open.", err.width, 0))
      err.line(err.style("dim", line));
    const terminal = { ...context.terminal, returns: true };
    const prompts = new PromptAsker({ ...this.#parts, context: { ...context, terminal }, left: () => {} });
    this.#prompts = prompts;
    for (const [id, ask] of this.#asks) if (ask.waiting().length === 0) this.#asks.delete(id);
    const about = (ask: OpenAsk) => ticket_id !== undefined && ask.subject === ticket_id;
    const asks = [...this.#asks.values()].toSorted((a, b) => Number(about(b)) - Number(about(a)));
    await prompts.askAll(asks);
    this.#prompts = undefined;
  }

  async command({ do: command, ...about }: SessionAction): Promise<string> {
    const payload = { command, ...defined(about) };
    const late: string[] = [];
    try {
      const refused = await this.#control.say(commandMessage(payload), (why) => late.push(this.#words(why)));
      return refused ? this.#words(refused) : (late[0] ?? DONE[command]);
    } catch (error) {
      this.#control.broken(error);
      return "";
    }
  }

  #words({ message, hint }: Refusal): string {
    return localize(this.#parts.context.terminal.err, hint === undefined ? message : `${message} ${hint}`);
  }
}

const DONE = {
  pause: "Paused: no new turns begin; running turns finish. p resumes.",
  resume: "Resumed.",
  retry: "Retrying.",
  cancel: "Cancelled.",
  tell: "Noted: running turns that can take it are told, others read it in the next one.",
} as const;
