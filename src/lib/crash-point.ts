/** The points at which a crash matters: before and after durable writes, and before and after visible effects. Only tests kill a scheduler there. */
export const CRASH_POINTS = [
  // Beginning or resuming a session.
  "database_made",
  "session_created",
  "lock_held",
  "lock_taken",
  "leftovers_ended",
  "recovery_decided",
  // A step: its transaction, then the files, then the effects.
  "before_commit",
  "after_commit",
  "record_written",
  "record_renamed",
  "events_appended",
  "after_publish",
  "after_effects",
  // Catching up the files after a crash.
  "caught_up",
  // A turn.
  "given_file_written",
  "mail_written",
  "turn_spawned",
  "turn_pid_committed",
  "turn_given",
  "turn_heard",
  "answer_held",
  // A check.
  "check_spawned",
  "check_pid_committed",
  "check_running",
  "check_ended",
  // A notification program.
  "notification_spawned",
  "notification_pid_committed",
  "notification_running",
  "notification_ended",
  // A child session.
  "child_begun",
  "child_ended",
  // An artifact.
  "artifact_copied",
  "artifact_kept",
  // Timers and people.
  "timer_due",
  "inbox_read",
  "drop_read",
  // Shutdown.
  "stopping",
  "report_begun",
  "document_begun",
  "report_written",
  "ended",
  "lock_released",
] as const;

/** Those of deleting a session for good, which no scheduler passes. */
export const TRASH_POINTS = ["trash_going", "trash_rows", "trash_folders"] as const;

export type CrashPoint = (typeof CRASH_POINTS)[number] | (typeof TRASH_POINTS)[number];

/** The point, how often it must be passed, and the signal: `BOSUN_CRASH_AT=after_commit:3` or `after_commit:3:SIGSTOP`. */
const [wanted, passing = "1", signal = "SIGKILL"] = (process.env.BOSUN_CRASH_AT ?? "").split(":");
let passed = 0;

/** Kills or freezes this process without cleanup, if a test asked for it with `BOSUN_CRASH_AT`. */
export function crashPoint(name: CrashPoint): void {
  if (wanted !== name) return;
  passed += 1;
  if (passed === Number(passing)) process.kill(process.pid, signal);
}
