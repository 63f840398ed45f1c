# The start of every agent: its request, the type of the message in it, and a function to print envelopes. In canonical JSON the
# message comes right before the role.
echo "born $$" >>marks
IFS= read -r request || exit 0
. "${0%/*}/marks.sh"
before=${request%\"\},\"role_id\":*}
kind=${before##*\"}

say() {
  printf '{"session_id":"%s","source":"%s","target":"scheduler","payload_type":"%s","version":"1.0","payload":%s}\n' \
    "$BOSUN_SESSION_ID" "$BOSUN_ROLE_ID" "$1" "$2"
}
