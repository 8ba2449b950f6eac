// Acquisitions that are counted, whether they are traced or not. The argument says which:
//
//   sites   a thread acquires locks at many call sites, a few thousand times at each; this is so
//           few that each acquisition is counted
//   holds   one lock is held for a long time, and meanwhile another one often and for short times
//   waits   a thread waits for a condition many times, without success
//   kernel  in the sections, the kernel fills much memory
//   killed  a child has critical sections for half a second, and is then killed
#include "truth.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

#define AT(i) pthread_mutex_lock(&outer), pthread_mutex_unlock(&outer);
#define PLACE(i) for (int n = 0; n < EACH; n++) { AT(i) }
#define EIGHT(i) PLACE(i) PLACE(i) PLACE(i) PLACE(i) PLACE(i) PLACE(i) PLACE(i) PLACE(i)
#define ALL EIGHT(0) EIGHT(1) EIGHT(2) EIGHT(3) EIGHT(4) EIGHT(5) EIGHT(6) EIGHT(7)

enum { EACH = 4000, TIMES = 8, PLACES = 64, HELD_MS = 2, HOLDS = 100, SHORT = 100, WAITS = 12000, FILLS = 60 };

// Each of these is a separate function, although all of them are alike.
#define MANY(name) __attribute__((noinline, no_icf)) static void name(void) { ALL }
MANY(many1) MANY(many2) MANY(many3) MANY(many4) MANY(many5) MANY(many6) MANY(many7) MANY(many8)

static void sites(void) {
    many1(), many2(), many3(), many4(), many5(), many6(), many7(), many8();
    say("@acquired %d", EACH * TIMES * PLACES);
}

static void holds(void) {
    for (int n = 0; n < HOLDS; n++) {
        pthread_mutex_lock(&outer);
        for (int i = 0; i < SHORT; i++) {
            pthread_mutex_lock(&inner);
            pthread_mutex_unlock(&inner);
        }
        sleep_ms(HELD_MS);
        pthread_mutex_unlock(&outer);
    }
    say("@held_ms %d", HELD_MS);
}

static void waits(void) {
    struct timespec past = {0, 1};
    for (int n = 0; n < WAITS; n++) {
        pthread_mutex_lock(&outer);
        pthread_cond_timedwait(&condition, &outer, &past);
        pthread_mutex_unlock(&outer);
    }
    say("@acquired %d", WAITS);
}

// The processor time of the calling thread, in seconds.
static double own_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static void kernel(void) {
    const size_t size = 8 << 20;
    double took = 0;
    for (int n = 0; n < FILLS; n++) {
        pthread_mutex_lock(&outer);
        double began = own_seconds();
        int access = PROT_READ, kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
        void *filled = mmap(NULL, size, access | PROT_WRITE, kind, -1, 0);
        took += own_seconds() - began;
        pthread_mutex_unlock(&outer);
        if (filled == MAP_FAILED || munmap(filled, size) != 0) {
            exit(1);
        }
    }
    say("@kernel_us %d", (int)(took * 1e6));
}

static void killed(void) {
    pid_t child = fork();
    if (child != 0) {
        int status;
        if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status)) exit(1);
        return;
    }
    int acquired = 0;
    for (double began = own_seconds(); own_seconds() - began < 0.5; acquired++) {
        pthread_mutex_lock(&outer);
        pthread_mutex_unlock(&outer);
    }
    say("@acquired %d", acquired);
    kill(getpid(), SIGKILL);
}

int main(int argc, char **argv) {
    say("@outer %lu", (unsigned long)(uintptr_t)&outer);
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "sites") == 0) {
        sites();
    } else if (strcmp(what, "holds") == 0) {
        holds();
    } else if (strcmp(what, "kernel") == 0) {
        kernel();
    } else if (strcmp(what, "killed") == 0) {
        killed();
    } else {
        waits();
    }
    return 0;
}
