#!/bin/bash
# Prints the identity of the recorder: a hash over the sources of the preloaded library, without
# their comments. In contrast to a commit, the hash is the same in every clone, however shallow, and
# after a rebase. Also, most commits don't change the recorder. `record-overhead` prints the hash
# above its figures.
#
#     recorder.sh            prints it
#     recorder.sh check      says so if docs/benchmarks.md has figures of another recorder. That is a
#                            warning: figures take an hour of a quiet machine, a mended line does not
set -euo pipefail
cd "$(dirname "$0")/../.."

RECORDING=profile/recording/src
SOURCES=(profile/recorder/src base/interpose/src
    "$RECORDING/layout" "$RECORDING/layout.rs" "$RECORDING/op.rs" "$RECORDING/windows.rs" "$RECORDING/writer")

recorder() {
    local hash
    hash=$(find "${SOURCES[@]}" -name '*.rs' -print0 | LC_ALL=C sort -z |
        xargs -0 sed -E '/^\s*(\/\/.*)?$/d' | sha256sum)
    echo "Recorder ${hash:0:16}"
}

case "${1-}" in
    '') recorder ;;
    check)
        recorder=$(recorder)
        grep -qxF "$recorder" docs/benchmarks.md || printf '%s\n' \
            "warning: docs/benchmarks.md has record-overhead's figures, and they are of another recorder." \
            "  This one is \"$recorder\": run ./x bench record-overhead on a quiet machine, and put what" \
            "  it prints there, with that line" >&2
        ;;
    *)
        echo "usage: recorder.sh [check]" >&2
        exit 2
        ;;
esac
