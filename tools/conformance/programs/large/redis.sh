# Redis with threads for input and output, a forked process that saves, and a list that another
# thread frees. $1 is the folder. There are only two threads for input and output, because they
# spin: more of them than processors would be of no use.
cd "$1"
redis-server --port 0 --unixsocket "$1/socket" --save '' --daemonize no --dir "$1" \
    --io-threads 2 --io-threads-do-reads yes --lazyfree-lazy-user-del yes >log 2>&1 &
ask() { redis-cli -s socket "$@"; }
tries=0
until ask ping >/dev/null 2>&1; do tries=$((tries + 1)); test $tries -lt 600; sleep 0.1; done
redis-benchmark -s socket -q -n 5000 -c 20 -P 4 --threads 2 incr all >/dev/null
redis-benchmark -s socket -q -n 2000 -c 20 -P 4 --threads 2 lpush list value >/dev/null
ask get all; ask llen list
ask bgsave >/dev/null
until ask info persistence | grep -q 'rdb_bgsave_in_progress:0'; do sleep 0.1; done
ask del list; ask dbsize
ask shutdown nosave || true
wait
