import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, isAbsolute, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Answer } from "../kernel/agent.ts";
import type { AttachedField } from "../kernel/mode.ts";
import type { JsonObject } from "../lib/json.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { validatePayload } from "../protocol/envelope.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { MAX_DEPTH, parseLine } from "../protocol/limits.ts";
import type { PayloadByType } from "../protocol/payload.ts";
import type { ArtifactRow } from "../store/store.ts";
import { attempt } from "../log/attempt.ts";
import { makeWorkDirectory } from "../agents/work-directory.ts";
import type { SessionPaths } from "./paths.ts";

/** The largest file that may stand for a field of an answer, in bytes: all of it goes into the record. */
const MAX_ATTACHED_BYTES = 64 * 1024 * 1024;

/** The largest file that is kept, in bytes. */
const MAX_ARTIFACT_BYTES = 256 * 1024 * 1024;

type Request = PayloadByType["turn_request"];

/** A kept file: what is recorded of it, and its row. */
export interface KeptArtifact {
  readonly payload: JsonObject;
  readonly row: Omit<ArtifactRow, "sequence">;
}

/**
 * Copies the file an agent names into the session's artifacts, digests and measures the copy. Fails with `validation_failed` for
 * a path outside its places, anything but a plain file, or a digest or size that disagrees. A reference elsewhere (https, say)
 * is recorded as it is; what turn it belongs to stands in the record.
 */
export async function keepArtifact(
  payload: JsonObject,
  request: Request,
  paths: SessionPaths,
): Promise<Result<KeptArtifact, Failure>> {
  const { turn_id: _turn, ticket_id: _subject, ...reference } = payload as unknown as PayloadByType["artifact_ref"];
  const { label, uri, content_type } = reference;
  if (/^[a-z][a-z0-9+.-]*:/i.test(uri) && !uri.startsWith("file:")) {
    return ok({
      payload: reference,
      row: { label, uri, path: "", digest: reference.digest ?? "", size_bytes: reference.size_bytes ?? 0 },
    });
  }
  const read = readReferenced(reference, request);
  if (!read.ok) return read;
  const { bytes, name, hex } = read.value;
  const digest = `sha256:${hex}`;
  const made = makeWorkDirectory(paths.artifacts);
  if (!made.ok) return made;
  const path = join(paths.artifacts, `${hex.slice(0, 16)}-${name}`);
  const written = attempt(
    paths.artifacts,
    () => {
      writeFileSync(`${path}.tmp`, bytes);
      renameSync(`${path}.tmp`, path);
      return ok(undefined);
    },
    "The artifact",
  );
  if (!written.ok) return written;
  return ok({
    payload: {
      ...(reference as unknown as JsonObject),
      uri: pathToFileURL(path).href,
      digest,
      size_bytes: bytes.length,
    },
    row: {
      label,
      uri,
      path: join("sessions", basename(paths.folder), "artifacts", basename(path)),
      digest,
      size_bytes: bytes.length,
      ...(content_type === undefined ? {} : { content_type }),
    },
  });
}

/** An answer may bring one of its fields as a file, if its mode says so; the record holds the field, so that it needs no other. */
export function inlineField(
  answer: Answer,
  attached: AttachedField | undefined,
  request: Request,
): Result<JsonObject, Failure> {
  if (!attached) return ok(answer.payload);
  const reference = answer.payload[attached.reference] as Referenced | undefined;
  if (reference === undefined || answer.payload[attached.field] !== undefined) return ok(answer.payload);
  const read = readReferenced(reference, request);
  if (!read.ok) return read;
  // A file is as little to be trusted as a line, so it passes the same gate, as the one member of an object.
  const member = Buffer.concat([Buffer.from('{"content":'), read.value.bytes, Buffer.from("}")]);
  const parsed = parseLine(member, { bytes: MAX_ATTACHED_BYTES, depth: MAX_DEPTH });
  if (!parsed.ok) return wrong(reference.uri, parsed.error.message);
  const { content } = parsed.value;
  const { [attached.reference]: _, ...rest } = answer.payload;
  const field = Array.isArray(content) ? content : (content as JsonObject | null)?.[attached.field];
  const checked = validatePayload(answer.payload_type, { ...rest, [attached.field]: field });
  if (!checked.ok) return wrong(reference.uri, checked.error.message);
  return ok(checked.value as unknown as JsonObject);
}

type Referenced = Pick<PayloadByType["artifact_ref"], "uri" | "digest" | "size_bytes">;

/** The file that a reference names, if it is what the reference says of it. */
function readReferenced(
  { uri, digest, size_bytes }: Referenced,
  request: Request,
): Result<{ bytes: Buffer; name: string; hex: string }, Failure> {
  const read = readBelow(uri, request);
  if (!read.ok) return read;
  const { bytes } = read.value;
  const hex = createHash("sha256").update(bytes).digest("hex");
  if (digest !== undefined && digest !== `sha256:${hex}`)
    return wrong(uri, `its digest is sha256:${hex}, not ${digest}`);
  if (size_bytes !== undefined && size_bytes !== bytes.length) {
    return wrong(uri, `it has ${bytes.length} bytes, not ${size_bytes}`);
  }
  return ok({ ...read.value, hex });
}

function readBelow(uri: string, request: Request): Result<{ bytes: Buffer; name: string }, Failure> {
  let path: string;
  try {
    path = uri.startsWith("file:") ? fileURLToPath(uri) : uri;
  } catch {
    return wrong(uri, "it is not a file address");
  }
  for (const root of [request.artifacts_dir, request.workspace]) {
    const inside = isAbsolute(path) ? relative(root, path) : path;
    // The person may name a link as the workspace; the artifacts directory is ours, and a link in its place is an agent's.
    const opened = openBelow(root, inside, root === request.workspace ? 0 : constants.O_NOFOLLOW);
    if (opened === undefined) continue;
    try {
      const stat = fstatSync(opened);
      if (!stat.isFile()) return wrong(uri, "it is not a plain file");
      if (stat.nlink > 1) return wrong(uri, "it is a hard link");
      if (stat.size > MAX_ARTIFACT_BYTES) return wrong(uri, `it has more than ${MAX_ARTIFACT_BYTES} bytes`);
      return ok({ bytes: readFileSync(opened), name: safeName(path) });
    } finally {
      closeSync(opened);
    }
  }
  return wrong(uri, "there is no such plain file in the artifacts directory or the workspace");
}

/**
 * Opens a path below a trusted directory, one component after the other, each relative to the descriptor of the one before and
 * none through a symbolic link: checking a path and opening it afterwards can be raced. Without /proc (macOS) the whole path is
 * opened at once, which a link in the middle can lead astray; `doctor` names that.
 */
function openBelow(root: string, path: string, root_flags: number): number | undefined {
  const parts = path.split("/").filter((part) => part !== ".");
  if (path.length > 1024 || path.includes("\0") || parts.some((part) => part === "" || part === "..")) return undefined;
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
  if (process.platform !== "linux")
    return openedBy(() => openSync(join(root, path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  let current = openedBy(() => openSync(root, O_RDONLY | O_DIRECTORY | root_flags));
  for (const [index, part] of parts.entries()) {
    if (current === undefined) return undefined;
    const parent: number = current;
    const flags = index < parts.length - 1 ? O_RDONLY | O_NOFOLLOW | O_DIRECTORY : O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
    current = openedBy(() => openSync(`/proc/self/fd/${parent}/${part}`, flags));
    closeSync(parent);
  }
  return current;
}

function openedBy(open: () => number): number | undefined {
  try {
    return open();
  } catch {
    return undefined;
  }
}

function safeName(path: string): string {
  return basename(path)
    .replaceAll(/[^A-Za-z0-9._-]/g, "_")
    .slice(-100);
}

function wrong(uri: string, why: string): Result<never, Failure> {
  return err(failure("validation_failed", `The artifact ${JSON.stringify(uri)} cannot be kept: ${why}.`));
}
