# The demonstration: a memcached under load, recorded and reported. `./x` reads this file.

DEMO=demo
LOAD_SECONDS=5
START_SECONDS=10

demo() {
    need_packages "${BUILD_PACKAGES[@]}" "${DEMO_PACKAGES[@]}"
    need_rust
    say "building the command and its recorder"
    cargo build --release --package syncline-cli --package syncline-recorder
    mkdir -p "$DEMO"
    local syncline=${CARGO_TARGET_DIR:-target}/release/syncline port
    port=$(free_port)

    say "recording memcached with 4 threads under load for $LOAD_SECONDS s"
    # As root it insists on going on as another user.
    local user=()
    [ "$(id -u)" != 0 ] || user=(-u nobody)
    "$syncline" record -o "$DEMO/recording" -- \
        memcached "${user[@]}" -t 4 -l 127.0.0.1 -p "$port" -U 0 &
    recorder=$!
    trap 'kill "$recorder" 2>/dev/null' EXIT
    wait_for_answer "$port"
    load "$port"
    kill -TERM "$recorder"
    wait "$recorder" || die "memcached ended with status $?"
    trap - EXIT

    say "syncline report $DEMO/recording"
    "$syncline" report "$DEMO/recording"
    "$syncline" report "$DEMO/recording" --html "$DEMO/report.html"
    say "the same report as a page: $PWD/$DEMO/report.html"
}

answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

free_port() {
    local port
    for port in {21211..21311}; do
        if ! answers "$port"; then
            echo "$port"
            return
        fi
    done
    die "no free port from 21211 to 21311"
}

wait_for_answer() {
    local tries
    for ((tries = 0; tries < START_SECONDS * 10; tries++)); do
        ! answers "$1" || return 0
        kill -0 "$recorder" 2>/dev/null || die "memcached did not start"
        sleep 0.1
    done
    die "memcached did not answer within $START_SECONDS s"
}

# The load generator of libmemcached, under the names that it goes by.
load() {
    local tool
    for tool in memcaslap memaslap; do
        if has "$tool"; then
            timeout $((LOAD_SECONDS * 4)) \
                "$tool" -s "127.0.0.1:$1" -T 2 -c 16 -t "${LOAD_SECONDS}s" >&2
            return
        fi
    done
    die "found neither memcaslap nor memaslap, which the package libmemcached-tools should have"
}
