# An executable criterion. It must never run beside an agent of the same ticket.
BOSUN_ROLE_ID=check
. "${0%/*}/marks.sh"
test -s "$1" || exit 1
case $subject in
*slow*) if (set -C && : >"checked.$subject") 2>/dev/null; then sleep 0.6; fi ;;
*) sleep 0.05 ;;
esac
