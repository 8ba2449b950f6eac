#!/bin/sh
# GLib's own tests of what threads share, all at once. What is recursive, or for readers and writers,
# is the C library's; plain mutexes are futexes of its own, whose test takes longer than all others.
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
