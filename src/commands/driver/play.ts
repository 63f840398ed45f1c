import { spawn } from "node:child_process";
import { basename } from "node:path";
import { textOf } from "../../lib/json.ts";
import { ok } from "../../lib/result.ts";
import type { Listing } from "../../log/reader.ts";
import { EXIT_DONE } from "../../runtime/exit.ts";
import { keepYoungSmall } from "../../runtime/memory.ts";
import type { Proof } from "../../runtime/proof.ts";
import type { ProofState } from "../../ui/player/frame.ts";
import type { Player } from "../../ui/player/player.ts";
import { PlayerScreen } from "../../ui/player/player-screen.ts";
import { Recording } from "../../ui/player/recording.ts";
import { isDamaged } from "../../ui/proof-words.ts";
import { tellNext } from "../../ui/words.ts";
import type { CommandContext, Exit } from "../context/command.ts";
import { watchSignals } from "../context/signals.ts";
import { type LogSource, typedName } from "../lookup/log-source.ts";
import { readerOf } from "../../modes/index.ts";
import { retellingOfFolder } from "../lookup/modes.ts";
import { ownArguments } from "./scheduler-process.ts";

/** Plays a log at this terminal until the person leaves. */
export async function playLog(
  context: CommandContext,
  source: LogSource,
  listing: Listing,
  begin: Player,
): Promise<Exit> {
  const { terminal, leave } = context;
  const { out } = terminal;
  keepYoungSmall();
  const enough = new AbortController();
  const left = new AbortController();
  const signals = watchSignals({ stop: () => enough.abort() }, leave);
  const recording = new Recording(
    source.folder,
    listing,
    source.isHeld,
    await retellingOfFolder(source.folder, listing),
  );
  const name = source.row?.session_id ?? basename(source.folder);
  const { mode } = recording.read(0).record?.payload ?? {};
  recording.presentation = readerOf(textOf(mode))?.presentation;
  const prove = () => proveApart(context, source, left.signal);
  const screen = new PlayerScreen({ terminal, recording, name, begin, prove });
  try {
    const { place } = await screen.run(AbortSignal.any([enough.signal, out.ended]));
    const { sequences } = recording.tape;
    const sequence = sequences[place] ?? 0;
    out.line(`Left at record ${sequence}, ${place + 1} of ${sequences.length}.`);
    tellNext(out, `bosun replay ${typedName(source)} --at ${sequence}`);
    return ok(signals.exitCode() ?? EXIT_DONE);
  } finally {
    left.abort();
    signals.restore();
  }
}

/** Proves the log in its own process, because proving a long one takes seconds and much memory. */
function proveApart(context: CommandContext, { row, folder }: LogSource, signal: AbortSignal): Promise<ProofState> {
  const named = context.home === undefined ? [] : ["--home", context.home];
  const words = [...named, "replay", row?.session_id ?? folder, "--verify", "--json"];
  const child = spawn(process.execPath, ownArguments(words), {
    cwd: context.directory,
    env: context.environment,
    stdio: ["ignore", "pipe", "ignore"],
    signal,
  });
  let written = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (written += text));
  return new Promise((resolve) => {
    child.once("error", () => resolve(NO_PROOF));
    child.once("close", () => resolve(proofIn(written)));
  });
}

const NO_PROOF: ProofState = { state: "none", problems: [] };

/** Parses the output of `replay --verify --json`. */
function proofIn(written: string): ProofState {
  try {
    const proof = JSON.parse(written) as Partial<Proof>;
    if (proof.problems === undefined) return NO_PROOF;
    const state = proof.ok === true ? "ok" : isDamaged(proof as Proof) ? "failed" : "open";
    return { state, problems: proof.problems };
  } catch {
    return NO_PROOF;
  }
}
