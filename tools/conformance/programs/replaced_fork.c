// Forks while threads wait for locks that are held during the fork. Some of these are held by
// handlers of pthread_atfork, and others by the forking thread itself. In the child, the locks must
// be usable at once, even by new threads that ask for them while the forking thread still holds
// them.
//
// The arguments are the number of children, the number of threads for each lock, and how often the
// threads of a child use the locks.
#include "replaced_fork.h"
#include <signal.h>
#include <sys/wait.h>

// The first FREE locks are free when the fork's handlers have run.
enum { LOCKS = 7, FREE = 4, MOST_THREADS = 2 * LOCKS };

// These locks are held by the forking thread itself.
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t book = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t needle;
static int rounds;
// While a child lives, the threads of its parent pause, so that the child gets the processors.
static volatile int stop, resting;
static long counts[LOCKS];
// For each lock, how many threads use it or wait for it.
static int coming[LOCKS];

static void use(int lock) {
    switch (lock) {
    case 0:
        pthread_mutex_lock(&plain);
        counts[lock]++;
        pthread_mutex_unlock(&plain);
        break;
    case 1:
        pthread_mutex_lock(&recursive);
        counts[lock]++;
        pthread_mutex_unlock(&recursive);
        break;
    case 2:
        pthread_rwlock_wrlock(&shelf);
        counts[lock]++;
        pthread_rwlock_unlock(&shelf);
        break;
    case 3:
        pthread_spin_lock(&pin);
        counts[lock]++;
        pthread_spin_unlock(&pin);
        break;
    case 4:
        pthread_mutex_lock(&held);
        counts[lock]++;
        pthread_mutex_unlock(&held);
        break;
    case 5:
        pthread_rwlock_wrlock(&book);
        counts[lock]++;
        pthread_rwlock_unlock(&book);
        break;
    case 6:
        pthread_spin_lock(&needle);
        counts[lock]++;
        pthread_spin_unlock(&needle);
    }
}

// Uses one lock. There is such a thread for each lock, so that threads wait for every lock.
static void *work(void *argument) {
    int lock = *(int *)argument;
    while (!stop) {
        if (resting) {
            sleep_ms(1);
            continue;
        }
        __atomic_add_fetch(&coming[lock], 1, __ATOMIC_ACQ_REL);
        use(lock);
        __atomic_sub_fetch(&coming[lock], 1, __ATOMIC_ACQ_REL);
    }
    return argument;
}

static void *work_some(void *argument) {
    for (int i = 0; i < rounds; i++)
        for (int lock = 0; lock < LOCKS; lock++)
            use(lock);
    return argument;
}

static void *refused(void *argument) {
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec += 2000000;
    soon.tv_sec += soon.tv_nsec / 1000000000;
    soon.tv_nsec %= 1000000000;
    REQUIRE(pthread_mutex_trylock(&held) == EBUSY);
    REQUIRE(pthread_mutex_timedlock(&held, &soon) == ETIMEDOUT);
    REQUIRE(pthread_rwlock_tryrdlock(&book) == EBUSY);
    REQUIRE(pthread_rwlock_timedrdlock(&book, &soon) == ETIMEDOUT);
    REQUIRE(pthread_rwlock_timedwrlock(&book, &soon) == ETIMEDOUT);
    REQUIRE(pthread_spin_trylock(&needle) == EBUSY);
    return argument;
}

static void run_child(void) {
    alarm(20);
    for (int lock = 0; lock < FREE; lock++)
        use(lock);
    memset(counts, 0, sizeof counts);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        REQUIRE(pthread_create(&threads[i], NULL, work_some, NULL) == 0);
    // The new threads wait for the locks that are still held.
    sleep_ms(5);
    REQUIRE(counts[4] == 0);
    pthread_t other;
    REQUIRE(pthread_create(&other, NULL, refused, NULL) == 0);
    pthread_join(other, NULL);
    REQUIRE(pthread_mutex_unlock(&held) == 0);
    REQUIRE(pthread_rwlock_unlock(&book) == 0);
    REQUIRE(pthread_spin_unlock(&needle) == 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < LOCKS; i++)
        REQUIRE(counts[i] == 2 * rounds);
    _exit(0);
}

int main(int count, char **words) {
    REQUIRE(count == 4);
    int most = atoi(words[1]), many = atoi(words[2]) * LOCKS;
    rounds = atoi(words[3]);
    REQUIRE(many <= MOST_THREADS && pthread_spin_init(&needle, PTHREAD_PROCESS_PRIVATE) == 0);
    pthread_t threads[MOST_THREADS];
    int locks[MOST_THREADS];
    for (int i = 0; i < many; i++) {
        locks[i] = i % LOCKS;
        REQUIRE(pthread_create(&threads[i], NULL, work, &locks[i]) == 0);
    }
    int children = 0;
    for (int i = 0; i < most; i++) {
        pthread_mutex_lock(&held);
        pthread_rwlock_wrlock(&book);
        pthread_spin_lock(&needle);
        resting = 0;
        // Waits until other threads have come for the held locks, and then long enough for them to
        // enter the queues.
        for (int lock = FREE; lock < LOCKS; lock++)
            while (__atomic_load_n(&coming[lock], __ATOMIC_ACQUIRE) < many / LOCKS)
                sleep_ms(1);
        sleep_ms(2);
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0)
            run_child();
        resting = 1;
        pthread_spin_unlock(&needle);
        pthread_rwlock_unlock(&book);
        pthread_mutex_unlock(&held);
        int status;
        REQUIRE(waitpid(child, &status, 0) == child && status == 0);
        children++;
    }
    stop = 1;
    for (int i = 0; i < many; i++)
        pthread_join(threads[i], NULL);
    say("%d children", children);
    return 0;
}
