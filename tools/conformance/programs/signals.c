// Thousands of signals a second while threads use locks all the time: signals MODE.
//
// `post`: the handler posts a semaphore and tries two mutexes. One of them is always the same, and
// the other is a new one each time. The interrupted code is mostly at a new mutex, too.
//
// `jump`: the handler leaves by siglongjmp, out of a wait or out of plain code.
//
// `jump-out`: the handler leaves out of operations on new semaphores, mostly out of the recorder's
// code.
#include "truth.h"
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

enum { THREADS = 2, WANTED = 400, MOST = 4 * WANTED, JUMPS = 100, HEAVY = 1 << 18 };

static pthread_mutex_t heavy[THREADS][HEAVY], of_handler = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t fresh[MOST];
static sem_t posted, never;
static unsigned long handled, locked[THREADS];
static int enough;

static void handler(int number) {
    (void)number;
    int saved = errno;
    unsigned long mine = __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
    REQUIRE(mine < MOST);
    sem_post(&posted);
    // The handler in another thread may hold it.
    if (pthread_mutex_trylock(&of_handler) == 0)
        pthread_mutex_unlock(&of_handler);
    REQUIRE(pthread_mutex_trylock(&fresh[mine]) == 0);
    REQUIRE(pthread_mutex_unlock(&fresh[mine]) == 0);
    if (mine >= WANTED)
        __atomic_store_n(&enough, 1, __ATOMIC_RELAXED);
    errno = saved;
}

static void block_alarm(void) {
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    REQUIRE(pthread_sigmask(SIG_BLOCK, &alarm, NULL) == 0);
}

static void *work(void *argument) {
    long number = (long)argument;
    for (unsigned i = 0; !__atomic_load_n(&enough, __ATOMIC_RELAXED); i++) {
        pthread_mutex_t *m = &heavy[number][i % HEAVY];
        pthread_mutex_lock(m);
        locked[number]++;
        pthread_mutex_unlock(m);
    }
    // Once a thread has run its destructors, a signal handler's operations in it are not counted.
    block_alarm();
    return NULL;
}

static void tick(void (*handle)(int), int microseconds) {
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    struct itimerval every = {{0, microseconds}, {0, microseconds}};
    REQUIRE(sigaction(SIGALRM, &action, NULL) == 0);
    REQUIRE(setitimer(ITIMER_REAL, &every, NULL) == 0);
}

static void quiet(void) {
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
    signal(SIGALRM, SIG_IGN);
}

static void post(void) {
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    // This thread only waits, and the signals must interrupt the other threads.
    block_alarm();
    tick(handler, 250);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    quiet();
    int value;
    sem_getvalue(&posted, &value);
    REQUIRE((unsigned long)value == handled);
    say("handled");
    say("@handled %lu", handled);
    expect_all("MutexLock", locked[0] + locked[1]);
}

static sigjmp_buf back;
static volatile int may_jump;

static void jump_handler(int number) {
    (void)number;
    if (may_jump) {
        may_jump = 0;
        siglongjmp(back, 1);
    }
}

static void jump(void) {
    static volatile int out_of_wait, out_of_code;
    static volatile unsigned long count;
    tick(jump_handler, 1000);
    while (out_of_wait < JUMPS) {
        if (sigsetjmp(back, 1) == 0) {
            may_jump = 1;
            sem_wait(&never);
        }
        out_of_wait++;
        pthread_mutex_lock(&of_handler);
        count++;
        pthread_mutex_unlock(&of_handler);
    }
    while (out_of_code < JUMPS) {
        if (sigsetjmp(back, 1) == 0) {
            may_jump = 1;
            for (;;)
                __asm__ volatile("" ::: "memory");
        }
        out_of_code++;
        pthread_mutex_lock(&of_handler);
        count++;
        pthread_mutex_unlock(&of_handler);
    }
    quiet();
    say("jumped %d %d", out_of_wait, out_of_code);
    expect("MutexLock", &of_handler, count);
    expect("SemWait", &never, 0);
}

// There are so many that most signals come while the recorder makes a row for a semaphore.
enum { NEW = 16384 };
static sem_t new_at_one[NEW], new_at_another[NEW];

static void jump_out(void) {
    static volatile int first, second;
    static volatile unsigned long count;
    tick(jump_handler, 50);
    sigsetjmp(back, 1);
    may_jump = 1;
    while (first < NEW)
        sem_init(&new_at_one[first++], 0, 0);
    while (second < NEW)
        sem_init(&new_at_another[second++], 0, 0);
    may_jump = 0;
    quiet();
    for (int i = 0; i < JUMPS; i++) {
        pthread_mutex_lock(&of_handler);
        count++;
        pthread_mutex_unlock(&of_handler);
    }
    say("jumped");
    expect("MutexLock", &of_handler, count);
}

int main(int count, char **arguments) {
    REQUIRE(count == 2 && sem_init(&posted, 0, 0) == 0 && sem_init(&never, 0, 0) == 0);
    expect("SemInit", &never, 1);
    if (strcmp(arguments[1], "jump") == 0)
        jump();
    else if (strcmp(arguments[1], "jump-out") == 0)
        jump_out();
    else
        post();
    return 0;
}
