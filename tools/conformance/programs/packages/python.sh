#!/bin/sh
# CPython's own tests of threads. Python's locks are semaphores, and the interpreter's lock is a
# mutex with condition variables.
for test in test_threading test_thread test_threading_local test_queue test_threadsignals \
    test_threadedtempfile test_socketserver; do
    if /usr/bin/python3 -m test --quiet "$test" >said 2>&1; then
        echo "$test passes"
    else
        echo "$test fails"
        cat said
    fi
done
