// Does much of what a process can do while Syncline is attached to it, and checks that nothing is
// lost. It runs until its standard input ends.
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(what) \
    do { \
        if (!(what)) { \
            printf("line %d: %s\n", __LINE__, #what); \
            fflush(stdout); \
            abort(); \
        } \
    } while (0)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t readers = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t turns = PTHREAD_COND_INITIALIZER;
static long counted;
static int turn;
static atomic_long expected, signals;
static atomic_int ends;
static const char *library;

static void on_signal(int number) {
    (void)number;
    int before = errno;
    atomic_fetch_add(&signals, 1);
    errno = before;
}

static void count_some(int times) {
    for (int n = 0; n < times; n++) {
        CHECK(pthread_mutex_lock(&lock) == 0);
        counted++;
        CHECK(pthread_mutex_unlock(&lock) == 0);
    }
    atomic_fetch_add(&expected, times);
}

static void *brief(void *unused) {
    count_some(20);
    return unused;
}

static void *spawner(void *unused) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    CHECK(pthread_attr_setstacksize(&small, 16384) == 0);
    while (!ends) {
        pthread_t threads[4];
        int words[4];
        for (int n = 0; n < 4; n++)
            CHECK(pthread_create(&threads[n], &small, brief, &words[n]) == 0);
        for (int n = 0; n < 4; n++) {
            void *result;
            CHECK(pthread_join(threads[n], &result) == 0 && result == &words[n]);
        }
        usleep(500);
    }
    return unused;
}

static void *player(void *own) {
    int mine = own != NULL;
    while (!ends) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 1;
        CHECK(pthread_mutex_lock(&lock) == 0);
        while (turn != mine && !ends) {
            int result = pthread_cond_timedwait(&turns, &lock, &until);
            CHECK(result == 0 || result == ETIMEDOUT);
            if (result == ETIMEDOUT)
                break;
        }
        if (turn == mine)
            turn = !mine;
        CHECK(pthread_cond_signal(&turns) == 0);
        CHECK(pthread_mutex_unlock(&lock) == 0);
        CHECK(pthread_rwlock_rdlock(&readers) == 0);
        CHECK(pthread_rwlock_unlock(&readers) == 0);
    }
    return own;
}

static void *opener(void *unused) {
    while (!ends) {
        void *opened = dlopen(library, RTLD_NOW);
        CHECK(opened);
        int (*work)(void) = (int (*)(void))dlsym(opened, "work");
        CHECK(work() == 1000);
        CHECK(dlclose(opened) == 0);
        usleep(2000);
    }
    return unused;
}

static void *forker(void *unused) {
    for (int n = 0; !ends; n++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
            for (int i = 0; i < 100; i++) {
                pthread_mutex_lock(&own);
                pthread_mutex_unlock(&own);
            }
            if (n % 2)
                execl("/bin/true", "true", (char *)NULL);
            // Some children still run when the recording in which they were forked has ended.
            usleep(n % 4 ? 0 : 200000);
            pthread_mutex_lock(&own);
            _exit(pthread_mutex_unlock(&own));
        }
        int status;
        pid_t ended;
        do
            ended = waitpid(child, &status, 0);
        while (ended < 0 && errno == EINTR);
        CHECK(ended == child && status == 0);
        usleep(5000);
    }
    return unused;
}

static void *sleeper(void *unused) {
    while (!ends) {
        struct timespec wanted = {0, 30000000}, from, to;
        clock_gettime(CLOCK_MONOTONIC, &from);
        while (nanosleep(&wanted, &wanted) != 0)
            CHECK(errno == EINTR);
        clock_gettime(CLOCK_MONOTONIC, &to);
        long slept = (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000;
        CHECK(slept >= 29);
        poll(NULL, 0, 5);
    }
    return unused;
}

int main(int count, char **words) {
    library = words[count - 1];
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 3000}, {0, 3000}};
    setitimer(ITIMER_REAL, &often, NULL);
    void *(*all[])(void *) = {spawner, player, player, opener, forker, sleeper, sleeper};
    pthread_t threads[7];
    for (int n = 0; n < 7; n++)
        CHECK(pthread_create(&threads[n], NULL, all[n], n == 2 ? &turn : NULL) == 0);
    char byte;
    ssize_t got;
    do {
        struct pollfd input = {0, POLLIN, 0};
        poll(&input, 1, 10);
        count_some(50);
        got = input.revents ? read(0, &byte, 1) : 1;
    } while (got != 0);
    ends = 1;
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&turns);
    pthread_mutex_unlock(&lock);
    for (int n = 0; n < 7; n++)
        CHECK(pthread_join(threads[n], NULL) == 0);
    CHECK(counted == expected && signals > 0);
    printf("all right\n");
    return 0;
}
