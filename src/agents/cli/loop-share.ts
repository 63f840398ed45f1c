/** Bytes of output that are handled in one turn of the event loop. The line that exceeds them is still handled. */
const SHARE = 256 * 1024;

/** Bytes that each line counts in addition: what is done for a short one costs as much. */
const LINE = 2048;

type Waiting = readonly [handled: () => number, goOn: () => void];

let left = SHARE;
let renewal: NodeJS.Immediate | undefined;
let waiting: Waiting[] = [];

/** Whether more output may be handled in this turn of the event loop, which all programs share, however many flood and however dear their lines are. */
export function hasShare(): boolean {
  return left > 0;
}

export function countLine(bytes: number): void {
  left -= bytes + LINE;
  renewal ??= setImmediate(renew);
}

/** Calls `goOn` in a later turn of the loop, first for the program of which the least was `handled`: no flood delays a quiet one. */
export function awaitShare(...reader: Waiting): void {
  waiting.push(reader);
  renewal ??= setImmediate(renew);
}

function renew(): void {
  left = SHARE;
  renewal = undefined;
  const readers = waiting.toSorted(([a], [b]) => a() - b());
  waiting = [];
  for (const reader of readers) {
    if (hasShare()) reader[1]();
    else awaitShare(...reader);
  }
}
