import { CREW, shell } from "./roles.ts";
import { criterion, task } from "./crew.ts";
import type { Role } from "../../src/protocol/roles.ts";

const work = (id: string, ...dependencies: string[]) =>
  task(id, dependencies, {
    expected_outputs: [`${id}.txt`],
    acceptance_criteria: [criterion("sh", "-c", `test -s ${id}.txt && sleep 0.01`)],
    instruction: { summary: `Write ${id}.txt` },
  });

/** Two that anybody may begin with, two that join them, and one after all. */
export const TASKS = [work("a"), work("b"), work("c", "a"), work("d", "a", "b"), work("e", "c", "d")];

/**
 * A worker that takes a lock of its ticket's and says when it finds it held by a process that lives. A stopped one lets
 * go of it by dying (a zombie that nobody has reaped does no work), so only two at once can meet. Where somebody put a
 * \`hold\` file, it hangs once.
 */
const SCRIPT = `
lock=lock.$BOSUN_TICKET_ID
if ! (set -C; echo $$ >"$lock") 2>/dev/null; then
  other=$(cat "$lock")
  case $(ps -o stat= -p "$other") in '' | Z*) ;; *) echo "double $BOSUN_TICKET_ID $$ $other" >>marks ;; esac
  echo $$ >"$lock"
fi
echo "start $BOSUN_TICKET_ID $$" >>marks
if mv "hold.$BOSUN_TICKET_ID" "held.$BOSUN_TICKET_ID" 2>/dev/null; then sleep 3600; fi
sleep 0.05
echo "$BOSUN_TICKET_ID" >"$BOSUN_TICKET_ID.txt"
say artifact_ref '{"label":"'$BOSUN_TICKET_ID'.txt","uri":"'$BOSUN_TICKET_ID'.txt"}'
echo "end $BOSUN_TICKET_ID $$" >>marks
rm -f "$lock"
say report '{"status":"completed","summary":"Written.","outputs":["'$BOSUN_TICKET_ID'.txt"],"usage":{"input_tokens":5}}'
`;

export function crashCrew(worker: Pick<Role, "recovery"> = {}): Role[] {
  return CREW.map((role) => (role.type === "worker" ? { ...role, ...worker, cli_command: shell(SCRIPT) } : role));
}
