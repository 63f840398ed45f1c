import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { type Json, type JsonObject, listOf, objectOf } from "../../lib/json.ts";
import { textOf } from "../turn.ts";
import type { Finding } from "./finding.ts";
import { readFinding } from "./finding.ts";

/** What a step may know of the turn it works in: what the tasks before it made, and what was said of its own earlier tries. */
interface Request {
  /** Files that the direct dependencies made; of those a task made several times under one label, the last. */
  readonly artifacts: readonly Artifact[];
  /** The output of every check of this ticket that failed, oldest first. */
  readonly failed_checks: readonly { readonly command: string; readonly output: string }[];
}

/** A kept file: its own name says nothing, the label is what its maker called it. */
interface Artifact {
  readonly task_id: string;
  readonly label: string;
  readonly file: string;
}

/** The request named by `BOSUN_REQUEST_FILE`; undefined when a person runs the survey by hand. */
export async function readRequest(): Promise<Request | undefined> {
  const path = process.env["BOSUN_REQUEST_FILE"];
  if (path === undefined || path === "") return undefined;
  const envelope = objectOf(JSON.parse(await readFile(path, "utf8")) as Json);
  const context = objectOf(objectOf(envelope["payload"])["context"]);
  return {
    artifacts: listOf(context["dependencies"]).map(objectOf).flatMap(filesOf),
    failed_checks: listOf(context["history"]).map(objectOf).flatMap(failedChecks),
  };
}

function filesOf(dependency: JsonObject): Artifact[] {
  const task_id = textOf(dependency["task_id"]);
  const latest = new Map<string, Artifact>();
  for (const artifact of listOf(dependency["artifacts"]).map(objectOf)) {
    const uri = textOf(artifact["uri"]);
    const label = textOf(artifact["label"]);
    if (uri.startsWith("file://")) latest.set(label, { task_id, label, file: fileURLToPath(uri) });
  }
  return [...latest.values()];
}

/** A ticket's history names checks as results of their own, and again in the request for a review. */
function failedChecks(entry: JsonObject): { command: string; output: string }[] {
  const payload = objectOf(entry["payload"]);
  return [...listOf(payload["results"]), ...listOf(payload["checks"])]
    .map(objectOf)
    .filter((check) => check["passed"] === false)
    .map((check) => ({
      command: listOf(objectOf(check["criterion"])["command"]).map(textOf).join(" "),
      output: textOf(check["output"]),
    }));
}

/** The finding of one kind from a file given by hand, else from the dependencies; throws when there is none. */
export async function findingOf(kind: string, given: string | boolean | undefined): Promise<Finding> {
  if (typeof given === "string") return await readFinding(given);
  const request = await readRequest();
  const file = request?.artifacts.find((artifact) => artifact.label === `${kind}.json`)?.file;
  if (file !== undefined) return await readFinding(file);
  throw new Error(
    `there is no ${kind}.json to start from; make the task depend on the one that finds it, or name the file with --from`,
  );
}
