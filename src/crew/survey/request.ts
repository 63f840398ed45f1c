import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Json, type JsonObject, listOf, objectOf, textWithin } from "../../lib/json.ts";
import { type Finding, readFinding } from "./finding.ts";

/** The start of `verify`'s sentence about a false claim. */
export const DISPROVED = "false claim:";

/**
 * The findings to start from: those of the task's dependencies or, if a person runs the survey without a request, those in the artifacts directory.
 * If a task made a file several times, the last one wins.
 */
export function earlierFindings(directory: string): Promise<Finding[]> {
  const request = requestOfTurn();
  const home = textWithin(request?.["home"]);
  const dependencies = listOf(objectOf(request?.["context"])["dependencies"]);
  const made = dependencies.flatMap((dependency) => {
    const artifacts = listOf(objectOf(dependency)["artifacts"]).map(objectOf);
    const latest = new Map(artifacts.map(({ label, uri }) => [textWithin(label), textWithin(uri)]));
    return [...latest].flatMap(([label, uri]) => (label.endsWith(".json") ? (pathOf(uri, home) ?? []) : []));
  });
  return Promise.all((request === undefined ? findingsIn(directory) : made).map(readFinding));
}

function findingsIn(directory: string): string[] {
  const names = existsSync(directory) ? readdirSync(directory) : [];
  return names.filter((name) => /(?<!^digest)\.json$/.test(name)).map((name) => join(directory, name));
}

/** Whether a check of an earlier attempt at this ticket found a false claim. */
export function wasDisproved(): boolean {
  const history = listOf(objectOf(requestOfTurn()?.["context"])["history"]);
  const payloads = history.map((entry) => objectOf(objectOf(entry)["payload"]));
  const checks = payloads.flatMap(({ results, checks: reviewed }) => [...listOf(results), ...listOf(reviewed)]);
  return checks.map(objectOf).some(({ passed, output }) => passed === false && textWithin(output).includes(DISPROVED));
}

/** The path of a kept artifact; undefined if it is not a local file. URIs are relative to the home; older ones are absolute. */
function pathOf(uri: string, home: string): string | undefined {
  if (uri.startsWith("file://")) return fileURLToPath(uri);
  return uri === "" || /^[a-z][a-z0-9+.-]*:/i.test(uri) ? undefined : join(home, uri);
}

/** The request of the turn in which this program runs. */
function requestOfTurn(): JsonObject | undefined {
  const path = process.env["BOSUN_REQUEST_FILE"] ?? "";
  return path === "" ? undefined : objectOf(objectOf(JSON.parse(readFileSync(path, "utf8")) as Json)["payload"]);
}
