. "${0%/*}/speak.sh"
if [ "$kind" = instruction_proposal ]; then
  say report '{"status":"proposal","summary":"So."}'
  exit 0
fi
say report '{"status":"progress","summary":"At it."}'
case $subject in
*slow*) sleep 0.4 ;;
*hold*) while [ ! -e go ]; do sleep 0.05; done ;;
*) sleep 0.03 ;;
esac
case $subject.$BOSUN_ATTEMPT in
*fail*.1 | *never*) exit 3 ;;
*ask*.1)
  say report '{"status":"blocked","summary":"It may be red or green.","questions":[{"question_id":"color","text":"Which?"}]}'
  exit 0
  ;;
esac
echo "$subject" >"$subject.txt"
echo "$subject" >"$BOSUN_ARTIFACTS_DIR/$subject.txt"
say artifact_ref '{"label":"the file","uri":"'"$subject"'.txt"}'
echo "end $subject $BOSUN_TURN_ID $$" >>marks
say report '{"status":"completed","summary":"Written.","outputs":["'"$subject"'.txt"],"usage":{"input_tokens":5,"cost_usd":0.25}}'
