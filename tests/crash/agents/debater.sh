. "${0%/*}/speak.sh"
sleep 0.03
if [ "$BOSUN_ROLE_ID" = judge ]; then
  say verdict '{"conclusion":"Both.","consensus":false}'
else
  rest=${request##*\"metadata\":{\"round\":}
  say opinion '{"round":'"${rest%%[!0-9]*}"',"position":"'"$BOSUN_ROLE_ID"' it is.","usage":{"input_tokens":3}}'
fi
echo "end $subject $BOSUN_TURN_ID $$" >>marks
