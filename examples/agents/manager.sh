#!/bin/sh
# A manager for Bosun's schedule mode. POSIX sh, with jq (1.6 or later) as the only helper.
#
# Bosun starts this program once for every turn. It reads one turn_request from stdin, answers with one envelope on
# stdout, and exits with 0. It remembers nothing between turns: the request holds all it knows.
#
#   requirement     asks one question; then, from the answer, makes the plan
#   ticket          gives the instruction, or its proposal when the request's `discuss` is true
#   report          of a proposal: gives the instruction; of a blocked ticket: passes the questions on to the person,
#                   then gives the instruction without the steps that could not be run
#   review_request  approves when every check passed, asks for changes otherwise
#   error           gives a new instruction once; gives up when the ticket comes back
#
#   CREW_PLAN          a JSON file with the payload of the plan; without it, the plan is a diamond of four tasks
#
# For tests:
#   CREW_MISBEHAVE     exit3                answers, then exits with 3
#                      hang                 never answers
#                      garbage              a broken line in place of the answer
#                      no_answer            exits with 0 and without an answer
#                      wrong_source         an answer in the name of another role
#                      report_from_manager  a report in place of the answer
#                      late                 a second, different answer after the first
#                      duplicate            the answer twice
#                      slow_drip            the answer in small pieces, over some seconds
#                      With `once:` in front, only when BOSUN_ATTEMPT is 1.
#   CREW_MISBEHAVE_ON  only for this ticket id, or this payload type of the message
set -u

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 143' HUP INT TERM
request=$tmp/request

# The jq functions that make the answers. The request is `.`.
words='
# On the wire a plain string may stand for an object that has only a text.
def text: if type == "object" then .text // "" else . end;
def context: .payload.context;
def expects($type): .payload.expects | index($type);
def requirement: context.requirement | text;
def task: context.ticket | (.task // .);
def argv: if type == "object" then .command // (.shell | values | ["sh", "-c", .]) // [] else [] end;

def question: {
  question_id: "reader", text: "Who will read the result?", why: "It decides what can be left unsaid.",
  options: ["everyone", "developers"], default: "everyone"
};
def reader: [context.clarifications // [] | .[].answer | text] | join("; ") | if . == "" then "everyone" else . end;

def new_task($id; $work; $dependencies): {
  task_id: $id,
  description: "\($work), for \(reader): \(requirement)",
  $dependencies,
  expected_outputs: ["\($id).txt"],
  acceptance_criteria: [{text: "\($id).txt is not empty", command: ["test", "-s", "\($id).txt"]}]
};
def diamond: {tasks: [
  new_task("outline"; "Write the outline"; []),
  new_task("words"; "Write the words"; ["outline"]),
  new_task("figures"; "Draw the figures"; ["outline"]),
  new_task("page"; "Put the page together"; ["words", "figures"])
]};

def write: "mkdir -p \"$(dirname \"$2\")\" && printf \"%s\\n\" \"$1\" >\"$2\"";

# The steps of the latest instruction of the ticket; at first, one that writes each expected output.
def steps:
  task as $task
  | (context.history // [] | map(select(.payload_type == "instruction").payload) | last) // $task.instruction
  | if type == "object" then .steps // []
    else [$task.expected_outputs // [] | .[] | text | {
      text: "Write \(.)", command: ["sh", "-c", write, "sh", $task.description, .]
    }] | if . == [] then [$task.description] else . end
    end;
def resources: [
  context.dependencies // [] | .[] | .task_id as $id | .outputs // [] | .[]
  | "\($id): \(if type == "object" then .uri // text else . end)"
];
def instruction($notes; $without): {
  summary: task.description,
  steps: ($notes + (steps | map(select(argv as $argv | any($without[]; . == $argv and $argv != []) | not)))),
  resources: resources
};

def on_requirement:
  if (context.clarifications // []) == [] and .payload.message.payload.status != "complete" and expects("clarification")
  then {clarification: {status: "open", questions: [question], intent_summary: requirement}}
  else {plan: ({summary: "\(requirement) (for \(reader))"} + ($plan[0] // diamond))}
  end;

def on_ticket:
  if .payload.discuss
  then {instruction_proposal: {summary: task.description, draft_steps: (steps | map(text)), risks: (task.risks // [])}}
  else {instruction: instruction([]; [])}
  end;

def on_report:
  .payload.message.payload as $report
  | (context.clarifications // [] | map({key: (.question | text), value: (.answer | text)}) | from_entries) as $answers
  | ($report.questions // [] | map(select($answers[.text] == null))) as $unanswered
  | if $report.status != "blocked" then {instruction: instruction([]; [])}
    elif $unanswered != [] and expects("clarification")
    then {clarification: {status: "open", questions: $unanswered}}
    else {instruction: instruction(
      $report.questions // [] | map("\(.text) \($answers[.text] // "As you think best.")");
      $report.evidence // [] | map(objects | select((.exit_code // 0) != 0) | .command)
    )}
    end;

def on_review_request:
  [.payload.message.payload.checks // [] | .[] | select(.passed | not).criterion | text] as $failed
  | if $failed == []
    then {review: {decision: "approved", notes: "Every check passed."}}
    else {review: {decision: "changes_requested", notes: "Checks failed.", requested_changes: $failed}}
    end;

# An instruction that answers an error says so in its metadata. The next error finds it in the history of the ticket.
def on_error:
  .payload.message.payload as $error
  | if any(context.history // [] | .[]; .payload.metadata.after_error) or context.ticket == null
    then {error: {code: $error.code, message: "Giving up: \($error.message)"}}
    else {instruction: (
      instruction(["The last attempts failed: \($error.message)"]; []) + {metadata: {after_error: true}}
    )}
    end;
'

# decide DEFINITION: makes the answer, an object with one entry: its type and its payload.
decide() { jq -c --slurpfile plan "$tmp/plan" "$words $1" "$request"; }

# say TYPE: prints one envelope, on one line; the payload comes on stdin.
say() {
  jq -c --arg type "$1" --slurpfile request "$request" '$request[0] as $r | {
    session_id: $r.session_id, source: $r.payload.role_id, target: "scheduler",
    payload_type: $type, version: "1.0", payload: (. + {turn_id: $r.payload.turn_id})
  }'
}

# answer TYPE: ends the turn. Without CREW_MISBEHAVE it is the same as `say`.
answer() {
  say "$1" >"$tmp/answer"
  [ -s "$tmp/answer" ] || exit 1
  case $awkward in
    garbage) echo '{"payload_type": "plan", "payload": {"tasks":' ;;
    no_answer) echo 'Nothing to say.' ;;
    wrong_source) jq -c '.source = "somebody-else"' "$tmp/answer" ;;
    report_from_manager) echo '{"status": "completed", "summary": "I did it myself"}' | say report ;;
    slow_drip)
      fold -b -w $(($(wc -c <"$tmp/answer") / 3 + 1)) "$tmp/answer" | while IFS= read -r piece; do
        printf '%s' "$piece"
        sleep 1
      done
      echo
      ;;
    *) cat "$tmp/answer" ;;
  esac
  case $awkward in
    duplicate) cat "$tmp/answer" ;;
    late) echo '{"code": "internal", "message": "A second thought, too late"}' | say error ;;
    exit3) exit 3 ;;
  esac
}

head -n 1 >"$request"
[ -s "$request" ] || exit 0 # end of file without a line: exit without working
message=$(jq -r .payload.message.payload_type "$request") || exit 1
jq -r '.payload.context.refused // [] | .[] | "refused before: \(.message)"' "$request" >&2

awkward=${CREW_MISBEHAVE-}
case $awkward in
  once:*) if [ "${BOSUN_ATTEMPT-}" = 1 ]; then awkward=${awkward#once:}; else awkward=; fi ;;
esac
case ${CREW_MISBEHAVE_ON-} in
  '' | "${BOSUN_TICKET_ID-}" | "$message") ;;
  *) awkward= ;;
esac
if [ "$awkward" = hang ]; then sleep 3600; fi

: >"$tmp/plan"
case $message in
  requirement | clarification_response)
    if [ -n "${CREW_PLAN-}" ]; then cat "$CREW_PLAN" >"$tmp/plan" || exit 1; fi
    decide on_requirement
    ;;
  ticket) decide on_ticket ;;
  report) decide on_report ;;
  review_request) decide on_review_request ;;
  error) decide on_error ;;
  *) jq -nc --arg message "A manager does not answer $message" '{error: {code: "not_permitted", $message}}' ;;
esac >"$tmp/decision" || exit 1
jq -c '.[]' "$tmp/decision" >"$tmp/payload"
answer "$(jq -r 'keys[0]' "$tmp/decision")" <"$tmp/payload"
exit 0
