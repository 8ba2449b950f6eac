// A timer interrupts the program thousands of times a second, at any point. The signal handler uses
// vector registers, flags and a lock. What the critical sections compute depends on every register
// and flag that an interruption must not change.
#include "truth.h"

#include <signal.h>
#include <stdint.h>
#include <sys/time.h>

enum { THREADS = 3, ROUNDS = 1000, STEPS = 300 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, handlers = PTHREAD_MUTEX_INITIALIZER;
static volatile long interruptions;
static double number;

static void handler(int unused) {
    (void)unused;
    interruptions++;
    double x = number;
    for (int i = 0; i < 20; i++) {
        x = x * 1.5 + (double)interruptions;
    }
    number = x > 1e30 ? 0 : x;
    if (interruptions % 3 == 0 && pthread_mutex_trylock(&handlers) == 0) {
        pthread_mutex_unlock(&handlers);
    }
}

static uint64_t compute(uint64_t seed) {
    uint64_t a = seed, b = seed * 3, c = 7;
    double d = (double)(seed % 1000);
    char bytes[64];
    for (int i = 0; i < STEPS; i++) {
        a = a * 6364136223846793005u + b;
        b ^= a >> 17;
        c += a > b ? a : b;
        if (c & 1) {
            c = c >> 1 | c << 63;
        }
        d = d * 0.999 + (double)(c & 255);
        memset(bytes, (int)c, sizeof bytes);
        memcpy(bytes + 8, &a, 8);
        b += (uint64_t)bytes[9];
    }
    return a ^ b ^ c ^ (uint64_t)d;
}

static void *run(void *seed) {
    uint64_t sum = (uint64_t)(uintptr_t)seed;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&lock);
        sum = compute(sum);
        pthread_mutex_unlock(&lock);
    }
    return (void *)(uintptr_t)sum;
}

int main(void) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    REQUIRE(sigaction(SIGALRM, &action, NULL) == 0);
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    REQUIRE(setitimer(ITIMER_REAL, &often, NULL) == 0);
    pthread_t threads[THREADS];
    uint64_t sum = 0;
    for (long i = 0; i < THREADS; i++) {
        REQUIRE(pthread_create(&threads[i], NULL, run, (void *)(i + 1)) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *result;
        REQUIRE(pthread_join(threads[i], &result) == 0);
        sum ^= (uint64_t)(uintptr_t)result;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    say("%lx", (unsigned long)sum);
    return 0;
}
