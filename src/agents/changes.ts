import { relative } from "node:path";
import type { Agent } from "../kernel/agent.ts";
import { changeAfter, listedChanges } from "../kernel/changes.ts";
import { defined } from "../lib/json.ts";
import type { ChangedFile, ChangedFiles } from "../protocol/record.ts";
import { permissionsOf } from "../protocol/roles.ts";
import { changesBetween, type Look, lookAt } from "./workspace-look.ts";

/** Of more subjects that ran at the same time, the others are not named. */
const MAX_NAMED = 20;

/** Tells at the end of each turn that may write which files of its workspace changed meanwhile, except in the `ignored` places. */
export function watchingChanges(environment: NodeJS.ProcessEnv, ignored: readonly string[]): (agent: Agent) => Agent {
  const watches = new Map<string, WorkspaceWatch>();
  return (agent) => ({
    turn: async (request, context) => {
      const { role, stamp, payload } = request;
      if (permissionsOf(role).write === "none") return agent.turn(request, context);
      const { workspace } = payload;
      const watch = watches.get(workspace) ?? new WorkspaceWatch(workspace, environment, ignored);
      watches.set(workspace, watch);
      const watched = await watch.begin(stamp.subject ?? role.role_id);
      const result = await agent.turn(request, context);
      return { ...result, ...defined({ changed_files: await watch.end(watched) }) };
    },
  });
}

/** A turn during which a workspace is watched. */
interface WatchedTurn {
  readonly subject: string;
  readonly changed: Map<string, ChangedFile>;
}

/** Looks at a workspace when turns begin and end. What changed between two looks is told of all turns that ran then. */
class WorkspaceWatch {
  readonly #look: (earlier: Look | undefined) => Promise<Look | undefined>;
  readonly #turns = new Set<WatchedTurn>();
  #last: Look | undefined;
  /** Set if a look found nothing out: the next ones would take as long. */
  #isOff = false;
  #looking: Promise<void> = Promise.resolve();
  /** The look that has not begun. All who ask for one meanwhile share it. */
  #next: Promise<void> | undefined;

  constructor(workspace: string, environment: NodeJS.ProcessEnv, places: readonly string[]) {
    const ignored = places.map((path) => relative(workspace, path)).filter((path) => !/^(?:\.\.(?:\/|$)|$)/.test(path));
    this.#look = (earlier) => lookAt(workspace, environment, ignored, earlier);
  }

  async begin(subject: string): Promise<WatchedTurn> {
    await this.#lookAgain();
    const turn = { subject, changed: new Map<string, ChangedFile>() };
    this.#turns.add(turn);
    return turn;
  }

  /** What changed since the turn began; undefined if nothing did, or if that is not known. */
  async end(turn: WatchedTurn): Promise<ChangedFiles | undefined> {
    await this.#lookAgain();
    this.#turns.delete(turn);
    return this.#isOff || turn.changed.size === 0 ? undefined : listedChanges([...turn.changed.values()]);
  }

  #lookAgain(): Promise<void> {
    this.#next ??= this.#looking.then(() => {
      this.#next = undefined;
      return (this.#looking = this.#compare());
    });
    return this.#next;
  }

  async #compare(): Promise<void> {
    if (this.#isOff) return;
    const before = this.#turns.size === 0 ? undefined : this.#last;
    const now = await this.#look(before);
    this.#last = now;
    this.#isOff = now === undefined;
    if (before === undefined || now === undefined) return;
    const subjects = [...new Set([...this.#turns].map(({ subject }) => subject))].toSorted();
    const changes = changesBetween(before, now);
    for (const { subject, changed } of this.#turns) {
      const others = subjects.filter((other) => other !== subject).slice(0, MAX_NAMED);
      for (const file of changes) {
        const known = changed.get(file.path);
        const change = changeAfter(known, file);
        changed.delete(file.path);
        // What a turn changed while it ran alone is its own, whoever changes it again.
        const isOwn = others.length === 0 || (known !== undefined && known.with === undefined);
        if (change !== undefined) changed.set(file.path, { path: file.path, change, ...(!isOwn && { with: others }) });
      }
    }
  }
}
