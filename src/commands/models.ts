import type { Command } from "commander";
import { ok } from "../lib/result.ts";
import { EXIT_DONE, EXIT_ENVIRONMENT } from "../runtime/exit.ts";
import { safeJson } from "../ui/display.ts";
import { tableLines } from "../ui/table.ts";
import { tellNext } from "../ui/words.ts";
import type { Environment } from "../config/found.ts";
import { ProviderError } from "../harness/provider.ts";
import { providerAdapter } from "../harness/provider-adapter.ts";
import { addressFrom, type ModelAddress, PROVIDERS } from "../harness/providers.ts";
import { tokensOf } from "../harness/usage.ts";
import { formatDuration } from "../lib/durations.ts";
import type { Action } from "./context/command.ts";

interface ModelsOptions {
  readonly try?: boolean;
  readonly json?: boolean;
}

/** `bosun models`: the providers of models that this environment has keys for, and with `--try` whether they answer. */
export function register(command: Command): Action<ModelsOptions> {
  command.option("--try", "send a tiny request to each that is configured, which costs a few tokens");
  command.option("--json", "one JSON value on stdout");
  return async (context, _words, options) => {
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
  };
}

function stateOf({ state, why, seconds = 0, tokens }: ModelShown): string {
  if (state !== "answered") return why ?? state;
  return `answered in ${seconds.toFixed(1)} s, ${tokens === undefined ? "tokens not told" : `${tokens} tokens`}`;
}

/** A provider of models as this environment has it. */
interface ModelShown {
  readonly provider: string;
  /** Where it is not configured, `why` says what is missing. */
  readonly state: "missing" | "configured" | "answered" | "failed";
  readonly why?: string;
  readonly model?: string;
  readonly base_url?: string;
  /** The variable that has the key. */
  readonly key?: string | null;
  readonly seconds?: number;
  readonly tokens?: number;
}

const LIMIT_MS = 60_000;

/** All providers; with `tries` each that is configured is asked something tiny. */
function modelsIn(environment: Environment, tries: boolean): Promise<ModelShown[]> {
  const shown = async (provider: string): Promise<ModelShown> => {
    const address = addressFrom(environment, { provider });
    if (!address.ok) return { provider, state: "missing", why: address.error };
    const { model, baseURL: base_url = "", keyVariable: key = null } = address.value;
    const configured = { provider, model, base_url, key };
    return tries ? { ...configured, ...(await trial(address.value)) } : { ...configured, state: "configured" };
  };
  // A name that no provider has is told, too.
  const named = environment.LLM_PROVIDER?.trim() || "anthropic";
  return Promise.all([...new Set([...Object.keys(PROVIDERS), named])].map(shown));
}

async function trial(address: ModelAddress): Promise<Pick<ModelShown, "state" | "why" | "seconds" | "tokens">> {
  const began = performance.now();
  const signal = AbortSignal.timeout(LIMIT_MS);
  const messages = [{ role: "user", content: "Answer with the word yes." }] as const;
  const request = { model: address.model, config: { maxOutputTokens: 100 }, messages, signal };
  try {
    const { usage } = await (await providerAdapter(address)).sendChat(request);
    const seconds = Math.round(performance.now() - began) / 1000;
    return { state: "answered", seconds, ...(usage && { tokens: tokensOf(usage) }) };
  } catch (error) {
    if (error instanceof ProviderError) return { state: "failed", why: error.message };
    if (signal.aborted) return { state: "failed", why: `It did not answer within ${formatDuration(LIMIT_MS)}.` };
    throw error;
  }
}
