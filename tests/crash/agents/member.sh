. "${0%/*}/speak.sh"
sleep 0.03
case $request in
*'"verdict"'*) say verdict '{"conclusion":"Both.","consensus":false}' ;;
*'"opinion"'*)
  rest=${request##*\"metadata\":{\"round\":}
  say opinion '{"round":'"${rest%%[!0-9]*}"',"position":"'"$BOSUN_ROLE_ID"' it is.","usage":{"input_tokens":3}}'
  ;;
*'"expects":["error","review"]'*) say review '{"decision":"approved","usage":{"input_tokens":3}}' ;;
*'"expects":["error","plan"]'*) say plan '{"summary":"By '"$BOSUN_ROLE_ID"'","tasks":[{"task_id":"x","description":"Do it."}],"usage":{"input_tokens":3}}' ;;
*'"expects":["error","pm_decision"]'*)
  # It asks each agent once.
  for agent in agents1 agents2; do
    case $request in
    *"\"agent_name\":\"$agent\",\"content\""* | *'"must_finish"'*) ;;
    *) say pm_decision '{"analysis":"So far.","next_action":"CALL_AGENT","target_agent":"'$agent'","prompt_for_agent":"Why?","usage":{"input_tokens":3}}' && break ;;
    esac
  done
  case $request in
  *'"agent_name":"agents2","content"'*) say pm_decision '{"analysis":"Done.","next_action":"FINISH","final_report":"# Both"}' ;;
  esac
  ;;
*'"expects":["error","plan_decision"]'*)
  case $request in
  *'"status":"planning"'*) say plan_decision '{"analysis":"So far.","next_action":"PLAN","steps":[{"agent":"agents1","task":"This."},{"agent":"agents2","task":"That."}],"usage":{"input_tokens":3}}' ;;
  *'"status":"pending"'*) say plan_decision '{"analysis":"So far.","satisfied":true,"next_action":"GO_ON"}' ;;
  *) say plan_decision '{"analysis":"Done.","satisfied":true,"next_action":"FINISH","final_report":"# Both"}' ;;
  esac
  ;;
*'"council_state"'*)
  case $request in
  *'"asked":"vote"'*) say vote '{"proposal_id":"p1","vote":"yes","usage":{"input_tokens":3}}' ;;
  *'"asked":"lead"'*'"status":"proposed"'*) say state_change '{"new_state":"voting","reason":"Vote.","usage":{"input_tokens":3}}' ;;
  *'"asked":"lead"'*) say summary '{"summary_text":"Both.","usage":{"input_tokens":3}}' ;;
  *)
    case $BOSUN_ROLE_ID in
    participants1) say proposal '{"title":"Both","details":"This and that.","usage":{"input_tokens":3}}' ;;
    *) say comment '{"text":"So it is.","usage":{"input_tokens":3}}' ;;
    esac
    ;;
  esac
  ;;
*) say report '{"status":"completed","summary":"'"$BOSUN_ROLE_ID"' did it.","usage":{"input_tokens":3}}' ;;
esac
echo "end $subject $BOSUN_TURN_ID $$" >>marks
