/** Stops the job, as the terminal itself does outside raw mode: a shell sees only its child stop, which may be npm. */
export function suspendJob(back: () => void): void {
  process.once("SIGCONT", back);
  process.kill(0, "SIGTSTP");
}
