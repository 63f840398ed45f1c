import { onTestFinished } from "vitest";
import { type RunLimits, type RunListener, SupervisedRun } from "../../src/agents/cli/process.ts";
import { embeddedLauncher } from "../../src/agents/embedded-launcher.ts";

const LIMITS: RunLimits = {
  timeout_ms: 0,
  idle_timeout_ms: 0,
  kill_grace_ms: 1_000,
  answer_grace_ms: 0,
  max_output_bytes: 1e12,
};

/** A supervised shell script. */
export async function supervise(
  directory: string,
  script: string,
  limits: Partial<RunLimits>,
  line: RunListener["line"] = () => undefined,
  cap = 100,
) {
  const launched = await embeddedLauncher().launch({
    command: ["sh", "-c", script],
    directory,
    environment: { PATH: process.env["PATH"] ?? "" },
  });
  if (!launched.ok) throw new Error(launched.error.message);
  const abort = new AbortController();
  const run = new SupervisedRun(launched.value, { ...LIMITS, ...limits }, { capOf: () => cap, line }, abort.signal);
  onTestFinished(async () => {
    abort.abort();
    await run.ended;
  });
  return { run, launched: launched.value, abort };
}
