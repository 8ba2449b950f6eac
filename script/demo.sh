# The demonstration: a program with a problem, its fix and the proof; then a memcached server
# under load, recorded and reported. `./x` reads this file.

DEMO=demo
# The workload, with a mutex around a few instructions, and the share of its work that a run does,
# in percent.
PROBLEM=queue-lock
PROBLEM_WORK=25
PAIRS=7
LOAD_SECONDS=5
START_SECONDS=10

demo() {
    need_packages "${BUILD_PACKAGES[@]}" "${DEMO_PACKAGES[@]}"
    need_rust
    say "building the command and its libraries"
    build_command
    mkdir -p "$DEMO"
    local syncline=${CARGO_TARGET_DIR:-target}/release/syncline
    problem
    memcached_under_load
}

# Records a program, reports what is wrong, fixes it without changing its source, and measures both
# variants.
problem() {
    local program=("$DEMO/$PROBLEM" --work $PROBLEM_WORK)
    cc -O2 -g -pthread "workloads/$PROBLEM.c" -o "$DEMO/$PROBLEM"
    say "the problem: syncline record, and syncline report"
    "$syncline" record -o "$DEMO/problem" -- "${program[@]}"
    "$syncline" report "$DEMO/problem"
    say "the fix: syncline tune tries other locks, for a minute"
    "$syncline" tune -o "$DEMO/policy.toml" -- "${program[@]}"
    if ! grep -q '^\[\[lock\]\]' "$DEMO/policy.toml"; then
        say "no lock was certainly faster on this machine, so there is nothing to prove"
        return
    fi
    say "the proof: $PAIRS pairs of runs, without recording"
    local run own tuned
    for ((run = 0; run < PAIRS; run++)); do
        own=$(seconds "${program[@]}")
        tuned=$(seconds "$syncline" exec --policy "$DEMO/policy.toml" -- "${program[@]}")
        echo "$own $tuned"
    done | side_by_side
}

# Prints the time that a workload measures.
seconds() { "$@" | sed 's/.*: //; s/}//'; }

# Prints both times of each pair of runs and their ratio, and the median of the ratios.
side_by_side() {
    awk 'BEGIN { print "own locks   with the policy" }
        { printf "%7.3f s         %7.3f s   %.2fx\n", $1, $2, $1 / $2; ratio[NR] = $1 / $2 }
        END {
            for (i = 1; i <= NR; i++) {
                smaller = 0
                for (j = 1; j <= NR; j++)
                    smaller += ratio[j] < ratio[i] || (ratio[j] == ratio[i] && j < i)
                if (smaller == int(NR / 2)) printf "in the median %.2f times as fast\n", ratio[i]
            }
        }'
}

memcached_under_load() {
    local port
    port=$(free_port)

    say "recording memcached with 4 threads under load for $LOAD_SECONDS s"
    # memcached refuses to run as root, unless it is given another user.
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

# Runs the load generator of libmemcached, which has one of two names.
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
