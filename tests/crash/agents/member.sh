. "${0%/*}/speak.sh"
sleep 0.03
case $request in
*'"verdict"'*) say verdict '{"conclusion":"Both.","consensus":false}' ;;
*'"opinion"'*)
  rest=${request##*\"metadata\":{\"round\":}
  say opinion '{"round":'"${rest%%[!0-9]*}"',"position":"'"$BOSUN_ROLE_ID"' it is.","usage":{"input_tokens":3}}'
  ;;
*) say report '{"status":"completed","summary":"'"$BOSUN_ROLE_ID"' did it.","usage":{"input_tokens":3}}' ;;
esac
echo "end $subject $BOSUN_TURN_ID $$" >>marks
