/** Pairs of tasks, each by its id, that name files which both may change. */
export function overlapsOf(
  tasks: readonly { readonly task_id: string; readonly writes?: readonly string[] }[],
): (readonly [string, string])[] {
  const scoped = tasks.filter(({ writes }) => writes?.length);
  return scoped.flatMap(({ task_id, writes }, at) =>
    scoped.slice(at + 1).flatMap((other) => (overlap(writes, other.writes) ? [[task_id, other.task_id] as const] : [])),
  );
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
