/* An ordinary program with threads, for `syncline cluster --unmodified`. Each mode uses one kind of
 * function that synchronizes threads, and prints the same lines in every run. */
#include "ranks.h"

static long shared[8192];

/* A counter under a mutex, and an array that all threads write in turn. */
static void *adds(void *number) {
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&lock);
        shared[0]++;
        shared[1 + i % 4096] += (long)number;
        pthread_mutex_unlock(&lock);
    }
    return (void *)((long)number * 3);
}

static void mutexes(void) {
    run(adds);
    long sum = 0;
    for (int i = 1; i < 8192; i++) sum += shared[i];
    printf("%ld, %ld\n", shared[0], sum);

    pthread_mutexattr_t kind;
    pthread_mutex_t recursive, checked;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&checked, &kind);
    pthread_mutex_lock(&recursive);
    check(pthread_mutex_lock(&recursive) == 0, "recursive");
    check(pthread_mutex_trylock(&recursive) == 0, "recursive try");
    for (int i = 0; i < 3; i++) check(pthread_mutex_unlock(&recursive) == 0, "unlock");
    check(pthread_mutex_unlock(&recursive) == EPERM, "not held");
    pthread_mutex_lock(&checked);
    check(pthread_mutex_lock(&checked) == EDEADLK, "checked");
    check(pthread_mutex_unlock(&checked) == 0, "unlock");
    struct timespec soon;
    pthread_mutex_lock(&lock);
    check(pthread_mutex_trylock(&lock) == EBUSY, "busy");
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec = (soon.tv_nsec + 1000000) % 1000000000;
    check(pthread_mutex_timedlock(&lock, &soon) == ETIMEDOUT, "timed");
    pthread_mutex_unlock(&lock);
    check(pthread_mutex_destroy(&lock) == 0, "destroy");
}

/* A ring of threads that wake each other by condition variables. */
static pthread_cond_t turns[THREADS];
static int turn;

static void *takes_turns(void *argument) {
    long me = (long)argument;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&lock);
        while (turn != me) pthread_cond_wait(&turns[me], &lock);
        shared[i] = shared[i] * 5 + me;
        turn = (turn + 1) % THREADS;
        pthread_cond_signal(&turns[turn]);
        pthread_mutex_unlock(&lock);
    }
    return (void *)(me * 3);
}

static void conditions(void) {
    for (int i = 0; i < THREADS; i++) pthread_cond_init(&turns[i], NULL);
    run(takes_turns);
    for (int i = 0; i < ROUNDS; i++) check(shared[i] == 38, "turns");
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_t timed;
    pthread_cond_init(&timed, &attributes);
    struct timespec before, until, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    until = before;
    until.tv_sec += (until.tv_nsec + 20000000) / 1000000000;
    until.tv_nsec = (until.tv_nsec + 20000000) % 1000000000;
    pthread_mutex_lock(&lock);
    check(pthread_cond_timedwait(&timed, &lock, &until) == ETIMEDOUT, "timed out");
    check(pthread_mutex_trylock(&lock) == EBUSY, "held again");
    pthread_mutex_unlock(&lock);
    clock_gettime(CLOCK_MONOTONIC, &after);
    check((after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000 >= 19, "time");
    printf("turns taken\n");
}

/* A stencil between barriers: each thread writes its part, and reads its neighbours'. */
static pthread_barrier_t barrier;
static long cells[2][4096];
static int serial;

static void *relaxes(void *argument) {
    long me = (long)argument, from = me * 1024, to = from + 1024;
    for (int round = 0; round < 60; round++) {
        long *old = cells[round % 2], *new = cells[1 - round % 2];
        for (long i = from; i < to; i++) new[i] = old[(i + 4095) % 4096] + old[(i + 1) % 4096] + round;
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) serial++;
        pthread_barrier_wait(&barrier);
    }
    return (void *)(me * 3);
}

static void barriers(void) {
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < 4096; i++) cells[0][i] = i;
    run(relaxes);
    unsigned long hash = 0;
    for (int i = 0; i < 4096; i++) hash = hash * 31 + (unsigned long)cells[0][i];
    printf("%lx, %d\n", hash, serial);
}

/* Readers that check what a writer changes as a whole. */
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;

static void *reads_and_writes(void *argument) {
    long me = (long)argument;
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 10 == me) {
            pthread_rwlock_wrlock(&table_lock);
            for (int k = 0; k < 2000; k++) shared[k]++;
            pthread_rwlock_unlock(&table_lock);
        } else {
            pthread_rwlock_rdlock(&table_lock);
            check(shared[0] == shared[1999], "as a whole");
            pthread_rwlock_unlock(&table_lock);
        }
    }
    return (void *)(me * 3);
}

static void readers(void) {
    run(reads_and_writes);
    pthread_rwlock_wrlock(&table_lock);
    check(pthread_rwlock_tryrdlock(&table_lock) == EBUSY, "try");
    check(pthread_rwlock_wrlock(&table_lock) == EDEADLK, "twice");
    pthread_rwlock_unlock(&table_lock);
    printf("%ld %ld\n", shared[0], shared[1999]);
}

/* A bounded buffer of semaphores, between two and two threads. */
static sem_t full, empty;
static long buffer[8], in, out, consumed;

static void *produces_or_consumes(void *argument) {
    long me = (long)argument;
    for (long i = 0; i < ROUNDS; i++) {
        if (me % 2) {
            sem_wait(&empty);
            pthread_mutex_lock(&lock);
            buffer[in++ % 8] = i;
            pthread_mutex_unlock(&lock);
            sem_post(&full);
        } else {
            sem_wait(&full);
            pthread_mutex_lock(&lock);
            consumed += buffer[out++ % 8];
            pthread_mutex_unlock(&lock);
            sem_post(&empty);
        }
    }
    return (void *)(me * 3);
}

/* Data that only semaphores order: each thread changes it and passes it on. */
static sem_t passes[THREADS];

static void *passes_on(void *argument) {
    long me = (long)argument;
    for (int i = 0; i < 50; i++) {
        sem_wait(&passes[me]);
        for (int k = 1000; k < 3000; k++) shared[k] = shared[k] * 3 + me;
        sem_post(&passes[(me + 1) % THREADS]);
    }
    return (void *)(me * 3);
}

static void relay(void) {
    for (int i = 0; i < THREADS; i++) sem_init(&passes[i], 0, i == 0);
    run(passes_on);
    unsigned long hash = 0;
    for (int k = 1000; k < 3000; k++) hash = hash * 31 + (unsigned long)shared[k];
    printf("%lx\n", hash);
}

static void semaphores(void) {
    relay();
    sem_init(&full, 0, 0);
    sem_init(&empty, 0, 8);
    run(produces_or_consumes);
    int left = -1;
    sem_getvalue(&empty, &left);
    check(sem_trywait(&full) == -1 && errno == EAGAIN, "nothing left");
    printf("%ld, %d\n", consumed, left);
}

/* What is done once, what each thread has of its own, and its destructor. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static __thread long own;

static void destroys(void *value) {
    pthread_mutex_lock(&lock);
    shared[2] += *(long *)value;
    pthread_mutex_unlock(&lock);
    free(value);
}

static void first(void) {
    shared[0]++;
    for (int i = 4096; i < 8000; i++) shared[i] = i;
    check(pthread_key_create(&key, destroys) == 0, "key");
}

static void *has_its_own(void *argument) {
    long me = (long)argument;
    /* The threads' ranks get copies of the pages before the pages are filled. */
    long before = 0;
    for (int i = 8000; i > 4096; i -= 100) before += ((volatile char *)shared)[i * 8 + 100 * 8 - 1];
    check(before == 0, "high bytes");
    if (me) usleep(30000);
    pthread_once(&once, first);
    for (int i = 4096; i < 8000; i++) check(shared[i] == i, "seen once");
    check(pthread_getspecific(key) == NULL, "no value yet");
    long *value = malloc(sizeof *value);
    *value = me + 1;
    pthread_setspecific(key, value);
    for (int i = 0; i < 100; i++) {
        own += me;
        sched_yield();
        check(pthread_getspecific(key) == value, "own value");
    }
    check(own == 100 * me, "thread-local");
    check(pthread_equal(pthread_self(), threads[me]), "self");
    if (me == 2) pthread_exit((void *)(me * 3));
    return (void *)(me * 3);
}

static void once_and_own(void) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    /* `threads` is complete only after all have been created. */
    static pthread_barrier_t created;
    (void)created;
    run(has_its_own);
    printf("%ld %ld\n", shared[0], shared[2]);
}

/* Threads of C, and detached ones. */
static mtx_t plain;
static once_flag flag = ONCE_FLAG_INIT;

static void counts_once(void) { shared[1]++; }

static int adds_in_c(void *argument) {
    call_once(&flag, counts_once);
    for (int i = 0; i < ROUNDS; i++) {
        mtx_lock(&plain);
        shared[0]++;
        mtx_unlock(&plain);
    }
    return (int)(long)argument;
}

static void *ends_alone(void *argument) {
    sem_post(argument);
    return NULL;
}

static void of_c(void) {
    thrd_t all[THREADS];
    mtx_init(&plain, mtx_plain);
    for (long i = 0; i < THREADS; i++) check(thrd_create(&all[i], adds_in_c, (void *)i) == thrd_success, "create");
    for (int i = 0; i < THREADS; i++) {
        int result;
        check(thrd_join(all[i], &result) == thrd_success && result == i, "join");
    }
    sem_t ended;
    sem_init(&ended, 0, 0);
    for (int i = 0; i < 3000; i++) {
        pthread_t thread;
        while (pthread_create(&thread, NULL, ends_alone, &ended) == EAGAIN) sched_yield();
        check(pthread_detach(thread) == 0, "detach");
        sem_wait(&ended);
    }
    printf("%ld %ld\n", shared[0], shared[1]);
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    if (!strcmp(mode, "mutexes")) mutexes();
    else if (!strcmp(mode, "conditions")) conditions();
    else if (!strcmp(mode, "barriers")) barriers();
    else if (!strcmp(mode, "readers")) readers();
    else if (!strcmp(mode, "semaphores")) semaphores();
    else if (!strcmp(mode, "once")) once_and_own();
    else if (!strcmp(mode, "c")) of_c();
    else return 2;
    return 0;
}
