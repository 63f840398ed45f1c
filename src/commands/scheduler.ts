import type { Command } from "commander";
import { closeInherited } from "../agents/inherited-descriptors.ts";
import { ok } from "../lib/result.ts";
import { fails } from "../protocol/failure.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { systemClock } from "../runtime/time/clock.ts";
import type { Store } from "../store/store.ts";
import { EXIT_CODE_OF } from "./context/exit-code.ts";
import { type OpenHome, openHome, withHome } from "./context/home.ts";
import type { RunOptions } from "./options/run-options.ts";
import { begin } from "./driver/begin.ts";
import { firstLine, type LauncherMessage, type SchedulerMessage } from "./driver/scheduler-process.ts";
import { takeUp } from "./driver/take-up.ts";
import type { Patience } from "./driver/drive.ts";

/** `bosun scheduler`: started by `run` and `resume` for a session that outlives their terminal. Not for people. */
export function register(command: Command): Action<object> {
  command.argument("<session>", "for lists of processes");
  return async (context) => {
    closeInherited();
    const given = await order();
    if (given === undefined) {
      return fails("usage", "This command got no order: other commands start it.", {
        hint: "Use bosun run --detach, or bosun resume --detach.",
      });
    }
    const done = await withHome(openHome(context), (home) => carryOut(context, home, given));
    if (done.ok || !say({ kind: "failed", failure: done.error })) return done;
    return ok(EXIT_CODE_OF[done.error.code]);
  };
}

type Given = Omit<Extract<LauncherMessage, { kind: "order" }>, "kind">;

async function carryOut(context: CommandContext, home: OpenHome<Store>, { order, patience_ms }: Given): Promise<Exit> {
  const { session_id } = order;
  context.terminal.out.line(firstLine(systemClock.now(), session_id));
  const runOptions: RunOptions = { ...order.runOptions, reporter: "silent", ask: false, scheduler: "here" };
  const patience: Patience = {
    begun: () => void say({ kind: "begun" }),
    onLeft: (left) => process.on("message", ({ kind }: LauncherMessage) => kind === "left" && left()),
    patience_ms,
  };
  if (order.do === "begin") return begin(context, home, session_id, order.input, runOptions, patience);
  const row = home.store.session(session_id);
  if (!row.ok) return row;
  return takeUp(context, home, row.value, runOptions, order.change, patience);
}

/** The order from the launching process; undefined if there is none, or if that process exited before it gave one. */
function order(): Promise<Given | undefined> {
  if (!process.connected) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const gone = () => resolve(undefined);
    process.once("disconnect", gone);
    process.once("message", (word: LauncherMessage) => {
      process.off("disconnect", gone);
      resolve(word.kind === "order" ? word : undefined);
    });
  });
}

/** Sends a message to the launching process. Returns false if that is gone. */
function say(word: SchedulerMessage): boolean {
  if (!process.connected) return false;
  // The launching process may exit at any moment.
  return process.send?.(word, undefined, {}, () => {}) ?? false;
}
