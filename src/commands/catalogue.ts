import type { Register } from "./context/command.ts";

/** A command as help lists it, and where its own module is: loaded only when the command is the one that was typed. */
export interface CommandEntry {
  readonly name: string;
  readonly group: string;
  readonly summary: string;
  /** Left out of the short help; `bosun help all` shows it. */
  readonly hidden?: boolean;
  readonly load: () => Promise<{ readonly register: Register }>;
}

const WORK = "Work:";
const LOOK = "Look:";
const TALK = "Talk:";
const CREW = "Crew:";

/** Every command, in the order in which help lists them. */
export const CATALOGUE: readonly CommandEntry[] = [
  { group: WORK, name: "run", summary: "carry out a requirement", load: () => import("./run.ts") },
  { group: WORK, name: "resume", summary: "go on with a session where it was left", load: () => import("./resume.ts") },
  { group: WORK, name: "answer", summary: "answer what a session asks", load: () => import("./answer.ts") },
  {
    group: WORK,
    name: "plan",
    summary: "show a session's plan, approve it, or send it back",
    load: () => import("./plan.ts"),
  },
  { group: WORK, name: "retry", summary: "try a ticket in error again", load: () => import("./retry.ts") },
  { group: WORK, name: "cancel", summary: "end a session, or give up one ticket", load: () => import("./cancel.ts") },
  {
    group: WORK,
    name: "tell",
    summary: "give a session's agents a note",
    hidden: true,
    load: () => import("./tell.ts"),
  },
  {
    group: WORK,
    name: "pause",
    summary: "begin no new turns until it is resumed",
    hidden: true,
    load: () => import("./pause.ts"),
  },
  {
    group: WORK,
    name: "stop",
    summary: "stop a session that is at work; resume goes on with it",
    hidden: true,
    load: () => import("./stop.ts"),
  },
  {
    group: WORK,
    name: "review",
    summary: "review work that waits for a person",
    hidden: true,
    load: () => import("./review.ts"),
  },
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
    summary: "how a session stands, or which there are",
    load: () => import("./status.ts"),
  },
  {
    group: LOOK,
    name: "attach",
    summary: "watch a session that is at work, and answer it",
    load: () => import("./attach.ts"),
  },
  { group: LOOK, name: "inbox", summary: "everything that waits for a person", load: () => import("./inbox.ts") },
  { group: LOOK, name: "log", summary: "what happened, and what agents printed", load: () => import("./log.ts") },
  { group: LOOK, name: "replay", summary: "the record itself; --verify proves it", load: () => import("./replay.ts") },
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
    name: "doctor",
    summary: "whether everything that is needed is there",
    load: () => import("./doctor.ts"),
  },
  { group: CREW, name: "roles", summary: "who would take part", hidden: true, load: () => import("./roles.ts") },
];
