# The tests, and which of them belong together. `./x` reads this file.

run_tests() {
    setup
    lint
    say "building"
    # With the tests, for they turn on features of libraries: else much is built twice.
    cargo build --release --workspace --all-targets
    # Else tests look whether what they run, and cargo doesn't build for them, is of these sources.
    export SYNCLINE_JUST_BUILT=1
    say "testing"
    cargo test --release --workspace --no-fail-fast
    # The locks' stress tests once more, with overflow checks and debug assertions.
    cargo test --package syncline --no-fail-fast
    cargo test --package syncline --features lock_api,lock_api_0_4 --test miri
    run_miri "$MIRI_SEEDS"
    test_aarch64
    say "all tests passed, $((SECONDS / 60)) min $((SECONDS % 60)) s in all"
}

# Schedules under each model that the tests try: one for each of two processors, which takes them
# some two and a half minutes.
MIRI_SEEDS=2
MIRI_MODELS=('' -Zmiri-tree-borrows)

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
            --package syncline --features lock_api,lock_api_0_4 --test miri
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
