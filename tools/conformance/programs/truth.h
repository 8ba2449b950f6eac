// Functions by which a program under test states facts about itself.
//
// A line that begins with @ states a fact about this run, which is compared with the recording:
//
//     @PID TID OPERATION LOCK COUNT     TID 0: all threads; LOCK *: all locks;
//                                       COUNT 5+: five or more
//     @NAME VALUE                       a value that the test looks up by its name
//
// OPERATION is a name in the recording's list, such as MutexLock. A counter may come after it, as
// in MutexTrylock.refused or CondTimedwait.timeouts. All other lines must be equal with and without
// recording. Each line is written by one write(2). So lines of several processes do not mix, and no
// line is lost when the program is killed.
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int say_to = 1;

__attribute__((format(printf, 1, 2), unused)) static void say(const char *format, ...) {
    char line[4096];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(line, sizeof line - 1, format, list);
    va_end(list);
    if (length > (int)sizeof line - 2)
        length = sizeof line - 2;
    line[length] = '\n';
    if (write(say_to, line, length + 1) != length + 1)
        _exit(120);
}

// States that this process has made the operation on the lock `count` times.
__attribute__((unused)) static void
expect(const char *operation, const volatile void *lock, unsigned long count) {
    say("@%d 0 %s %p %lu", (int)getpid(), operation, (void *)lock, count);
}

// States that a thread has made the operation on the lock `count` times.
__attribute__((unused)) static void expect_of(int tid, const char *operation,
                                              const volatile void *lock, unsigned long count) {
    say("@%d %d %s %p %lu", (int)getpid(), tid, operation, (void *)lock, count);
}

// States that this process has made the operation `count` times, on all locks together.
__attribute__((unused)) static void expect_all(const char *operation, unsigned long count) {
    say("@%d 0 %s * %lu", (int)getpid(), operation, count);
}

// Ends the program if a condition on which the test relies does not hold.
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            say("%s:%d: %s: %s", __FILE__, __LINE__, #condition, strerror(errno));                 \
            _exit(121);                                                                            \
        }                                                                                          \
    } while (0)

// The name of an error number, or "0" for no error.
__attribute__((unused)) static const char *error_name(int error) {
    if (error == 0)
        return "0";
    const char *name = strerrorname_np(error);
    return name ? name : "?";
}

__attribute__((unused)) static struct timespec after(clockid_t clock, long milliseconds) {
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_sec += milliseconds / 1000;
    t.tv_nsec += milliseconds % 1000 * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_nsec -= 1000000000;
        t.tv_sec++;
    }
    return t;
}

__attribute__((unused)) static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

__attribute__((unused)) static void sleep_ms(long milliseconds) {
    struct timespec t = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&t, &t) && errno == EINTR)
        continue;
}

// A size in KiB from /proc/self/status, such as `VmSize:` or `VmRSS:`. Returns -1 if there is no
// such line.
__attribute__((unused)) static long kilobytes_of(const char *field) {
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    long kilobytes = -1;
    while (fgets(line, sizeof line, status))
        if (strncmp(line, field, strlen(field)) == 0) {
            kilobytes = strtol(line + strlen(field), NULL, 10);
            break;
        }
    fclose(status);
    return kilobytes;
}

__attribute__((unused)) static int thread_number(void) { return (int)syscall(SYS_gettid); }

// Prints the bytes of an object, as words. Words that differ between runs are masked: the number of
// this thread (`tid`, with the futex's flags before it), and words at the offsets in `masked`,
// which contain addresses if they are not zero. The list `masked` ends with -1.
__attribute__((unused)) static void say_bytes(const char *what, const volatile void *object,
                                              size_t size, const int *masked) {
    char line[2048];
    int used = 0;
    for (size_t at = 0; at < size; at += 4) {
        unsigned word, thread = thread_number();
        memcpy(&word, (const char *)object + at, 4);
        int hide = 0;
        for (const int *m = masked; *m >= 0; m++)
            hide |= (size_t)*m == at;
        if (hide && word)
            used += sprintf(line + used, " *");
        else if ((word & 0x3fffffff) == thread)
            used += sprintf(line + used, " %x+tid", word - thread);
        else
            used += sprintf(line + used, " %x", word);
    }
    say("%s:%s", what, line);
}
