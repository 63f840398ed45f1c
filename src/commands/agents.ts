import { type Command, Option } from "commander";
import { AGENTS_FOLDER, agentTemplates } from "../config/agent-files.ts";
import { ok } from "../lib/result.ts";
import { EXIT_DONE, EXIT_ENVIRONMENT, EXIT_FAILED } from "../runtime/exit.ts";
import { safeJson, safeLine, safeText } from "../ui/display.ts";
import { tableLines } from "../ui/table.ts";
import { tellNext } from "../ui/words.ts";
import type { Action } from "./context/command.ts";
import { builder, builtAgent, keepAgent } from "./driver/agent-builder.ts";
import { addressHere, asking, choiceOf, failed, participantAt, partOf, streamedAnswer } from "./driver/model-turn.ts";
import {
  addAgentsOption,
  agentNamed,
  agentsNamed,
  type AgentsOptions,
  newAgent,
  type NewAgentOptions,
} from "./options/agent-files.ts";

/** `bosun agents build`: a model writes an agent file from a description, or it is copied from a template. */
export function registerBuild(command: Command): Action<NewAgentOptions> {
  command
    .option("--description <text>", "what the agent is, in your words and language")
    .addOption(
      new Option("--from-template <name>", "one that is there, without a model").choices([...agentTemplates().keys()]),
    )
    .option("--name <id>", "its name, and its file's (default: the template's)")
    .option("--output-dir <directory>", "for the file", AGENTS_FOLDER)
    .addOption(new Option("--format <format>", "of the file").choices(["json", "yaml"]).default("json"))
    .option("--force", "replace the file if it exists")
    .option("--json", "one JSON value on stdout");
  return async (context, _words, options) => {
    const made = await newAgent(context, options);
    if (!made.ok) return made;
    const { path, name, description, template } = made.value;
    if (template) return keepAgent(context, options, path, { name, ...template });
    const address = addressHere(context);
    if (!address.ok) return address;
    return asking(context, options.json, async () => {
      const agent = await builtAgent(await participantAt(address.value, builder()), { name, description });
      return agent.ok
        ? keepAgent(context, options, path, agent.value)
        : failed(context, `${address.value.model} wrote no agent. ${agent.error}`, options.json);
    });
  };
}

function addReadOptions(command: Command): void {
  addAgentsOption(command);
  command.option("--json", "one JSON value on stdout");
}

/** `bosun agents list`: the agents there are, also those whose files cannot be used. */
export function registerList(command: Command): Action<AgentsOptions> {
  addReadOptions(command);
  return async (context, _words, options) => {
    const { out } = context.terminal;
    const found = await agentsNamed(context, options, []);
    if (!found.ok) return found;
    if (options.json === true) {
      const agents = found.value.map(({ name, file, agent }) =>
        agent.ok ? { name, file, role: agent.value.role } : { name, file, problem: agent.error.message },
      );
      out.line(safeJson({ agents }));
      return ok(EXIT_DONE);
    }
    const rows = found.value.map(({ name, file, agent }) => [
      name,
      agent.ok ? agent.value.role : "(cannot be used)",
      file,
    ]);
    const columns = [{ heading: "AGENT", width: 30 }, { heading: "ROLE", width: 40 }, { heading: "FILE" }];
    if (rows.length === 0) out.line("There are no agents yet.");
    else for (const line of tableLines(columns, rows, out.width)) out.line(line);
    const isBroken = found.value.some(({ agent }) => !agent.ok);
    if (rows.length === 0) tellNext(out, 'bosun agents build --name architect --description "…"');
    else tellNext(out, isBroken ? "bosun agents validate" : "bosun agents show NAME");
    return ok(EXIT_DONE);
  };
}

/** `bosun agents show`: an agent as its file says it. */
export function registerShow(command: Command): Action<AgentsOptions> {
  command.argument("<name>", "the agent's name");
  addReadOptions(command);
  return async (context, [name = ""], options) => {
    const { out } = context.terminal;
    const agent = await agentNamed(context, options, name);
    if (!agent.ok) return agent;
    if (options.json === true) {
      out.line(safeJson(agent.value));
      return ok(EXIT_DONE);
    }
    const { system_prompt, ...fields } = agent.value;
    for (const [key, value] of Object.entries(fields)) {
      const [first = "", ...more] = safeText(typeof value === "string" ? value : JSON.stringify(value)).split("\n");
      for (const line of [`${out.style("bold", key)}: ${first}`, ...more.map((one) => `  ${one}`)]) out.line(line);
    }
    out.line();
    for (const line of safeText(system_prompt).trimEnd().split("\n")) out.line(line);
    return ok(EXIT_DONE);
  };
}

/** `bosun agents validate`: everything that is wrong with agent files. */
export function registerValidate(command: Command): Action<AgentsOptions> {
  command.argument("[name...]", "agents (default: all)");
  addReadOptions(command);
  return async (context, names, options) => {
    const { out } = context.terminal;
    const found = await agentsNamed(context, options, names);
    if (!found.ok) return found;
    const isValid = found.value.every(({ agent }) => agent.ok);
    if (options.json === true) {
      const agents = found.value.map(({ name, file, agent }) => {
        const why = agent.ok ? {} : { message: agent.error.message, ...agent.error.details };
        return { name, file, ok: agent.ok, ...why };
      });
      out.line(safeJson({ ok: isValid, agents }));
    } else {
      for (const { name, file, agent } of found.value)
        if (agent.ok) out.line(`${out.style("green", "ok")}    ${safeLine(`${name}: ${file}`)}`);
        else for (const line of safeText(agent.error.message).split("\n")) out.line(line);
      if (found.value.length === 0) out.line("There are no agents yet.");
    }
    return ok(isValid ? EXIT_DONE : EXIT_ENVIRONMENT);
  };
}

/** `bosun agents try`: one answer of an agent, as it comes. */
export function registerTry(command: Command): Action<AgentsOptions> {
  command.argument("<name>", "the agent's name").argument("<prompt>", "what it is asked");
  addReadOptions(command);
  return async (context, [name = "", prompt = ""], options) => {
    const { out, err } = context.terminal;
    const found = await agentNamed(context, options, name);
    if (!found.ok) return found;
    const address = addressHere(context, choiceOf(found.value));
    if (!address.ok) return address;
    return asking(context, options.json, async () => {
      const participant = await participantAt(address.value, partOf(found.value));
      const isJson = options.json === true;
      const answer = await streamedAnswer(participant, prompt, (line) => isJson || out.line(safeLine(line)));
      const { lackIn } = await import("../protocol/content-check.ts");
      const unfit = lackIn(found.value.output_schema, answer.text);
      if (isJson) out.line(safeJson({ name, model: address.value.model, ...answer, unfit }));
      if (unfit !== undefined) err.line(err.style("yellow", safeLine(`It does not fit its output_schema: ${unfit}`)));
      return ok(unfit === undefined ? EXIT_DONE : EXIT_FAILED);
    });
  };
}
