/* An ordinary program with threads, for `syncline cluster --unmodified`. Each mode uses one kind of
 * function over several threads, and prints the same lines in every run. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS 300

static pthread_t threads[THREADS];
static long shared[8192];
static char name[64];

static void check(int right, const char *what) {
    if (right) return;
    printf("wrong: %s\n", what);
    fflush(stdout);
    _exit(1);
}

static void run(void *(*body)(void *)) {
    for (long i = 0; i < THREADS; i++) check(pthread_create(&threads[i], NULL, body, (void *)i) == 0, "create");
    for (long i = 0; i < THREADS; i++) {
        void *result = NULL;
        check(pthread_join(threads[i], &result) == 0, "join");
        check(result == (void *)(i * 3), "result");
    }
}

/* A counter under a mutex, and an array that all threads write in turn. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

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

/* Memory that one thread allocates and another one frees; blocks grow; large blocks and mmap. */
static char *blocks[64];

static void *allocates(void *argument) {
    long me = (long)argument;
    for (int round = 0; round < 40; round++) {
        pthread_mutex_lock(&lock);
        for (long i = me; i < 64; i += THREADS) {
            long from = (i + 1) % 64;
            if (blocks[from]) {
                check(blocks[from][0] == blocks[from][99], "content");
                free(blocks[from]);
            }
            blocks[from] = malloc(100 + (size_t)i * 200);
            memset(blocks[from], (int)('a' + me), 100 + (size_t)i * 200);
            if (i % 8 == 0) {
                blocks[from] = realloc(blocks[from], 60000);
                check(blocks[from][99] == (char)('a' + me), "moved");
            }
        }
        pthread_mutex_unlock(&lock);
    }
    char *zero = calloc(3, 5000), *aligned = NULL;
    for (int i = 0; i < 15000; i++) check(zero[i] == 0, "zero");
    check(posix_memalign((void **)&aligned, 8192, 100) == 0 && (size_t)aligned % 8192 == 0, "aligned");
    char *mapped = mmap(NULL, 50000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(mapped != MAP_FAILED && mapped[49999] == 0, "mapped");
    check(munmap(mapped, 50000) == 0, "unmapped");
    free(zero);
    free(aligned);
    return (void *)(me * 3);
}

static void allocations(void) {
    run(allocates);
    check(malloc((size_t)1 << 50) == NULL && errno == ENOMEM, "too much");
    for (int i = 0; i < 64; i++) check(blocks[i] != NULL, "left");
    printf("allocated\n");
}

/* Files: a thread reads and writes what another one has opened, and opens files of its own. */
static int file;

static void *uses_files(void *argument) {
    long me = (long)argument;
    char *large = malloc(200000), path[96];
    for (int i = 0; i < 200000; i++) large[i] = (char)('a' + (i + me) % 26);
    pthread_mutex_lock(&lock);
    check(pwrite(file, large, 200000, me * 200000) == 200000, "pwrite");
    pthread_mutex_unlock(&lock);
    memset(large, 0, 200000);
    check(pread(file, large, 200000, me * 200000) == 200000, "pread");
    for (int i = 0; i < 200000; i++) check(large[i] == (char)('a' + (i + me) % 26), "read back");
    snprintf(path, sizeof path, "%s.%ld", name, me);
    FILE *text = fopen(path, "w+");
    check(text != NULL, "fopen");
    for (int i = 0; i < 1000; i++) fprintf(text, "line %d of %ld\n", i, me);
    rewind(text);
    char line[64];
    int lines = 0;
    while (fgets(line, sizeof line, text)) lines++;
    check(lines == 1000, "lines");
    fclose(text);
    struct stat status;
    check(stat(path, &status) == 0 && status.st_size > 13000, "stat");
    check(unlink(path) == 0, "unlink");
    check(open("/nonexistent", O_RDONLY) == -1 && errno == ENOENT, "errno");
    free(large);
    return (void *)(me * 3);
}

static void files(void) {
    file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    check(file >= 0, "open");
    run(uses_files);
    struct stat status;
    fstat(file, &status);
    printf("%ld bytes\n", (long)status.st_size);
    int ends[2];
    check(pipe(ends) == 0, "pipe");
    check(write(ends[1], "over", 5) == 5, "write to a pipe");
    char *text = malloc(8192);
    check(read(ends[0], text + 4090, 5) == 5 && strcmp(text + 4090, "over") == 0, "over two pages");
    unlink(name);
}

/* Lines of several threads, in the order in which they synchronize. */
static int printed;

static void *prints(void *argument) {
    long me = (long)argument;
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&lock);
        while (printed % THREADS != me) {
            pthread_mutex_unlock(&lock);
            sched_yield();
            pthread_mutex_lock(&lock);
        }
        printf("line %d\n", printed++);
        pthread_mutex_unlock(&lock);
    }
    return (void *)(me * 3);
}

static void output(void) {
    printf("first\n");
    run(prints);
    printf("last\n");
}

/* Handlers of signals, on a thread that uses memory which is global. */
static volatile sig_atomic_t handled;

static void handler(int signal) {
    char room[3000];
    memset(room, signal, sizeof room);
    handled += room[2999] == (char)signal;
}

/* A signal for a thread, which may be on another rank than the one that has set the action. */
static __thread volatile sig_atomic_t handled_here;

static void handler_here(int signal) { handled_here = signal; }

static void *awaits_signal(void *started) {
    sem_post(started);
    struct timespec moment = {.tv_nsec = 1000000};
    while (!handled_here) nanosleep(&moment, NULL);
    return (void *)(long)handled_here;
}

static void signal_for_each_thread(void) {
    sem_t started;
    sem_init(&started, 0, 0);
    signal(SIGUSR2, handler_here);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_create(&threads[0], NULL, awaits_signal, &started);
        sem_wait(&started);
        check(pthread_kill(threads[0], SIGUSR2) == 0, "kill");
        pthread_join(threads[0], &result);
        check(result == (void *)SIGUSR2, "the signal");
    }
}

static void signals(void) {
    signal_for_each_thread();
    struct sigaction action = {.sa_handler = handler}, before;
    check(sigaction(SIGUSR1, &action, NULL) == 0, "action");
    check(sigaction(SIGUSR1, NULL, &before) == 0 && before.sa_handler == handler, "kept");
    for (int i = 0; i < 10; i++) raise(SIGUSR1);
    sigset_t set, old;
    sigfillset(&set);
    check(pthread_sigmask(SIG_SETMASK, &set, &old) == 0, "block");
    raise(SIGUSR1);
    check(handled == 10, "blocked");
    /* A page that is absent, with all signals blocked. */
    char *fresh = malloc(1 << 20);
    memset(fresh, 1, 1 << 20);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    check(handled == 11, "delivered");
    signal(SIGALRM, handler);
    struct timespec rest = {.tv_nsec = 50000000};
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    check(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "timer");
    struct itimerspec soon = {.it_value = {.tv_nsec = 5000000}};
    timer_settime(timer, 0, &soon, NULL);
    check(nanosleep(&rest, NULL) == -1 && errno == EINTR, "interrupted");
    printf("%d handled\n", (int)handled);
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

/* The end of the program from a thread: functions of `atexit`, buffers and the status. */
static void at_the_end(void) { printf("at the end\n"); }

static void *ends_all(void *argument) {
    pthread_mutex_lock(&lock);
    printf("ends\n");
    if (argument == (void *)1) exit(7);
    pthread_mutex_unlock(&lock);
    pause();
    return NULL;
}

static void ends(int which) {
    atexit(at_the_end);
    printf("begins\n");
    pthread_create(&threads[0], NULL, ends_all, (void *)(long)which);
    pthread_join(threads[0], NULL);
}

extern char **environ;

static void *reads_arguments(void *argument) {
    char **words = argument;
    check(strcmp(words[1], "arguments") == 0, "argument");
    check(getenv("SYNCLINE_TEST") && strcmp(getenv("SYNCLINE_TEST"), "set") == 0, "variable");
    return NULL;
}

/* Stacks: deep recursion, and variables of a stack that other threads write. */
static long deep(int levels) {
    volatile char room[4000];
    room[0] = (char)levels;
    return levels ? deep(levels - 1) + room[0] % 2 : 0;
}

static void *writes_to_stack(void *argument) {
    long *cell = argument;
    deep(200);
    for (int i = 0; i < 1000; i++) ++*cell;
    return NULL;
}

static void stacks(void) {
    long on_stack[THREADS] = {0};
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, writes_to_stack, &on_stack[i]);
    long levels = deep(1500);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) check(on_stack[i] == 1000, "on the stack");
    printf("%ld\n", levels);
}

static void *overflows(void *unused) {
    printf("%ld\n", deep(1 << 20));
    return unused;
}

static void *kills(void *unused) {
    pthread_kill(pthread_self(), SIGKILL);
    return unused;
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    snprintf(name, sizeof name, "%s", argc > 2 ? argv[2] : "");
    if (!strcmp(mode, "mutexes")) mutexes();
    else if (!strcmp(mode, "conditions")) conditions();
    else if (!strcmp(mode, "barriers")) barriers();
    else if (!strcmp(mode, "readers")) readers();
    else if (!strcmp(mode, "semaphores")) semaphores();
    else if (!strcmp(mode, "once")) once_and_own();
    else if (!strcmp(mode, "allocations")) allocations();
    else if (!strcmp(mode, "files")) files();
    else if (!strcmp(mode, "output")) output();
    else if (!strcmp(mode, "signals")) signals();
    else if (!strcmp(mode, "c")) of_c();
    else if (!strcmp(mode, "exit")) ends(1);
    else if (!strcmp(mode, "arguments")) {
        pthread_create(&threads[0], NULL, reads_arguments, argv);
        pthread_join(threads[0], NULL);
        printf("%d arguments\n", argc);
    } else if (!strcmp(mode, "stacks")) stacks();
    else if (!strcmp(mode, "overflow")) {
        pthread_create(&threads[0], NULL, overflows, NULL);
        pthread_join(threads[0], NULL);
    } else if (!strcmp(mode, "killed")) {
        pthread_create(&threads[0], NULL, kills, NULL);
        pthread_join(threads[0], NULL);
    }
    else return 2;
    return 0;
}
