/** Longer words are not compared: no key or name is that long, and a comparison costs the product of both lengths. */
const MAX_COMPARED_LENGTH = 64;

/** Shorter prefixes match too much. */
const MIN_PREFIX_LENGTH = 3;

/**
 * The candidate most similar to a misspelt word, or else one that begins with it; undefined if none is near. Ignores case, `-`, `_` and
 * spaces. The first of equally near candidates wins.
 */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const wanted = plain(word);
  if (wanted === "" || wanted.length > MAX_COMPARED_LENGTH) return undefined;
  let best: string | undefined;
  let withPrefix: string | undefined;
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    const plainCandidate = plain(candidate);
    const distance = editDistance(wanted, plainCandidate, bestDistance);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
    if (wanted.length >= MIN_PREFIX_LENGTH && plainCandidate.startsWith(wanted)) withPrefix ??= candidate;
  }
  return best ?? withPrefix;
}

/** ` Did you mean X?` for the end of a message about an unknown word; empty if no candidate is near. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const meant = nearest(word, candidates);
  return meant === undefined ? "" : ` Did you mean ${meant}?`;
}

function plain(word: string): string {
  return word.toLowerCase().replace(/[-_\s]/g, "");
}

/**
 * The number of insertions, deletions, replacements and swaps of neighbours (optimal string alignment), at most `limit`.
 * https://en.wikipedia.org/wiki/Damerau%E2%80%93Levenshtein_distance#Optimal_string_alignment_distance
 */
function editDistance(from: string, to: string, limit: number): number {
  if (Math.abs(from.length - to.length) >= limit) return limit;
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      let cost = Math.min(
        at(previous, column) + 1,
        at(current, column - 1) + 1,
        at(previous, column - 1) + (same ? 0 : 1),
      );
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (swapped) cost = Math.min(cost, at(beforePrevious, column - 2) + 1);
      current.push(cost);
    }
    beforePrevious = previous;
    previous = current;
  }
  return Math.min(limit, at(previous, to.length));
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
