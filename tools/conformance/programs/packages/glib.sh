#!/bin/sh
# GLib's own tests of objects that threads share, all at the same time. Its recursive mutexes and
# reader-writer locks are those of the C library. Its plain mutexes are its own, made of futexes;
# their test takes longer than all other tests.
said=$PWD
cd /usr/libexec/installed-tests/glib || exit
run() {
    "./$1" >"$said/$1" 2>&1 && echo "$1 passes" || { echo "$1 fails" && tail "$said/$1"; }
}
for test in asyncqueue atomic bitlock cancellable closure-refcount cond gdbus-proxy-threads mainloop \
    once onceinit private rec-mutex rwlock simple-async-result slice spawn-multithreaded task \
    thread thread-pool threadtests; do
    run "$test" &
done
wait
