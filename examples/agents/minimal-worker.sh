#!/bin/sh
# The smallest worker: one turn_request in, one report out.
request=$(head -n 1)
[ -n "$request" ] || exit 0 # end of file without a line: exit without working
echo "working on ticket $BOSUN_TICKET_ID" # any line that is no envelope is console text
# The work of an instruction goes here: the current directory is the workspace.
printf '%s\n' "$request" | jq -c '.payload.message as $asked | {
  session_id, source: .payload.role_id, target: "scheduler", payload_type: "report", version: "1.0",
  payload: {
    status: (if $asked.payload_type == "instruction_proposal" then "proposal" else "completed" end),
    summary: "Understood: \($asked.payload.summary)"
  }
}'
