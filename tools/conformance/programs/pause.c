// Yields and sleeps: their return codes, exact counts, and the remaining time of a sleep that a
// signal ends.
#include "truth.h"
#include <sched.h>
#include <signal.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>

enum { THREADS = 4, YIELDS = 10000, SLEEPS = 20 };

// The microseconds that all threads together have spent in yields and in sleeps, by their own
// clocks.
static unsigned long yielded_us, slept_us;

static void add(unsigned long *sum, double began) {
    __atomic_fetch_add(sum, (unsigned long)((seconds() - began) * 1e6), __ATOMIC_RELAXED);
}

static void *yields(void *argument) {
    double began = seconds();
    for (int i = 0; i < YIELDS; i++)
        REQUIRE(sched_yield() == 0);
    add(&yielded_us, began);
    return argument;
}

static void *sleeps(void *argument) {
    struct timespec short_time = {0, 1000000};
    double began = seconds();
    for (int i = 0; i < SLEEPS; i++) {
        REQUIRE(nanosleep(&short_time, NULL) == 0);
        REQUIRE(usleep(1000) == 0);
    }
    add(&slept_us, began);
    return argument;
}

static void is_told(int number) {
    (void)number;
}

static void interrupted(void) {
    struct sigaction action = {.sa_handler = is_told};
    REQUIRE(sigaction(SIGALRM, &action, NULL) == 0);
    struct itimerval soon = {.it_value = {0, 20000}};
    struct timespec long_time = {100, 0}, left = {0, 0};
    REQUIRE(setitimer(ITIMER_REAL, &soon, NULL) == 0);
    int result = nanosleep(&long_time, &left);
    say("nanosleep %d %s, left %d", result, error_name(errno), left.tv_sec == 99);
    REQUIRE(setitimer(ITIMER_REAL, &soon, NULL) == 0);
    result = clock_nanosleep(CLOCK_MONOTONIC, 0, &long_time, &left);
    say("clock_nanosleep %s, left %d", error_name(result), left.tv_sec == 99);
    REQUIRE(setitimer(ITIMER_REAL, &soon, NULL) == 0);
    say("sleep left %u", sleep(100));
    REQUIRE(setitimer(ITIMER_REAL, &soon, NULL) == 0);
    say("thrd_sleep %d", thrd_sleep(&long_time, NULL));
}

static void run(void *(*body)(void *)) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, body, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

int main(void) {
    struct timespec short_time = {0, 100000}, bad = {0, -1};
    run(yields);
    run(sleeps);
    say("@yielded_us %lu", yielded_us);
    say("@slept_us %lu", slept_us);
    thrd_yield();
    say("thrd_sleep %d", thrd_sleep(&short_time, NULL));
    say("past %d", clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &short_time, NULL));
    say("bad %d %s", nanosleep(&bad, NULL), error_name(errno));
    say("bad %s", error_name(clock_nanosleep(CLOCK_MONOTONIC, 0, &bad, NULL)));
    say("bad %d", thrd_sleep(&bad, NULL) < -1);
    interrupted();
    expect_all("Yield", THREADS * YIELDS + 1);
    // Sleeps with an invalid time, which the kernel refuses, are not counted.
    expect_all("Sleep", 2 * THREADS * SLEEPS + 2 + 4);
    return 0;
}
