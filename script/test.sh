# The tests, and which of them belong together. `./x` reads this file.

# All of them, or a part.
run_tests() {
    [ $# -le 1 ] || die "usage: ./x test [quick|model|programs]"
    case "${1-all}" in
        all) test_all ;;
        quick) test_quick ;;
        model) test_model ;;
        programs) test_programs ;;
        *) die "there is no part $1 of the tests: quick, model or programs" ;;
    esac
    say "all ${1:+$1 }tests passed, $((SECONDS / 60)) min $((SECONDS % 60)) s in all"
}

test_all() {
    setup
    lint
    build_tests
    crate_pages
    say "testing"
    # Not by nextest, which gives each test a process of its own: many share what takes long to make, such as the
    # figures that claims are about. And what measures or meets must be alone on the processors.
    cargo test --release --workspace --no-fail-fast
    # The locks' stress tests once more, with overflow checks and debug assertions.
    # The same features for both: else the library is built twice.
    cargo test --package syncline --features "$MIRI_FEATURES" --no-fail-fast
    cargo test --package syncline --features "$MIRI_FEATURES" --test miri
    run_miri "$MIRI_SEEDS"
    test_aarch64
}

# While one works: unit tests, the library under stress, files and formats, and the project's rules.
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

# What runs other programs: the command, what it records, and the C library as it is installed.
test_programs() {
    setup
    build_tests
    local targets=()
    targets_of library/capi lab/bench tools/*
    test_targets
}

# With the tests, for they turn on features of libraries: else much is built twice.
build_tests() {
    say "building"
    cargo build --release --workspace --all-targets
    # Else tests look whether what they run, and cargo doesn't build for them, is of these sources.
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
            # These are for an interpreter.
            [ "$path" = miri ] || targets+=(--test "$path")
        done
    done
}

# Of the whole workspace: of some crates alone, cargo would build libraries with other features.
test_targets() {
    say "testing"
    cargo test --release --workspace --no-fail-fast "${targets[@]}"
}

# Schedules under each model that the tests try: one for each of two processors, which takes them
# some two and a half minutes.
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

# The library's small tests under Miri, which runs them in each model with seeds from 0 on: as many
# orders of threads, and of when their stores are seen.
run_miri() {
    if ! has rustup || ! miri_is_there; then
        say "the library was not run under Miri: there is no nightly toolchain with it"
        return
    fi
    local model flags
    for model in "${MIRI_MODELS[@]}"; do
        say "running the library under Miri, $1 times${model:+, with $model}"
        # An address becomes a number and a pointer again where threads are woken.
        flags="-Zmiri-permissive-provenance -Zmiri-many-seeds=0..$1 $model"
        MIRIFLAGS=$flags cargo +nightly miri test \
            --package syncline --features "$MIRI_FEATURES" --test miri
        MIRIFLAGS=$flags cargo +nightly miri test --package syncline-capi --lib -- in_use::
    done
}

# What the probe does with a processor, on an emulated one: the sequences, and not the times.
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
