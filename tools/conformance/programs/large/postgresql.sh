# PostgreSQL: processes that share memory, workers of parallel queries, and a client with several
# threads. $1 is the folder, and $2 the number of clients, at most 16.
cd "$1"; threads=$2
PATH=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1):$PATH
# PostgreSQL refuses to run as root.
if [ "$(id -u)" = 0 ]; then chown nobody "$1"; as='setpriv --reuid nobody --clear-groups'; else as=; fi
export HOME="$1" PGHOST="$1" PGUSER=tester PGDATABASE=postgres
$as initdb --no-sync -A trust -U tester -D "$1/data" >install.log 2>&1
$as postgres -D "$1/data" -k "$1" -c listen_addresses= -c fsync=off -c shared_buffers=32MB \
    -c max_connections=100 -c max_parallel_workers_per_gather=2 >server.log 2>&1 &
server=$!
tries=0
until psql -Atc 'select 1' >/dev/null 2>&1; do tries=$((tries + 1)); test $tries -lt 600; sleep 0.1; done
pgbench -i -q >/dev/null 2>&1
pgbench -n -c "$((threads > 16 ? 16 : threads))" -j "$((threads > 16 ? 16 : threads))" -t 50 --random-seed 7 >bench.log 2>&1
psql -At <<SQL
select sum(abalance) = (select sum(bbalance) from pgbench_branches), count(*) from pgbench_accounts;
set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0;
select count(*), sum(aid) from pgbench_accounts;
select count(*) from pgbench_history;
SQL
kill -INT $server
wait $server || true
