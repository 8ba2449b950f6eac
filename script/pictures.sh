# The pictures of reports in the book, as a terminal of 100 columns shows them. `./x` reads this file.

PICTURES=$PWD/docs/images

pictures() {
    [ $# = 0 ] || die "usage: ./x pictures"
    need_packages "${BUILD_PACKAGES[@]}"
    need_rust
    build_command
    local folder=${CARGO_TARGET_DIR:-target}/release name
    PATH=$(realpath "$folder"):$PATH
    mkdir -p "$DEMO"
    for name in one-table-lock queue-lock; do
        # Leaves this folder's path out of the debug information, so that it is in no picture.
        cc -O2 -g -pthread -ffile-prefix-map="$PWD"= "workloads/$name.c" -o "$DEMO/$name"
    done
    cd "$DEMO"
    syncline record -o before -- ./one-table-lock
    picture report "syncline report before"
    syncline record -o after -- ./one-table-lock --fixed
    picture diff "syncline diff before after"
    picture inspect "syncline inspect --from before -- ./one-table-lock"
    picture whatif "syncline whatif --from before -- ./one-table-lock --work 50"
    picture tune "syncline tune -o policy.toml -- ./queue-lock --work 25"
}

# Draws what a command prints on a terminal.
picture() {
    say "$2"
    script -qec "stty cols 100; $2 2>/dev/null" /dev/null </dev/null |
        COMMAND=$2 LC_ALL=C awk -f ../script/picture.awk >"$PICTURES/terminal-$1.svg" ||
        die "$2 failed"
}
