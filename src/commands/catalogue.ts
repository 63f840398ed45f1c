import { beginningOf } from "../kernel/kit/descriptor.ts";
import { type AnyDescriptor, DESCRIPTORS } from "../modes/index.ts";
import type { Register } from "./context/command.ts";

/** A command. Its module is loaded only when the command is typed. */
interface Entry {
  readonly summary: string;
  /** One to three example command lines, which help shows first. */
  readonly examples: readonly string[];
  /** Whether only `bosun help all` shows it. */
  readonly hidden?: boolean;
  /** Whether it puts a person's word to a session, or widens trust: always, or with one of these options. Agents and checks may not. */
  readonly decides?: true | readonly string[];
  readonly load: () => Promise<{ readonly register: Register }>;
}

/** All commands by group and name, which may be two words, in the order of the help. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, Entry>>>> = {
  "Work:": {
    run: {
      summary: "carry out a requirement",
      examples: [
        "bosun run --plan plan.yaml",
        'bosun run "Write a page about tides" --manager "python3 manager.py" --worker "python3 worker.py"',
        'bosun run --file requirement.md --manager "python3 manager.py" --plan-only',
      ],
      load: () => import("./run.ts"),
    },
    resume: {
      decides: true,
      summary: "continue a session where it stopped",
      examples: ["bosun resume", "bosun resume s-k3m9pa --budget-turns 300 --deadline 4h"],
      load: () => import("./resume.ts"),
    },
    answer: {
      decides: true,
      summary: "answer a session's questions",
      examples: [
        "bosun answer",
        'bosun answer s-k3m9pa c2.q1 "the second option"',
        "bosun answer s-k3m9pa --file answers.yaml",
      ],
      load: () => import("./answer.ts"),
    },
    plan: {
      decides: ["approve", "revise", "reject", "edit"],
      summary: "show a session's plan, approve it, or send it back",
      examples: [
        "bosun plan",
        'bosun plan s-k3m9pa --revise "Split the second task."',
        "bosun plan s-k3m9pa --export plan.yaml",
      ],
      load: () => import("./plan.ts"),
    },
    review: {
      decides: ["approve", "changes", "reject"],
      summary: "approve work, or send it back",
      examples: ["bosun review s-k3m9pa build --approve", 'bosun review s-k3m9pa build --changes "Name the limits."'],
      load: () => import("./review.ts"),
    },
    retry: {
      decides: true,
      summary: "try a ticket in error again",
      examples: ["bosun retry build", "bosun retry --all s-k3m9pa"],
      load: () => import("./retry.ts"),
    },
    tell: {
      decides: true,
      summary: "give a session's agents a note",
      examples: ['bosun tell s-k3m9pa "The server is back."', 'bosun tell s-k3m9pa build "Use the new format."'],
      load: () => import("./tell.ts"),
    },
    pause: {
      decides: true,
      summary: "begin no new turns until resume",
      examples: ["bosun pause", "bosun pause s-k3m9pa"],
      load: () => import("./pause.ts"),
    },
    stop: {
      decides: true,
      summary: "stop a running session; resume continues it",
      examples: ["bosun stop", 'bosun stop s-k3m9pa --reason "The server is down."'],
      load: () => import("./stop.ts"),
    },
    cancel: {
      decides: true,
      summary: "end a session, or one ticket",
      examples: ["bosun cancel s-k3m9pa build", 'bosun cancel s-k3m9pa --reason "No longer needed." --yes'],
      load: () => import("./cancel.ts"),
    },
    merge: {
      decides: true,
      summary: "bring what a session made into your branch",
      examples: ["bosun merge", "bosun merge s-k3m9pa --into result", "bosun merge --squash --pr"],
      load: () => import("./merge.ts"),
    },
    undo: {
      decides: true,
      summary: "take a session's merge back, and keep what came later",
      examples: ["bosun undo", "bosun undo s-k3m9pa"],
      load: async () => ({ register: (await import("./merge.ts")).registerUndo }),
    },
    discard: {
      decides: true,
      summary: "put what a session made into the trash, or bring it back",
      examples: ["bosun discard", "bosun discard s-k3m9pa --yes", "bosun discard --restore s-k3m9pa"],
      load: () => import("./discard.ts"),
    },
    rm: {
      decides: true,
      summary: "move closed sessions to the trash, or back",
      hidden: true,
      examples: ["bosun rm s-k3m9pa", "bosun rm --restore s-k3m9pa"],
      load: () => import("./rm.ts"),
    },
    prune: {
      decides: true,
      summary: "move old closed sessions to the trash; empty it",
      hidden: true,
      examples: ["bosun prune --dry-run", "bosun prune --older-than 7d", "bosun prune --purge"],
      load: async () => ({ register: (await import("./rm.ts")).registerPrune }),
    },
    scheduler: {
      summary: "runs one session without a terminal; run and resume start it",
      hidden: true,
      examples: ["bosun scheduler s-k3m9pa"],
      load: () => import("./scheduler.ts"),
    },
  },
  "Look:": {
    status: {
      summary: "the state of a session, or the list of all",
      examples: ["bosun status", "bosun status s-k3m9pa --json", "bosun status --all"],
      load: () => import("./status.ts"),
    },
    attach: {
      summary: "watch a running session, and answer it",
      examples: ["bosun attach", "bosun attach s-k3m9pa --reporter json"],
      load: () => import("./attach.ts"),
    },
    wait: {
      summary: "wait until a session has ended, for scripts",
      examples: ["bosun wait s-k3m9pa", "bosun wait s-k3m9pa --timeout 10m", "bosun wait --until input --json"],
      load: () => import("./wait.ts"),
    },
    inbox: {
      summary: "everything that needs a person",
      examples: ["bosun inbox", "bosun inbox --json"],
      load: () => import("./inbox.ts"),
    },
    log: {
      summary: "what happened, and what agents printed",
      examples: ["bosun log s-k3m9pa", "bosun log s-k3m9pa build", "bosun log -f s-k3m9pa build"],
      load: () => import("./log.ts"),
    },
    diff: {
      summary: "what a session, or one ticket, has changed",
      examples: ["bosun diff", "bosun diff s-k3m9pa build --stat", "bosun diff --tool meld"],
      load: () => import("./diff.ts"),
    },
    take: {
      summary: "where a ticket's copy is, to go on with it by hand",
      examples: ["bosun take build", "bosun take s-k3m9pa build"],
      load: () => import("./take.ts"),
    },
    give: {
      decides: true,
      summary: "hand in a ticket's work that you did in its copy",
      examples: ['bosun give build -m "Resolve the conflict."', "bosun give s-k3m9pa build"],
      load: async () => ({ register: (await import("./take.ts")).registerGive }),
    },
    notes: {
      summary: "what workers noted for each other",
      hidden: true,
      examples: ["bosun notes", "bosun notes s-k3m9pa --json"],
      load: () => import("./notes.ts"),
    },
    replay: {
      summary: "play or list the recorded messages; --verify proves them",
      examples: [
        "bosun replay logs/s-k3m9pa --speed 8",
        "bosun replay s-k3m9pa --verify",
        "bosun replay s-k3m9pa --ticket build --json",
      ],
      load: () => import("./replay.ts"),
    },
    report: {
      summary: "what a session did, as text or one HTML page",
      examples: ["bosun report", "bosun report s-k3m9pa --html report.html", "bosun report logs/s-k3m9pa --md"],
      load: () => import("./report.ts"),
    },
  },
  "Talk:": {
    ...Object.fromEntries(DESCRIPTORS.map((descriptor) => [beginningOf(descriptor), entryOf(descriptor)])),
    "meeting list": lookEntry("list", "the meetings there are", "bosun meeting list"),
    "meeting info": lookEntry(
      "info",
      "what a meeting is about, who takes part, and how it stands",
      "bosun meeting info k-3m9pa",
    ),
    "meeting read": lookEntry("read", "the messages of a meeting", "bosun meeting read k-3m9pa --type proposal"),
    "meeting tail": lookEntry("tail", "what happens in a meeting, as it happens", "bosun meeting tail k-3m9pa --json"),
    "meeting archive": lookEntry("archive", "put a closed meeting aside", "bosun meeting archive k-3m9pa"),
    "meeting invite": actEntry("invite", "ask somebody to take part", "bosun meeting invite k-3m9pa eve"),
    "meeting join": actEntry("join", "take part from outside; prints a token", "bosun meeting join k-3m9pa --as eve"),
    "meeting leave": actEntry("leave", "take part no more", "bosun meeting leave k-3m9pa --token TOKEN"),
    "meeting post": actEntry("post", "say something", 'bosun meeting post k-3m9pa --text "Indexes break."'),
    "meeting propose": actEntry(
      "propose",
      "propose something to be decided",
      'bosun meeting propose k-3m9pa --title "Keep it" --details "For a year."',
    ),
    "meeting vote": actEntry("vote", "vote on a proposal: yes, no or abstain", "bosun meeting vote k-3m9pa p1 yes"),
    "meeting state": actEntry(
      "state",
      "begin the discussion or the voting",
      'bosun meeting state k-3m9pa voting --reason "All is said."',
    ),
    "meeting close": actEntry(
      "close",
      "close it with a summary",
      'bosun meeting close k-3m9pa --summary "We keep it."',
    ),
  },
  "Crew:": {
    demo: {
      summary: "all that matters in half a minute, on a repository of its own",
      examples: ["bosun demo", "bosun demo --interactive"],
      load: () => import("./demo.ts"),
    },
    init: {
      summary: "write a crew and settings for this project",
      examples: ["bosun init", "bosun init --crew claude --yes"],
      load: () => import("./init.ts"),
    },
    trust: {
      decides: true,
      summary: "let a project's configuration run its commands",
      examples: ["bosun trust"],
      load: () => import("./trust.ts"),
    },
    doctor: {
      summary: "check that everything needed is available",
      examples: ["bosun doctor", "bosun doctor --crew claude --try"],
      load: () => import("./doctor.ts"),
    },
    rebuild: {
      summary: "make the database anew from the log folders",
      hidden: true,
      examples: ["bosun rebuild", "bosun rebuild s-k3m9pa"],
      load: () => import("./rebuild.ts"),
    },
    config: {
      summary: "the settings of a run, and where each comes from",
      examples: ["bosun config", "bosun config --crew claude --max-workers 8 --json"],
      load: () => import("./config.ts"),
    },
    conformance: {
      summary: "try an agent program of your own with every kind of turn",
      hidden: true,
      examples: [
        "bosun conformance --role worker -- python3 worker.py",
        "bosun conformance --role worker --case 'in pieces' --show -- python3 worker.py",
      ],
      load: () => import("./conformance.ts"),
    },
    roles: {
      summary: "the roles of a run",
      hidden: true,
      examples: ["bosun roles", "bosun roles --crew claude --json", "bosun roles --prompts turn"],
      load: () => import("./roles.ts"),
    },
    "agents build": {
      summary: "agents that a model plays, each in a file: a model writes one from a description",
      examples: [
        'bosun agents build --name architect --description "Minds scalability and technical debt."',
        'bosun agents build --name devops --description "关注部署复杂度和运维成本" --format yaml',
      ],
      load: async () => ({ register: (await import("./agents.ts")).registerBuild }),
    },
    "agents list": {
      summary: "the agents there are",
      examples: ["bosun agents list", "bosun agents list --agents-dir crew --json"],
      load: async () => ({ register: (await import("./agents.ts")).registerList }),
    },
    "agents show": {
      summary: "an agent as its file says it",
      examples: ["bosun agents show architect"],
      load: async () => ({ register: (await import("./agents.ts")).registerShow }),
    },
    "agents validate": {
      summary: "everything that is wrong with agent files",
      examples: ["bosun agents validate", "bosun agents validate architect devops"],
      load: async () => ({ register: (await import("./agents.ts")).registerValidate }),
    },
    "agents try": {
      summary: "one answer of an agent, as it comes",
      examples: ['bosun agents try architect "Which database fits ten writers?"'],
      load: async () => ({ register: (await import("./agents.ts")).registerTry }),
    },
    models: {
      summary: "the providers of models, and whether they answer",
      hidden: true,
      examples: ["bosun models", "bosun models --try --json"],
      load: () => import("./models.ts"),
    },
    mcp: {
      summary: "tools of sessions for editors and agents, by the Model Context Protocol",
      hidden: true,
      examples: ["bosun mcp"],
      load: () => import("./mcp.ts"),
    },
    completion: {
      summary: "print the script that completes commands in your shell",
      hidden: true,
      examples: [
        "bosun completion bash >> ~/.bashrc",
        'bosun completion zsh > "${fpath[1]}/_bosun"',
        "bosun completion fish > ~/.config/fish/completions/bosun.fish",
      ],
      load: () => import("./completion.ts"),
    },
  },
};

/** The command of a mode of the kit. */
function entryOf(descriptor: AnyDescriptor): Entry {
  const { summary, examples } = descriptor.command;
  const load = async () => ({ register: (await import("./driver/mode-command.ts")).commandOf(descriptor) });
  return { summary, examples, hidden: true, load };
}

/** A command by which somebody acts in a meeting from outside. */
function actEntry(name: string, summary: string, example: string): Entry {
  const load = async () => ({ register: (await import("./meeting.ts")).registerOf(name) });
  return { summary, examples: [example], hidden: true, load };
}

/** A command that shows meetings. */
function lookEntry(name: string, summary: string, example: string): Entry {
  const load = async () => ({ register: (await import("./meeting-look.ts")).registerOf(name) });
  return { summary, examples: [example], hidden: true, load };
}

/** A command as listed by help. */
export interface CommandEntry extends Entry {
  readonly name: string;
  readonly group: string;
}

export const CATALOGUE: readonly CommandEntry[] = Object.entries(GROUPS).flatMap(([group, entries]) =>
  Object.entries(entries).map(([name, entry]) => ({ name, group, ...entry })),
);
