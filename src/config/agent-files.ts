import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { isDirectory, shipped } from "../lib/files.ts";
import { defined } from "../lib/json.ts";
import { err, ok } from "../lib/result.ts";
import type { Finding } from "../protocol/document/problem.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import type { DocumentByName } from "../protocol/generated/types.ts";
import type { Role } from "../protocol/roles.ts";
import { findingsFailure, loadDocument, problemsFailure } from "./document.ts";
import { EXTENSIONS, pathsIn } from "./found.ts";
import { RESERVED } from "./roles.ts";
import { checkSchema, contentFindings } from "./schema-check.ts";

/** A participant that a model plays, as its file says it. */
export type AgentFile = DocumentByName["agent_file"];

/** Where agent files are, from the working directory. */
export const AGENTS_FOLDER = "agents";

/** The shipped templates of agents, by name. A new one is an entry in their file. */
export function agentTemplates(): ReadonlyMap<string, Omit<AgentFile, "name">> {
  const text = readFileSync(shipped("config", "agent-templates.json"), "utf8");
  return new Map(Object.entries(JSON.parse(text) as Record<string, Omit<AgentFile, "name">>));
}

/** The agent files of a folder by the names of their agents, without a look into any. Failure `configuration` if the folder cannot be read. */
export function agentFilesIn(folder: string): Fallible<Map<string, readonly string[]>> {
  const paths = pathsIn(folder);
  if (!paths.ok) return paths;
  const files = paths.value.filter((path) => EXTENSIONS.includes(extname(path)) && !basename(path).startsWith("."));
  return ok(Map.groupBy(files, agentIn));
}

function agentIn(path: string): string {
  return basename(path, extname(path));
}

/** Reads the file of an agent, one of `agentFilesIn`. Failure `configuration`, with every problem of it. */
export async function readAgentFile([path = "", other]: readonly string[]): Promise<Fallible<AgentFile>> {
  if (other !== undefined) {
    const what = `The agent "${agentIn(path)}" is in two files: ${path} and ${other}.`;
    return fails("configuration", what, { hint: "Remove one of them." });
  }
  const document = loadDocument(path);
  if (!document.ok) return err(problemsFailure([document.error]));
  const findings = await agentFindings(document.value.value, agentIn(path));
  return findings.length > 0
    ? err(findingsFailure(document.value, findings))
    : ok(document.value.value as unknown as AgentFile);
}

/** Everything that is wrong with the content of the agent file of this name. */
export async function agentFindings(value: Parameters<typeof checkSchema>[1], name: string): Promise<Finding[]> {
  const broken = await checkSchema("agent_file", value);
  if (broken.length > 0) return broken;
  const agent = value as unknown as AgentFile;
  const what = `this file of the agent "${name}" names "${agent.name}"`;
  const other =
    agent.name === name ? [] : [{ pointer: "/name", what, expected: `"${name}", or another name of the file` }];
  const taken = RESERVED.includes(name) ? [{ pointer: "/name", what: `"${name}" is no name of an agent` }] : [];
  return [...other, ...taken, ...(await contentFindings(agent, ""))];
}

export function roleOfAgent({ name, role, description, input_schema, output_schema, ...model }: AgentFile): Role {
  const schemas = { input_schema: input_schema || undefined, output_schema: output_schema || undefined };
  const metadata = description === undefined ? undefined : { description };
  return {
    role_id: name,
    display_name: role,
    type: "participant",
    backend: "model",
    ...model,
    ...defined({ ...schemas, metadata }),
  };
}

/** Writes an agent file whole or not at all; over another one only if it `replaces` it. Failures: `usage` for one that is there, `environment`. */
export function writeAgentFile(path: string, text: string, replaces: boolean): Fallible<void> {
  const partial = join(dirname(path), `.${basename(path)}.${process.pid}.tmp`);
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(partial, text, { flag: "wx" });
    if (replaces) renameSync(partial, path);
    // Fails if the file was created meanwhile.
    else linkSync(partial, path);
    return ok(undefined);
  } catch (error) {
    const { code = "", syscall } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && syscall === "link")
      return fails("usage", `${path} exists already.`, { hint: "Replace it with --force." });
    return fails("environment", `${path} cannot be written (${code}).`, {
      hint: "Name a folder that you may write to.",
    });
  } finally {
    if (isDirectory(dirname(path))) rmSync(partial, { force: true });
  }
}

/** An agent as the text of its file, by the file's name. */
export async function agentText(path: string, agent: AgentFile): Promise<string> {
  if (extname(path) === ".json") return `${JSON.stringify(agent, null, 2)}\n`;
  const { stringify } = await import("yaml");
  return stringify(agent, { lineWidth: 0 });
}
