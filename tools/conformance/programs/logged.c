// Makes events for a log: logged WAITS ROUNDS. One thread waits WAITS times without success, for
// each of 64 semaphores in turn. Other threads take and release locks. One more thread also waits
// within its sections, which releases its lock meanwhile.
#include "truth.h"
#include <semaphore.h>

enum { SEMAPHORES = 64, THREADS = 3, TIMES = 200 };

static sem_t semaphores[SEMAPHORES];
static pthread_mutex_t own[THREADS], shared = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t waited_under = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static int rounds;

static void *take(void *argument) {
    int number = (int)(long)argument;
    for (int i = 0; i < rounds; i++) {
        pthread_mutex_lock(&own[number]);
        pthread_mutex_unlock(&own[number]);
        if (i % 16)
            continue;
        pthread_mutex_lock(&shared);
        pthread_mutex_unlock(&shared);
    }
    return argument;
}

static void *take_and_wait(void *argument) {
    for (int i = 0; i < TIMES; i++) {
        pthread_mutex_lock(&waited_under);
        for (int j = 0; j < 2; j++) {
            struct timespec soon = after(CLOCK_REALTIME, 1);
            REQUIRE(pthread_cond_timedwait(&never, &waited_under, &soon) == ETIMEDOUT);
        }
        pthread_mutex_unlock(&waited_under);
    }
    return argument;
}

int main(int count, char **arguments) {
    REQUIRE(count == 3);
    int waits = atoi(arguments[1]);
    rounds = atoi(arguments[2]);
    for (int i = 0; i < SEMAPHORES; i++)
        sem_init(&semaphores[i], 0, 0);
    struct timespec past = {1, 0};
    for (int i = 0; i < waits; i++)
        REQUIRE(sem_timedwait(&semaphores[i % SEMAPHORES], &past) == -1 && errno == ETIMEDOUT);
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, take, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    REQUIRE(pthread_create(&threads[0], NULL, take_and_wait, NULL) == 0);
    pthread_join(threads[0], NULL);
    say("done");
    say("@waiter %d", thread_number());
    say("@semaphores %p", (void *)semaphores);
    say("@semaphore_size %d", (int)sizeof *semaphores);
    say("@semaphore_count %d", SEMAPHORES);
    say("@shared %p", (void *)&shared);
    say("@waited_under %p", (void *)&waited_under);
    say("@times %d", TIMES);
    for (int i = 0; i < THREADS; i++)
        expect("MutexLock", &own[i], rounds);
    expect("MutexLock", &shared, THREADS * ((rounds + 15) / 16));
    expect("MutexLock", &waited_under, TIMES);
    return 0;
}
