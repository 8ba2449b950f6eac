# Executes itself $1 times, and then sleeps. So the process runs many programs in its first moments.
[ "$1" = 0 ] && exec sleep 3
exec sh "$0" $(($1 - 1))
