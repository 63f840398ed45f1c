import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { basename, join } from "node:path";
import { listFolder, readFolder, recordIn } from "../log/reader.ts";
import { limitProblems, type Problem } from "../log/verify.ts";
import type { PayloadByType } from "../protocol/payload.ts";
import type { SessionPaths } from "./paths.ts";
import { MAX_ARTIFACT_BYTES } from "./turns/artifacts.ts";
import { isElsewhere } from "./turns/referenced-file.ts";

/** Number of bytes read at once. */
const PIECE_BYTES = 1024 * 1024;

/**
 * Compares a session's kept artifacts with their records. Older records hold absolute addresses from the time of keeping, so files are looked
 * up by name in the current artifacts directory. `verifyFolder` verifies the records themselves.
 */
export function artifactProblems({ log, artifacts }: Pick<SessionPaths, "log" | "artifacts">): readonly Problem[] {
  const listing = listFolder(log);
  if (!listing.ok) return [];
  const files = listing.value.files.filter(({ payload_type }) => payload_type === "artifact_ref");
  const problems: Problem[] = [];
  // Several records may name one file, which is read only once.
  const known = new Map<string, Found | string>();
  for (const { sequence, bytes } of readFolder(log, { files, foreign: [] })) {
    const kept = bytes === null ? undefined : keptIn(bytes);
    if (kept === undefined) continue;
    const path = join(artifacts, basename(kept.uri));
    const found = known.get(path) ?? look(path);
    known.set(path, found);
    const fault = faultOf(found, kept);
    if (fault === undefined) continue;
    const what = `The kept file ${path} is not the one in this record: ${fault}.`;
    problems.push({ sequence, what, fault: "kept" });
  }
  return limitProblems(problems);
}

type Kept = PayloadByType["artifact_ref"];

/** The reference to a kept file in a record; undefined for a reference elsewhere or a refused one. */
function keptIn(bytes: Buffer): Kept | undefined {
  const record = recordIn(bytes);
  if (record?.record.disposition !== "applied") return undefined;
  const kept = record.payload as unknown as Kept;
  return typeof kept.uri === "string" && !isElsewhere(kept.uri) ? kept : undefined;
}

/** A file's size and digest. Files larger than any artifact have no digest. */
interface Found {
  readonly size_bytes: number;
  readonly digest?: string;
}

/** How a file differs from its record; undefined if it does not. */
function faultOf(found: Found | string, kept: Kept): string | undefined {
  if (typeof found === "string") return found;
  if (found.size_bytes !== kept.size_bytes) return `it has ${found.size_bytes} bytes, not ${kept.size_bytes}`;
  if (found.digest === undefined) return "it is larger than an artifact can be";
  return found.digest === kept.digest ? undefined : `its digest is ${found.digest}, not ${kept.digest}`;
}

/** A file's size and digest, or why they are unknown. Never follows a link, waits for a pipe or reads a huge file. */
function look(path: string): Found | string {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  let file: number | undefined;
  try {
    file = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const stat = fstatSync(file);
    if (!stat.isFile()) return "it is not a plain file";
    if (stat.size > MAX_ARTIFACT_BYTES) return { size_bytes: stat.size };
    return { size_bytes: stat.size, digest: digestOf(file, stat.size) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    return code === "ENOENT" ? "it does not exist" : `it cannot be read (${code})`;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** The digest of the first `size` bytes, since the file may still grow. */
function digestOf(file: number, size: number): string {
  const hash = createHash("sha256");
  const piece = Buffer.allocUnsafe(Math.min(size, PIECE_BYTES));
  for (let left = size; left > 0; ) {
    const length = readSync(file, piece, 0, Math.min(left, piece.length), null);
    if (length === 0) break;
    hash.update(piece.subarray(0, length));
    left -= length;
  }
  return `sha256:${hash.digest("hex")}`;
}
