// Condition variables and mutexes that are used intensively. Every wake-up must arrive, critical
// sections must exclude each other, and every cancelled waiter must clean up. The arguments are the
// number of rounds and the number of threads.
#include "truth.h"

static int rounds, threads;

// --- ping-pong: a lost wake-up stops it ----------------------------------------------------

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
static int turn, turns;

static void *player(void *side) {
    int me = side != NULL;
    pthread_mutex_lock(&table);
    for (int i = 0; i < rounds; i++) {
        while (turn != me)
            pthread_cond_wait(&turned[me], &table);
        turn = !me;
        turns++;
        // Half of the notifications are sent while the mutex is free.
        if (i & 1)
            pthread_mutex_unlock(&table);
        pthread_cond_signal(&turned[!me]);
        if (i & 1)
            pthread_mutex_lock(&table);
    }
    pthread_mutex_unlock(&table);
    return NULL;
}

// --- one bounded queue, many threads: each item that goes in comes out once ------------------

enum { ROOM = 4 };
static pthread_mutex_t queue_lock;
static pthread_cond_t filled, emptied;
static long queue[ROOM], first, last, sum_out;

static void *producer(void *argument) {
    for (long i = 1; i <= rounds; i++) {
        pthread_mutex_lock(&queue_lock);
        while (last - first == ROOM)
            pthread_cond_wait(&emptied, &queue_lock);
        queue[last++ % ROOM] = i;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&queue_lock);
    }
    return argument;
}

static void *consumer(void *argument) {
    for (int i = 0; i < rounds; i++) {
        pthread_mutex_lock(&queue_lock);
        while (last == first) {
            // Some of the waits have a deadline, which may come first.
            struct timespec soon = after(CLOCK_MONOTONIC, 1);
            int error = i % 3 ? pthread_cond_wait(&filled, &queue_lock)
                              : pthread_cond_timedwait(&filled, &queue_lock, &soon);
            REQUIRE(error == 0 || (i % 3 == 0 && error == ETIMEDOUT));
        }
        sum_out += queue[first++ % ROOM];
        pthread_cond_signal(&emptied);
        pthread_mutex_unlock(&queue_lock);
    }
    return argument;
}

// --- broadcasts: no thread is left waiting, and the condition variable is destroyed at once ---

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    int waiting, open;
};
static struct gate *gate;
static pthread_barrier_t lined_up;

static void *visitor(void *argument) {
    for (int i = 0; i < rounds / 20; i++) {
        pthread_barrier_wait(&lined_up);
        struct gate *mine = gate;
        pthread_mutex_lock(&mine->lock);
        mine->waiting++;
        while (!mine->open)
            pthread_cond_wait(&mine->opened, &mine->lock);
        mine->waiting--;
        pthread_mutex_unlock(&mine->lock);
        pthread_barrier_wait(&lined_up);
    }
    return argument;
}

static void open_gates(void) {
    pthread_t all[threads];
    pthread_barrier_init(&lined_up, NULL, threads + 1);
    for (int i = 0; i < threads; i++)
        REQUIRE(pthread_create(&all[i], NULL, visitor, NULL) == 0);
    for (int i = 0; i < rounds / 20; i++) {
        struct gate *mine = malloc(sizeof *mine);
        memset(mine, 0xa5, sizeof *mine);
        pthread_mutex_init(&mine->lock, NULL);
        pthread_cond_init(&mine->opened, NULL);
        mine->waiting = mine->open = 0;
        gate = mine;
        pthread_barrier_wait(&lined_up);
        for (int waiting = 0; waiting < threads;) {
            pthread_mutex_lock(&mine->lock);
            waiting = mine->waiting;
            if (waiting == threads) {
                mine->open = 1;
                pthread_cond_broadcast(&mine->opened);
            }
            pthread_mutex_unlock(&mine->lock);
            sched_yield();
        }
        // All waiters were woken, so the condition variable may be destroyed, although their calls
        // have not returned yet.
        REQUIRE(pthread_cond_destroy(&mine->opened) == 0);
        memset(&mine->opened, 0xa5, sizeof mine->opened);
        pthread_barrier_wait(&lined_up);
        REQUIRE(mine->waiting == 0);
        // No thread may have changed its memory since then.
        for (size_t at = 0; at < sizeof mine->opened; at++)
            REQUIRE(((unsigned char *)&mine->opened)[at] == 0xa5);
        REQUIRE(pthread_mutex_destroy(&mine->lock) == 0);
        free(mine);
    }
    for (int i = 0; i < threads; i++)
        pthread_join(all[i], NULL);
}

// --- cancelled waiters: each holds the mutex in its handler, and none uses up a wake-up --------

static pthread_mutex_t cell = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_cond_t freed = PTHREAD_COND_INITIALIZER;
static int waiting, tokens, cleaned, taken;

static void let_go(void *argument) {
    (void)argument;
    waiting--;
    cleaned++;
    REQUIRE(pthread_mutex_unlock(&cell) == 0);
}

static void *prisoner(void *argument) {
    REQUIRE(pthread_mutex_lock(&cell) == 0);
    waiting++;
    pthread_cleanup_push(let_go, NULL);
    while (tokens == 0)
        pthread_cond_wait(&freed, &cell);
    tokens--;
    taken++;
    pthread_cleanup_pop(0);
    waiting--;
    REQUIRE(pthread_mutex_unlock(&cell) == 0);
    return argument;
}

static void cancel_some(void) {
    for (int i = 0; i < rounds / 50; i++) {
        pthread_t two[2];
        cleaned = taken = 0;
        for (int t = 0; t < 2; t++)
            REQUIRE(pthread_create(&two[t], NULL, prisoner, NULL) == 0);
        for (int here = 0; here < 2; sched_yield()) {
            pthread_mutex_lock(&cell);
            here = waiting;
            pthread_mutex_unlock(&cell);
        }
        // One of the two threads is cancelled, and in half of the rounds a token is on its way at
        // that time. The other thread must get the token.
        int cancelled = i >> 1 & 1, token = i & 1;
        pthread_mutex_lock(&cell);
        if (token)
            tokens = 1, pthread_cond_signal(&freed);
        pthread_cancel(two[cancelled]);
        pthread_mutex_unlock(&cell);
        pthread_join(two[cancelled], NULL);
        REQUIRE(token || cleaned == 1);
        pthread_mutex_lock(&cell);
        int left = waiting;
        if (left && tokens == 0)
            // There was no token, or the cancelled thread had taken it before.
            tokens = 1, pthread_cond_signal(&freed);
        pthread_mutex_unlock(&cell);
        pthread_join(two[!cancelled], NULL);
        REQUIRE(waiting == 0 && taken + cleaned == 2 && taken >= 1);
        tokens = 0;
    }
}

// --- sections exclude each other, and waits with a deadline end --------------------------------

static pthread_mutex_t *locks;
static long *counts;
enum { LOCKS = 8 };

static void *worker(void *argument) {
    unsigned which = (unsigned)(long)argument;
    for (int i = 0; i < rounds; i++) {
        which = which * 1103515245 + 12345;
        int n = which >> 16 & (LOCKS - 1);
        int error;
        switch (i % 4) {
        case 0:
            while ((error = pthread_mutex_trylock(&locks[n])) == EBUSY)
                sched_yield();
            break;
        case 1: {
            struct timespec soon;
            do {
                soon = after(CLOCK_REALTIME, 1);
                error = pthread_mutex_timedlock(&locks[n], &soon);
            } while (error == ETIMEDOUT);
            break;
        }
        default:
            error = pthread_mutex_lock(&locks[n]);
        }
        REQUIRE(error == 0);
        counts[n]++;
        REQUIRE(pthread_mutex_unlock(&locks[n]) == 0);
    }
    return NULL;
}

// --- readers see nothing half written --------------------------------------------------------

static pthread_rwlock_t shelf = PTHREAD_RWLOCK_INITIALIZER;
static long left, right;

static void *reader(void *argument) {
    for (int i = 0; i < rounds; i++) {
        struct timespec soon = after(CLOCK_REALTIME, 1);
        int error = i % 4 ? pthread_rwlock_rdlock(&shelf)
                          : pthread_rwlock_timedrdlock(&shelf, &soon);
        if (error == ETIMEDOUT)
            continue;
        REQUIRE(error == 0 && left == right);
        REQUIRE(pthread_rwlock_unlock(&shelf) == 0);
    }
    return argument;
}

static void *writer(void *argument) {
    for (int i = 0; i < rounds; i++) {
        int error;
        if (i % 4)
            error = pthread_rwlock_wrlock(&shelf);
        else
            while ((error = pthread_rwlock_trywrlock(&shelf)) == EBUSY)
                sched_yield();
        REQUIRE(error == 0);
        left++;
        __asm__ volatile("" ::: "memory");
        right++;
        REQUIRE(pthread_rwlock_unlock(&shelf) == 0);
    }
    return argument;
}

static void run(int count, void *(*start)(void *), void *(*other)(void *)) {
    pthread_t all[count];
    for (long i = 0; i < count; i++)
        REQUIRE(pthread_create(&all[i], NULL, i & 1 ? other : start, (void *)(i & 1)) == 0);
    for (int i = 0; i < count; i++)
        REQUIRE(pthread_join(all[i], NULL) == 0);
}

int main(int count, char **arguments) {
    REQUIRE(count == 3);
    rounds = atoi(arguments[1]);
    threads = atoi(arguments[2]);

    run(2, player, player);
    say("%d turns", turns);

    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&queue_lock, NULL);
    pthread_cond_init(&filled, &monotonic);
    pthread_cond_init(&emptied, NULL);
    run(threads, producer, consumer);
    say("%ld in the queue, sum %ld", last - first, sum_out);
    REQUIRE(pthread_cond_destroy(&filled) == 0 && pthread_cond_destroy(&emptied) == 0);

    open_gates();
    say("%d gates", rounds / 20);
    cancel_some();
    say("%d cancelled", rounds / 50);

    locks = calloc(LOCKS, sizeof *locks);
    counts = calloc(LOCKS, sizeof *counts);
    run(threads, worker, worker);
    long sum = 0;
    for (int i = 0; i < LOCKS; i++) {
        sum += counts[i];
        REQUIRE(pthread_mutex_destroy(&locks[i]) == 0);
    }
    say("%ld sections", sum);

    run(threads, reader, writer);
    say("%ld written", right);
    REQUIRE(pthread_rwlock_destroy(&shelf) == 0);

    // If a mutex has the C library's own lock, the number of its owner is here while it is held.
    pthread_mutex_lock(&table);
    say("@owner %d", ((int *)&table)[2] == thread_number());
    pthread_rwlock_wrlock(&shelf);
    say("@writer %d", ((int *)&shelf)[6] == thread_number());
    pthread_mutex_unlock(&table);
    return 0;
}
