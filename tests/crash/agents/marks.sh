# Records which process works on what, and whether another works on it at the same time. Uses shell built-ins only, to be fast.
# A process that has answered leaves its file, which has its pid and start time.
subject=${BOSUN_TICKET_ID:-$BOSUN_ROLE_ID}

stat_of() {
  stat=
  { IFS= read -r stat; } 2>/dev/null </proc/"$1"/stat
  set -- $stat
  state=$3
  started=${22}
}

stat_of $$
echo "$started" >"alive.$subject.$$"
for other in "alive.$subject".*; do
  pid=${other##*.}
  [ "$pid" = $$ ] && continue
  began=
  read -r began <"$other"
  { stat_of "$pid"; } 2>/dev/null || continue
  case $state in '' | X | Z) continue ;; esac
  [ "$began" = "$started" ] && echo "double $subject $$ $pid" >>marks
done
echo "start $subject ${BOSUN_TURN_ID:-check} $$ $BOSUN_SESSION_ID" >>marks
