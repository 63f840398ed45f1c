interface Scoped {
  readonly task_id: string;
  readonly writes?: readonly string[];
}

/** Groups of tasks, by their ids, each of which may change a file that another of its group may change. */
export function overlapsOf(tasks: readonly Scoped[]): string[][] {
  let groups: Scoped[][] = [];
  for (const task of tasks) {
    const isNear = (group: readonly Scoped[]) => group.some(({ writes }) => overlap(writes, task.writes));
    groups = [...groups.filter((group) => !isNear(group)), [...groups.filter(isNear).flat(), task]];
  }
  return groups.filter(({ length }) => length > 1).map((group) => group.map(({ task_id }) => task_id));
}

/** Whether some file may fit globs of both lists: whether what stands before the first wildcard of one leads into the other. */
export function overlap(some: readonly string[] = [], others: readonly string[] = []): boolean {
  return some.some((one) => others.some((other) => mayMeet(one, other)));
}

function mayMeet(one: string, other: string): boolean {
  const [a, b] = [literalPart(one), literalPart(other)];
  if (a === one && b === other) return one === other;
  return a === one ? a.startsWith(b) : b === other ? b.startsWith(a) : a.startsWith(b) || b.startsWith(a);
}

function literalPart(glob: string): string {
  return glob.slice(0, /[*?[]/.exec(glob)?.index ?? glob.length);
}
