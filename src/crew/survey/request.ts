import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Json, type JsonObject, listOf, objectOf, textWithin } from "../../lib/json.ts";
import { pathOf } from "../kept-file.ts";
import { type Finding, readFinding } from "./finding.ts";

/** The start of `verify`'s sentence about a false claim. */
export const DISPROVED = "false claim:";

/**
 * The findings to start from: those of the task's dependencies or, if a person runs the survey without a request, those in the artifacts directory.
 */
export async function earlierFindings(directory: string): Promise<Finding[]> {
  const request = await requestOfTurn();
  const files = request === undefined ? await findingsIn(directory) : artifactsOf(request);
  return Promise.all(files.map(readFinding));
}

/** Whether a check of an earlier attempt at this ticket found a false claim. */
export async function wasDisproved(): Promise<boolean> {
  const payloads = listOf(contextOf((await requestOfTurn()) ?? {})["history"]).map((entry) =>
    objectOf(objectOf(entry)["payload"]),
  );
  const checks = payloads.flatMap((payload) => [...listOf(payload["results"]), ...listOf(payload["checks"])]);
  return checks.map(objectOf).some(({ passed, output }) => passed === false && textWithin(output).includes(DISPROVED));
}

/** The request of the turn in which this program runs. */
async function requestOfTurn(): Promise<JsonObject | undefined> {
  const path = process.env["BOSUN_REQUEST_FILE"];
  if (path === undefined || path === "") return undefined;
  const envelope = objectOf(JSON.parse(await readFile(path, "utf8")) as Json);
  return objectOf(envelope["payload"]);
}

function contextOf(request: JsonObject): JsonObject {
  return objectOf(request["context"]);
}

/** The files that the dependencies made. If a task made one several times, the last one wins. */
function artifactsOf(request: JsonObject): string[] {
  const home = textWithin(request["home"]);
  return listOf(contextOf(request)["dependencies"]).flatMap((dependency) => {
    const artifacts = listOf(objectOf(dependency)["artifacts"]).map(objectOf);
    const latest = new Map(artifacts.map(({ label, uri }) => [textWithin(label), textWithin(uri)]));
    const findings = [...latest].filter(([label]) => label.endsWith(".json"));
    return findings.flatMap(([, uri]) => pathOf(uri, home) ?? []);
  });
}

async function findingsIn(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch(() => []);
  return names.filter((name) => /(?<!^digest)\.json$/.test(name)).map((name) => join(directory, name));
}
