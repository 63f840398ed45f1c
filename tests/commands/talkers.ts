import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../src/lib/json.ts";
import type { PayloadByType } from "../../src/protocol/payload.ts";
import type { Rig } from "./rig.ts";

type Request = PayloadByType["turn_request"];

/**
 * What an agent in shell does: it keeps its request in the workspace, and answers with the next line of the file `<role>.says`, or else
 * with its name. A line `fail` ends it without an answer.
 */
const AGENT = `
IFS= read -r request
printf '%s\\n' "$request" >>requests
line=
if test -e "$BOSUN_ROLE_ID.says"; then
  line=$(head -n 1 "$BOSUN_ROLE_ID.says")
  tail -n +2 "$BOSUN_ROLE_ID.says" >left.$$ && mv left.$$ "$BOSUN_ROLE_ID.says"
fi
test "$line" = fail && exit 3
test -n "$line" || line='{"status":"completed","summary":"'$BOSUN_ROLE_ID' speaks.","usage":{"input_tokens":3,"output_tokens":2}}'
printf '{"session_id":"%s","source":"%s","target":"scheduler","payload_type":"report","version":"1.0","payload":%s}\\n' "$BOSUN_SESSION_ID" "$BOSUN_ROLE_ID" "$line"
`;

/** The options that name a registry of roles, which answer as these lines say. */
export function talkers(here: Rig, roles: Readonly<Record<string, readonly (JsonObject | "fail")[]>>): string[] {
  const agent = here.write("agent.sh", AGENT);
  const crew = Object.keys(roles).map((role_id) => ({
    role_id,
    type: "participant",
    cli_command: ["sh", agent],
    sandbox: "none",
  }));
  for (const [role_id, lines] of Object.entries(roles))
    if (lines.length > 0)
      here.write(
        join("workspace", `${role_id}.says`),
        lines.map((line) => `${line === "fail" ? line : JSON.stringify(line)}\n`).join(""),
      );
  return ["--roles", here.write("talkers.json", JSON.stringify({ roles: crew }))];
}

/** The report with this text. */
export function saying(summary: string, more: JsonObject = {}): JsonObject {
  return { status: "completed", summary, ...more };
}

/** The requests that agents got, in order. */
export function requestsIn(here: Rig): Request[] {
  const lines = readFileSync(join(here.workspace, "requests"), "utf8").trimEnd().split("\n");
  return lines.map((line) => (JSON.parse(line) as { payload: Request }).payload);
}
