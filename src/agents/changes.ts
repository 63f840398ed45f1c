import type { Agent, TurnRequest } from "../kernel/agent.ts";
import type { Git } from "../lib/git.ts";
import { repositoryRoot } from "../lib/git-directories.ts";

/** In characters. */
const MAX_STAT = 10_000;

/**
 * Tells reviewers what has changed in the workspace's repository since its last commit. It is read when the turn begins and not recorded. Programs that
 * speak envelopes get their request as it is recorded.
 */
export function tellingChanges(agent: Agent, environment: NodeJS.ProcessEnv): Agent {
  return { turn: async (request, context) => agent.turn(await withChanges(request, environment), context) };
}

async function withChanges(request: TurnRequest, environment: NodeJS.ProcessEnv): Promise<TurnRequest> {
  const { payload, role } = request;
  const { message, workspace } = payload;
  const speaksEnvelopes =
    role.backend !== "model" && role.backend !== "acp" && (role.dialect ?? "envelope") === "envelope";
  if (message.payload_type !== "review_request" || speaksEnvelopes || repositoryRoot(workspace) === undefined)
    return request;
  const { gitIn } = await import("../lib/git.ts");
  const run = (command: Parameters<Git>[1]) =>
    gitIn(environment)(workspace, command, { timeout: 10_000 }).catch(() => "");
  const [changed, added] = await Promise.all([
    run(["diff", "--stat=120", "--relative", "HEAD", "--", "."]),
    run(["ls-files", "--others", "--exclude-standard", "--", "."]),
  ]);
  const news = added.split("\n").filter((file) => file !== "");
  const text = [...news.map((file) => ` ${file} | not in git yet`), changed].join("\n").trimEnd();
  const diff_stat = text.slice(0, MAX_STAT).toWellFormed();
  if (diff_stat === "") return request;
  return { ...request, payload: { ...payload, message: { ...message, payload: { ...message.payload, diff_stat } } } };
}
