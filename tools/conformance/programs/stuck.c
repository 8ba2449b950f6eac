/* Threads that can't go on, until an alarm ends the process: stuck MODE [SECONDS]. With the mode
   `interrupted`, the process ends by itself when the alarm has come. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both_have_one;
static int is_ready;

static void *first_then_second(void *argument) {
    pthread_mutex_lock(&first);
    pthread_barrier_wait(&both_have_one);
    pthread_mutex_lock(&second);
    return argument;
}

static void *second_then_first(void *argument) {
    pthread_mutex_lock(&second);
    pthread_barrier_wait(&both_have_one);
    pthread_mutex_lock(&first);
    return argument;
}

static void *twice(void *argument) {
    pthread_mutex_lock(&first);
    pthread_mutex_lock(&first);
    return argument;
}

/* The signal comes before the wait, and the waiter does not check whether it has come. */
static void *announce(void *argument) {
    pthread_mutex_lock(&first);
    is_ready = 1;
    pthread_cond_signal(&ready);
    pthread_mutex_unlock(&first);
    return argument;
}

static void wait_too_late(void) {
    pthread_mutex_lock(&first);
    pthread_cond_wait(&ready, &first);
    pthread_mutex_unlock(&first);
}

/* A lock of the program's own, held by this thread already: a futex does not name its holder. */
static void *own_lock_twice(void *argument) {
    static int taken = 1;
    syscall(SYS_futex, &taken, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
    return argument;
}

static void *one_lock(void *argument) {
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
    return argument;
}

static void join_with_lock(void) {
    pthread_t thread;
    pthread_mutex_lock(&first);
    pthread_create(&thread, NULL, one_lock, NULL);
    pthread_join(thread, NULL);
    pthread_mutex_unlock(&first);
}

/* The caller waits for a condition with another lock held, which `one_lock` waits for. */
static void wait_with_lock(void) {
    pthread_t thread;
    pthread_mutex_lock(&first);
    pthread_create(&thread, NULL, one_lock, NULL);
    pthread_mutex_lock(&second);
    pthread_cond_wait(&ready, &second);
    pthread_mutex_unlock(&second);
    pthread_mutex_unlock(&first);
}

static void *writes(void *argument) {
    static const char zeros[1 << 20];
    int pipes[2];
    while (pipe(pipes) == 0 && write(pipes[1], zeros, sizeof zeros) < 0)
        ;
    return argument;
}

/* Ends with the lock, which `one_lock` then waits for. */
static void *forgets(void *argument) {
    pthread_mutex_lock(&first);
    return argument;
}

static sem_t request, answer;

static void nothing(int number) { (void)number; }

static void *waits_for_requests(void *argument) {
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    while (sem_wait(&request) != 0) {
    }
    return argument;
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    pthread_t one, other;
    alarm(argc > 2 ? atoi(argv[2]) : 2);
    pthread_barrier_init(&both_have_one, NULL, 2);
    if (strcmp(mode, "deadlock") == 0) {
        pthread_create(&one, NULL, first_then_second, NULL);
        pthread_create(&other, NULL, second_then_first, NULL);
        pthread_join(one, NULL);
    } else if (strcmp(mode, "itself") == 0) {
        pthread_create(&one, NULL, twice, NULL);
        pthread_join(one, NULL);
    } else if (strcmp(mode, "alone") == 0) {
        twice(NULL);
    } else if (strcmp(mode, "own") == 0) {
        pthread_create(&one, NULL, own_lock_twice, NULL);
        pthread_join(one, NULL);
    } else if (strcmp(mode, "join") == 0) {
        join_with_lock();
    } else if (strcmp(mode, "held") == 0) {
        pthread_create(&other, NULL, writes, NULL);
        wait_with_lock();
    } else if (strcmp(mode, "ended") == 0) {
        pthread_create(&one, NULL, forgets, NULL);
        pthread_join(one, NULL);
        pthread_create(&other, NULL, one_lock, NULL);
        pthread_join(other, NULL);
    } else if (strcmp(mode, "interrupted") == 0) {
        /* The first thread waits for an answer until a signal comes. */
        sigaction(SIGALRM, &(struct sigaction){.sa_handler = nothing}, NULL);
        pthread_create(&other, NULL, waits_for_requests, NULL);
        while (sem_wait(&answer) == 0) {
        }
    } else if (strcmp(mode, "lost") == 0) {
        pthread_create(&one, NULL, announce, NULL);
        pthread_join(one, NULL);
        wait_too_late();
    } else {
        /* Another thread may still signal what is waited for. */
        pthread_create(&one, NULL, announce, NULL);
        pthread_join(one, NULL);
        pthread_mutex_lock(&second);
        pthread_create(&other, NULL, second_then_first, NULL);
        for (;;) pause();
    }
    return 0;
}
