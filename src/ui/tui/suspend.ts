/** Suspends the whole job, as the terminal does outside raw mode, because a shell watches only its own child, which may be npm. */
export function suspendJob(back: () => void): void {
  process.once("SIGCONT", back);
  process.kill(0, "SIGTSTP");
}
