# Keeps what it is told, each in one write, so that nothing of it is half there.
told=$(cat)
printf '%s\n' "$told" >>told
