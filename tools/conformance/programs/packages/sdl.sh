#!/bin/sh
# SDL's own tests of threads, semaphores, atomic operations and timers. They need no screen.
said=$PWD/said
export SDL_VIDEODRIVER=dummy
cd /usr/libexec/installed-tests/SDL2 || exit
for test in testatomic torturethread "testsem 10"; do
    # These are the words of a command, and have to be split. shellcheck disable=SC2086
    if ./$test >"$said" 2>&1; then
        echo "$test passes"
    else
        echo "$test fails"
        cat "$said"
    fi
done
