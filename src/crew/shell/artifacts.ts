import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { extname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { JsonObject } from "../../lib/json.ts";

/** Maximum number of artifacts. The report counts the files beyond it. */
const MAX_ARTIFACTS = 200;
const MAX_ENTRIES = 20_000;
const MAX_URI_LENGTH = 4096;

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".csv": "text/csv",
  ".diff": "text/x-diff",
  ".html": "text/html",
  ".json": "application/json",
  ".log": "text/plain",
  ".md": "text/markdown",
  ".ndjson": "application/x-ndjson",
  ".patch": "text/x-diff",
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain",
  ".xml": "application/xml",
  ".yaml": "application/yaml",
  ".yml": "application/yaml",
};

/** The files of a directory, each with a mark that changes when the file is written. */
export type Snapshot = ReadonlyMap<string, string>;

/** The regular files below `directory`, by relative path. Does not follow symbolic links. Empty if there is no such directory. */
export async function snapshot(directory: string): Promise<Snapshot> {
  const marks = new Map<string, string>();
  const waiting = [""];
  for (let folder = waiting.pop(); folder !== undefined && marks.size < MAX_ENTRIES; folder = waiting.pop()) {
    const entries = await readdir(join(directory, folder), { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) waiting.push(path);
      if (!entry.isFile()) continue;
      const about = await lstat(join(directory, path), { bigint: true }).catch(() => undefined);
      if (about !== undefined) marks.set(path, `${about.ino}:${about.size}:${about.mtimeNs}:${about.ctimeNs}`);
    }
  }
  return marks;
}

/** The artifacts that have appeared or changed since `before`, and issues about those left out. */
export async function changedArtifacts(
  directory: string,
  before: Snapshot,
): Promise<{ artifacts: JsonObject[]; issues: string[] }> {
  const after = await snapshot(directory);
  const changed = [...after.keys()].filter((path) => after.get(path) !== before.get(path)).toSorted();
  const artifacts: JsonObject[] = [];
  const issues: string[] = [];
  for (const path of changed.slice(0, MAX_ARTIFACTS)) {
    try {
      artifacts.push(await reference(directory, path));
    } catch (error) {
      issues.push(`${path} was not registered as an artifact: ${(error as Error).message}`);
    }
  }
  if (changed.length > MAX_ARTIFACTS) {
    issues.push(
      `${changed.length - MAX_ARTIFACTS} more files in the artifacts directory were not registered; pack them into one`,
    );
  }
  return { artifacts, issues };
}

async function reference(directory: string, path: string): Promise<JsonObject> {
  const hash = createHash("sha256");
  let size = 0;
  for await (const chunk of createReadStream(join(directory, path)) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    size += chunk.length;
  }
  // A name that is the same as a URI and as a path is kept; any other becomes an absolute URI.
  const plain = /^[\w.][\w./-]*$/.test(path);
  const uri = plain ? path : pathToFileURL(join(directory, path)).href;
  if (uri.length > MAX_URI_LENGTH) throw new Error("its name is too long to report");
  return {
    label: path.slice(0, 500).toWellFormed(),
    uri,
    digest: `sha256:${hash.digest("hex")}`,
    content_type: CONTENT_TYPES[extname(path).toLowerCase()] ?? "application/octet-stream",
    size_bytes: size,
  };
}
