// The cost of an uncontended pair of calls, such as lock and unlock.
//
//     pair OPERATION THREADS BATCHES PAIRS
//
// Runs a loop of PAIRS pairs BATCHES times. Prints the median over the batches of the nanoseconds
// that a pair took. A batch is short, so an interrupt disturbs one batch and not the median. If
// THREADS is 2, there is a second thread, which only sleeps: in a process with a second thread,
// glibc no longer leaves out the atomic instructions.
#include "common.h"

#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spinlock;
static sem_t semaphore;

// Each on a cache line of its own.
static struct {
    pthread_mutex_t mutex;
} __attribute__((aligned(64))) sixteen[16];

static volatile long counter;

// Each operation has a loop of its own, so that the loop has nothing but the calls.
#define LOOP(name, pair)               \
    static void name(long pairs) {     \
        for (long i = 0; i < pairs; i++) { \
            pair;                      \
        }                              \
    }

LOOP(lock, pthread_mutex_lock(&mutex); counter++; pthread_mutex_unlock(&mutex))
LOOP(trylock, if (pthread_mutex_trylock(&mutex) == 0) { counter++; pthread_mutex_unlock(&mutex); })
LOOP(read_lock, pthread_rwlock_rdlock(&rwlock); counter++; pthread_rwlock_unlock(&rwlock))
LOOP(write_lock, pthread_rwlock_wrlock(&rwlock); counter++; pthread_rwlock_unlock(&rwlock))
LOOP(spin, pthread_spin_lock(&spinlock); counter++; pthread_spin_unlock(&spinlock))
LOOP(post_wait, sem_post(&semaphore); counter++; sem_wait(&semaphore))
LOOP(cond_signal, pthread_cond_signal(&cond); counter++)

// A loop with as many call sites and locks as a server's request may have.
#define SITE(i)                              \
    pthread_mutex_lock(&sixteen[i].mutex);   \
    counter++;                               \
    pthread_mutex_unlock(&sixteen[i].mutex);
#define FOUR_SITES(i) SITE(i) SITE(i + 1) SITE(i + 2) SITE(i + 3)

static void sites(long pairs) {
    for (long i = 0; i < pairs; i += 16) {
        FOUR_SITES(0) FOUR_SITES(4) FOUR_SITES(8) FOUR_SITES(12)
    }
}

// A try that is refused, since the thread has the mutex already.
static void refused(long tries) {
    pthread_mutex_lock(&mutex);
    for (long i = 0; i < tries; i++) {
        counter += pthread_mutex_trylock(&mutex) != 0;
    }
    pthread_mutex_unlock(&mutex);
}

static const struct {
    const char *name;
    void (*loop)(long pairs);
} operations[] = {
    {"lock", lock},       {"trylock", trylock},     {"read", read_lock},
    {"write", write_lock}, {"spin", spin},          {"semaphore", post_wait},
    {"signal", cond_signal}, {"sites", sites},      {"refused", refused},
};

static void *sleep_on(void *unused) {
    for (;;) pause();
    return unused;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    require(argc == 5, "usage: pair OPERATION THREADS BATCHES PAIRS");
    void (*loop)(long) = NULL;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (strcmp(argv[1], operations[i].name) == 0) loop = operations[i].loop;
    }
    require(loop != NULL, "unknown operation");
    long threads = count_argument(argv[2], 1);
    long batches = count_argument(argv[3], 1);
    long pairs = count_argument(argv[4], 1);

    pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE);
    sem_init(&semaphore, 0, 0);
    for (int i = 0; i < 16; i++) pthread_mutex_init(&sixteen[i].mutex, NULL);
    if (threads > 1) {
        pthread_t second;
        require(pthread_create(&second, NULL, sleep_on, NULL) == 0, "pthread_create");
    }

    double *nanoseconds = malloc((size_t)batches * sizeof *nanoseconds);
    require(nanoseconds != NULL, "malloc");
    for (long b = 0; b < batches; b++) {
        double start = now_ns();
        loop(pairs);
        nanoseconds[b] = (now_ns() - start) / (double)pairs;
    }
    require(counter == batches * pairs, "every pair is counted");
    qsort(nanoseconds, (size_t)batches, sizeof *nanoseconds, ascending);
    printf("%.3f\n", nanoseconds[batches / 2]);
    return 0;
}
