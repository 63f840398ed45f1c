# Appends each notification in one write, so that none is stored in part.
told=$(cat)
printf '%s\n' "$told" >>told
