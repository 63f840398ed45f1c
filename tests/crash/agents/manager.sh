. "${0%/*}/speak.sh"
plan() {
  IFS= read -r plan <"$PLAN"
  say plan "$plan"
}
ask() {
  say clarification '{"status":"open","questions":[{"question_id":"color","text":"'"$1"'"}]}'
}
case $request in
*'"expects":["clarification","error"]'*)
  say clarification '{"status":"complete","questions":[]}'
  kind=none
  ;;
esac
case $kind in
none) ;;
requirement) if [ "$ASKS" = yes ]; then ask 'Which color?'; else plan; fi ;;
clarification_response) plan ;;
ticket)
  case $request in
  *'"discuss":true'*) say instruction_proposal '{"summary":"Say how."}' ;;
  *) say instruction '{"summary":"Do it."}' ;;
  esac
  ;;
report)
  case $request in
  *'"question":"Which of them?"'*) say instruction '{"summary":"Do it in green."}' ;;
  *'"status":"blocked"'*) ask 'Which of them?' ;;
  *) say instruction '{"summary":"Do it so."}' ;;
  esac
  ;;
review_request)
  case $BOSUN_TICKET_ID.$BOSUN_ATTEMPT in
  *back*.1) say review '{"decision":"changes_requested","requested_changes":["Once more."]}' ;;
  *) say review '{"decision":"approved","usage":{"input_tokens":7,"cost_usd":0.5}}' ;;
  esac
  ;;
*) say error '{"code":"agent_failed","message":"It cannot be done."}' ;;
esac
echo "end $subject $BOSUN_TURN_ID $$" >>marks
