# The tests, and the parts into which they are divided. `./x` reads this file.

# Runs all tests, or one part.
run_tests() {
    [ $# -le 1 ] || die "usage: ./x test [quick|model|programs]"
    case "${1-all}" in
        all) test_all ;;
        quick) test_quick ;;
        model) test_model ;;
        programs) test_programs ;;
        *) die "there is no part \`$1\` of the tests; the parts are quick, model and programs" ;;
    esac
    say "all ${1:+$1 }tests passed, $((SECONDS / 60)) min $((SECONDS % 60)) s in all"
}

test_all() {
    setup
    lint
    build_tests
    crate_pages
    say "testing"
    # Tests don't run under nextest, which gives each test a process of its own: many tests share
    # results that take long to compute, such as the figures of claims. Tests that measure, or whose
    # threads must meet, need the processors for themselves.
    cargo test --release --workspace --no-fail-fast
    # The locks' stress tests run once more, with overflow checks and debug assertions. Both
    # commands use the same features, since otherwise the library would be built twice.
    cargo test --package syncline --features "$MIRI_FEATURES" --no-fail-fast
    cargo test --package syncline --features "$MIRI_FEATURES" --test miri
    run_miri "$MIRI_SEEDS"
    test_aarch64
}

# The tests to run during development: unit tests, the library under stress, files and formats, and
# the project's rules.
test_quick() {
    need_builder
    build_tests
    local targets=(--lib --bins --test tidy)
    targets_of library/syncline profile/*
    test_targets
}

# Orderings and interleavings: model checkers, sanitizers, the simulator, and the mutants of each.
test_model() {
    need_builder
    build_tests
    local targets=()
    targets_of library/checkers lab/sim
    test_targets
    run_miri "$MIRI_SEEDS"
}

# The tests that run other programs: the command, the programs that it records, and the library for
# C as it is installed.
test_programs() {
    setup
    build_tests
    local targets=()
    targets_of library/capi lab/bench tools/*
    test_targets
}

# Builds the tests as well, because they turn on features of libraries. Otherwise much would be
# built twice.
build_tests() {
    say "building"
    cargo build --release --workspace --all-targets
    # Without this variable, tests check that the files that they run, and that cargo doesn't build
    # for them, are up to date.
    export SYNCLINE_JUST_BUILT=1
}

# Adds the test programs of these crates to `targets`.
targets_of() {
    local crate path
    for crate in "$@"; do
        for path in "$crate"/tests/*.rs "$crate"/tests/*/main.rs; do
            [ -e "$path" ] || continue
            path=${path%/main.rs}
            path=$(basename "$path" .rs)
            # The tests in `miri` are for an interpreter.
            [ "$path" = miri ] || targets+=(--test "$path")
        done
    done
}

# Runs tests with `--workspace`: for some crates alone, cargo would build libraries with other
# features.
test_targets() {
    say "testing"
    cargo test --release --workspace --no-fail-fast "${targets[@]}"
}

# How many schedules the tests try under each model: one for each of two processors, which takes
# about two and a half minutes.
MIRI_SEEDS=2
MIRI_MODELS=('' -Zmiri-tree-borrows)
MIRI_FEATURES=lock_api,lock_api_0_4

miri() {
    local seeds=16
    if [ $# -gt 0 ]; then
        [ "$1" = --seeds ] && [[ "${2-}" =~ ^[1-9][0-9]*$ ]] || die "usage: ./x miri [--seeds N]"
        seeds=$2
    fi
    need_builder
    need_miri
    run_miri "$seeds"
}

# Runs the library's small tests, and some tests of its C interface, under Miri: in each model, with
# seeds from 0 on. Each seed gives another order in which threads run and their stores become
# visible.
run_miri() {
    if ! has rustup || ! miri_is_there; then
        say "the library was not run under Miri: there is no nightly toolchain with it"
        return
    fi
    local model flags
    for model in "${MIRI_MODELS[@]}"; do
        say "running the library under Miri, $1 times${model:+, with $model}"
        # Permissive provenance: waking a thread turns an address into a number and back into a
        # pointer.
        flags="-Zmiri-permissive-provenance -Zmiri-many-seeds=0..$1 $model"
        MIRIFLAGS=$flags cargo +nightly miri test \
            --package syncline --features "$MIRI_FEATURES" --test miri
        MIRIFLAGS=$flags cargo +nightly miri test --package syncline-capi --lib -- in_use::
    done
}

# Runs the probe's tests on an emulated processor. They check instruction sequences, not times.
test_aarch64() {
    if ! has_target "$AARCH64" || ! has aarch64-linux-gnu-gcc || ! has qemu-aarch64; then
        say "the probe's code for AArch64 was not tested: no cross-compiler, emulator or library"
        return
    fi
    say "testing the probe's code for AArch64"
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER='qemu-aarch64 -L /usr/aarch64-linux-gnu' \
        cargo test --target "$AARCH64" --package syncline-probe --lib --test native -- --skip note::
}
