import { formatDuration } from "./durations.ts";

/** A timer for longer ends at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** What the work gives within a time, or the error `<what> within <time>.` */
export async function inTime<T>(
  limitMs: number,
  what: string,
  work: (signal: AbortSignal) => Promise<T>,
  outer?: AbortSignal,
): Promise<T> {
  const late = new AbortController();
  const error = new Error(`${what} within ${formatDuration(limitMs)}.`);
  const timer = setTimeout(() => late.abort(error), Math.min(limitMs, MAX_TIMER_MS));
  const signal = AbortSignal.any([late.signal, ...(outer ? [outer] : [])]);
  return untilAborted(signal, () => work(signal)).finally(() => clearTimeout(timer));
}

/** What the work gives, or the signal's reason as soon as it is aborted, whether the work heeds the signal or not. */
export async function untilAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort);
  try {
    return await Promise.race([work(), aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
