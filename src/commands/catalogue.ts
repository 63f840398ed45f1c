import type { Register } from "./context/command.ts";

/** A command as help lists it. Its module is loaded only when it is typed. */
export interface CommandEntry {
  readonly name: string;
  readonly group: string;
  readonly summary: string;
  /** Only shown by `bosun help all`. */
  readonly hidden?: boolean;
  readonly load: () => Promise<{ readonly register: Register }>;
}

const WORK = "Work:";
const LOOK = "Look:";
const TALK = "Talk:";
const CREW = "Crew:";

/** Every command, in the order of the help. */
export const CATALOGUE: readonly CommandEntry[] = [
  { group: WORK, name: "run", summary: "carry out a requirement", load: () => import("./run.ts") },
  { group: WORK, name: "resume", summary: "continue a session where it stopped", load: () => import("./resume.ts") },
  { group: WORK, name: "answer", summary: "answer a session's questions", load: () => import("./answer.ts") },
  {
    group: WORK,
    name: "plan",
    summary: "show a session's plan, approve it, or send it back",
    load: () => import("./plan.ts"),
  },
  { group: WORK, name: "review", summary: "approve work, or send it back", load: () => import("./review.ts") },
  { group: WORK, name: "retry", summary: "try a ticket in error again", load: () => import("./retry.ts") },
  { group: WORK, name: "tell", summary: "give a session's agents a note", load: () => import("./tell.ts") },
  { group: WORK, name: "pause", summary: "begin no new turns until resume", load: () => import("./pause.ts") },
  {
    group: WORK,
    name: "stop",
    summary: "stop a running session; resume continues it",
    load: () => import("./stop.ts"),
  },
  { group: WORK, name: "cancel", summary: "end a session, or one ticket", load: () => import("./cancel.ts") },
  {
    group: WORK,
    name: "scheduler",
    summary: "runs one session without a terminal; run and resume start it",
    hidden: true,
    load: () => import("./scheduler.ts"),
  },
  {
    group: LOOK,
    name: "status",
    summary: "the state of a session, or the list of all",
    load: () => import("./status.ts"),
  },
  {
    group: LOOK,
    name: "attach",
    summary: "watch a running session, and answer it",
    load: () => import("./attach.ts"),
  },
  { group: LOOK, name: "inbox", summary: "everything that needs a person", load: () => import("./inbox.ts") },
  { group: LOOK, name: "log", summary: "what happened, and what agents printed", load: () => import("./log.ts") },
  {
    group: LOOK,
    name: "replay",
    summary: "the recorded messages; --verify proves them",
    load: () => import("./replay.ts"),
  },
  {
    group: TALK,
    name: "debate",
    summary: "agents debate a question, and a judge concludes",
    hidden: true,
    load: () => import("./debate.ts"),
  },
  {
    group: CREW,
    name: "demo",
    summary: "all that matters in half a minute, on a scratch copy",
    load: () => import("./demo.ts"),
  },
  {
    group: CREW,
    name: "init",
    summary: "write a crew and settings for this project",
    load: () => import("./init.ts"),
  },
  {
    group: CREW,
    name: "trust",
    summary: "let a project's configuration run its commands",
    load: () => import("./trust.ts"),
  },
  {
    group: CREW,
    name: "doctor",
    summary: "check that everything needed is available",
    load: () => import("./doctor.ts"),
  },
  {
    group: CREW,
    name: "config",
    summary: "the settings of a run, and where each comes from",
    load: () => import("./config.ts"),
  },
  {
    group: CREW,
    name: "conformance",
    summary: "try an agent program of your own with every kind of turn",
    hidden: true,
    load: () => import("./conformance.ts"),
  },
  { group: CREW, name: "roles", summary: "the roles of a run", hidden: true, load: () => import("./roles.ts") },
  {
    group: CREW,
    name: "completion",
    summary: "print the script that completes commands in your shell",
    hidden: true,
    load: () => import("./completion.ts"),
  },
];
