// Threads that take one mutex with every function that can do so, and count their successes. A
// plain counter shows whether they exclude each other.
#include "truth.h"

enum { THREADS = 4, ROUNDS = 40000 };

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t own[THREADS];
static unsigned long protected_count;

static void *work(void *argument) {
    int number = (int)(long)argument;
    unsigned long lock = 0, trylock = 0, refused = 0, timedlock = 0, timeouts = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int error = 0;
        struct timespec later;
        switch (round % 8) {
        default:
            REQUIRE(pthread_mutex_lock(&shared) == 0);
            lock++;
            break;
        case 1:
            error = pthread_mutex_trylock(&shared);
            error ? refused++ : trylock++;
            break;
        case 2:
            later = after(CLOCK_REALTIME, 10000);
            REQUIRE(pthread_mutex_timedlock(&shared, &later) == 0);
            timedlock++;
            break;
        case 3:
            later = after(CLOCK_MONOTONIC, round % 16 == 3 ? 0 : 10000);
            error = pthread_mutex_clocklock(&shared, CLOCK_MONOTONIC, &later);
            error ? timeouts++ : timedlock++;
            break;
        }
        if (error == 0) {
            protected_count++;
            REQUIRE(pthread_mutex_unlock(&shared) == 0);
        }
        pthread_mutex_lock(&own[number]);
        pthread_mutex_unlock(&own[number]);
    }
    int me = thread_number();
    expect_of(me, "MutexLock", &shared, lock);
    expect_of(me, "MutexTrylock", &shared, trylock);
    expect_of(me, "MutexTrylock.refused", &shared, refused);
    expect_of(me, "MutexTimedlock", &shared, timedlock);
    expect_of(me, "MutexTimedlock.timeouts", &shared, timeouts);
    expect_of(me, "MutexLock", &own[number], ROUNDS);
    return (void *)(lock + trylock + timedlock);
}

int main(void) {
    pthread_t threads[THREADS];
    unsigned long sum = 0;
    for (long i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        REQUIRE(pthread_join(threads[i], &result) == 0);
        sum += (unsigned long)result;
    }
    REQUIRE(sum == protected_count);
    static const int none[] = {-1};
    say_bytes("free again", &shared, sizeof shared, none);
    expect_all("ThreadCreate", THREADS);
    expect_all("ThreadJoin", THREADS);
    return 0;
}
