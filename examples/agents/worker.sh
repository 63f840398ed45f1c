#!/bin/sh
# A worker for Bosun's schedule mode. POSIX sh, with jq (1.6 or later) as the only helper.
#
# Bosun starts this program once for every turn. It reads one turn_request from stdin, answers with one envelope on
# stdout, and exits with 0.
#
#   instruction           runs the steps in the workspace, one after the other, until one fails; then reports
#                         `completed`, `error` (a step failed) or `blocked` with a question (a program is missing)
#   instruction_proposal  reports `proposal`: agrees with the draft
#
# A step's `command` or `shell` is run, a step of plain text is noted. What the steps print goes to stderr: on stdout a
# line of theirs could be taken for an envelope. The files among the task's expected outputs become artifacts.
#
# For tests:
#   CREW_MISBEHAVE     exit3             answers, then exits with 3
#                      hang              never answers
#                      garbage           a broken line in place of the answer
#                      no_answer         exits with 0 and without an answer
#                      wrong_source      an answer in the name of another role
#                      plan_from_worker  a plan in place of the report
#                      late              a second, different answer after the first
#                      duplicate         the answer twice
#                      slow_drip         the answer in small pieces, over some seconds
#                      With `once:` in front, only when BOSUN_ATTEMPT is 1.
#   CREW_MISBEHAVE_ON  only for this ticket id, or this payload type of the message
set -u

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 143' HUP INT TERM
request=$tmp/request

# On the wire a plain string may stand for an object that has only a text.
words='def text: if type == "object" then .text // "" else . end; '

# ask FILTER: reads something from the request.
ask() { jq -r "$words $1" "$request"; }

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
    garbage) echo '{"payload_type": "report", "payload": {"status":' ;;
    no_answer) echo 'Nothing to say.' ;;
    wrong_source) jq -c '.source = "somebody-else"' "$tmp/answer" ;;
    plan_from_worker) echo '{"tasks": [{"task_id": "mine", "description": "What the worker wants"}]}' | say plan ;;
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

# carry_out: runs the steps; leaves the evidence in a file, and in `outcome` how it went.
carry_out() {
  outcome=completed
  : >"$tmp/evidence"
  count=$(ask '.payload.message.payload.steps // [] | length')
  number=0
  while [ "$number" -lt "$count" ] && [ $outcome = completed ]; do
    ask ".payload.message.payload.steps[$number] | if type == \"object\" then . else {text: .} end" >"$tmp/step"
    number=$((number + 1))
    jq -c '.command // (.shell | values | ["sh", "-c", .]) // []' "$tmp/step" >"$tmp/argv"
    name=$(jq -r --slurpfile argv "$tmp/argv" '.text // ($argv[0] | join(" "))' "$tmp/step")
    eval "set -- $(jq -r @sh "$tmp/argv")"
    if [ $# -eq 0 ]; then
      jq -nc --arg name "$name" '"Noted: " + $name' >>"$tmp/evidence"
      continue
    fi
    jq -nc --arg summary "Step $number of $count: $name" '{status: "progress", $summary}' | say report
    { (exec "$@") </dev/null 2>&1; echo $? >"$tmp/code"; } | tee "$tmp/output" >&2
    code=$(cat "$tmp/code")
    tail -c 2000 "$tmp/output" | jq -Rsc --arg text "$name" --slurpfile command "$tmp/argv" --argjson code "$code" \
      '{$text, command: $command[0], exit_code: $code, output: .}' >>"$tmp/evidence"
    case $code in
      0) ;;
      126 | 127) outcome=blocked ;;
      *) outcome=error ;;
    esac
  done
}

# register: says an artifact_ref for every expected output of the task that is a file of the workspace.
register() {
  : >"$tmp/outputs"
  ask '.payload.context.ticket // {} | (.task // .).expected_outputs // [] | .[] | text' | while IFS= read -r file; do
    case $file in /* | *..*) continue ;; esac
    [ -f "$file" ] || continue
    jq -nc --arg file "$file" --arg digest "$(sha256 <"$file")" --argjson size "$(wc -c <"$file")" \
      '{label: $file, uri: $file, digest: "sha256:\($digest)", size_bytes: $size}' | say artifact_ref
    jq -nc --arg file "$file" '{label: $file, uri: $file}' >>"$tmp/outputs"
  done
}

sha256() { if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -d ' ' -f 1; }

# report: the report of an instruction, from what carry_out left.
report() {
  case $outcome in
    completed)
      register
      jq -c --slurpfile evidence "$tmp/evidence" --slurpfile outputs "$tmp/outputs" \
        '{status: "completed", summary: .payload.message.payload.summary, $outputs, $evidence}' \
        "$request" >"$tmp/report"
      ;;
    blocked)
      jq -nc --arg name "$name" --slurpfile evidence "$tmp/evidence" '{
        status: "blocked", summary: "A step cannot be run here: \($name)", $evidence,
        questions: [{
          question_id: "missing-program",
          text: "This step needs a program that cannot be run here: \($name). How shall I go on?",
          options: ["skip the step"], default: "skip the step"
        }]
      }' >"$tmp/report"
      ;;
    error)
      jq -nc --arg summary "A step failed: $name" --slurpfile evidence "$tmp/evidence" \
        '{status: "error", $summary, $evidence, issues: [$summary]}' >"$tmp/report"
      ;;
  esac
  answer report <"$tmp/report"
}

# agree: the report of an instruction_proposal.
agree() {
  ask '.payload.message.payload | {
    status: "proposal", summary: "I agree: \(.summary)", next_actions: [.draft_steps // [] | .[] | text]
  }' >"$tmp/report"
  answer report <"$tmp/report"
}

head -n 1 >"$request"
[ -s "$request" ] || exit 0 # end of file without a line: exit without working
message=$(ask .payload.message.payload_type) || exit 1
cd "$(ask .payload.workspace)" || exit 1
ask '.payload.context.refused // [] | .[] | "refused before: \(.message)"' >&2

awkward=${CREW_MISBEHAVE-}
case $awkward in
  once:*) if [ "${BOSUN_ATTEMPT-}" = 1 ]; then awkward=${awkward#once:}; else awkward=; fi ;;
esac
case ${CREW_MISBEHAVE_ON-} in
  '' | "${BOSUN_TICKET_ID-}" | "$message") ;;
  *) awkward= ;;
esac
if [ "$awkward" = hang ]; then sleep 3600; fi

case $message in
  instruction)
    carry_out
    report
    ;;
  instruction_proposal) agree ;;
  *)
    jq -nc --arg message "A worker does not answer $message" '{code: "not_permitted", $message}' >"$tmp/error"
    answer error <"$tmp/error"
    ;;
esac
exit 0
