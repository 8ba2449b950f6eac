/* For the programs that `syncline cluster --unmodified` runs: four threads, and what they share. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <pwd.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#define THREADS 4
#define ROUNDS 300

static pthread_t threads[THREADS];

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

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
