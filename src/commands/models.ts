import type { Command } from "commander";
import { ok } from "../lib/result.ts";
import { EXIT_DONE, EXIT_ENVIRONMENT } from "../runtime/exit.ts";
import { safeJson } from "../ui/display.ts";
import { tableLines } from "../ui/table.ts";
import { tellNext } from "../ui/words.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { type ModelShown, modelsIn } from "./examination/models.ts";

interface ModelsOptions {
  readonly try?: boolean;
  readonly json?: boolean;
}

/** `bosun models`: the providers of models that this environment has keys for, and with `--try` whether they answer. */
export function register(command: Command): Action<ModelsOptions> {
  command.option("--try", "send a tiny request to each that is configured, which costs a few tokens");
  command.option("--json", "one JSON value on stdout");
  return models;
}

async function models(context: CommandContext, _words: readonly string[], options: ModelsOptions): Promise<Exit> {
  const { out } = context.terminal;
  const shown = await modelsIn(context.environment, options.try === true);
  if (options.json === true) out.line(safeJson({ models: shown }));
  else {
    const columns = ["provider", "model", "address", "key", "state"].map((heading) => ({ heading }));
    const rows = shown.map((one) => [
      one.provider,
      one.model ?? "-",
      one.base_url ?? "-",
      one.key ?? "-",
      stateOf(one),
    ]);
    for (const line of tableLines(columns, rows, out.width)) out.line(line);
    if (options.try !== true) tellNext(out, "bosun models --try");
  }
  return ok(shown.some(({ state }) => state === "failed") ? EXIT_ENVIRONMENT : EXIT_DONE);
}

function stateOf({ state, why, seconds = 0, tokens }: ModelShown): string {
  if (state !== "answered") return why ?? state;
  return `answered in ${seconds.toFixed(1)} s, ${tokens === undefined ? "tokens not told" : `${tokens} tokens`}`;
}
