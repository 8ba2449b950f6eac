/* For each request, a server updates its counts of requests, bytes and answers and the time of the
 * last request, and acquires the same lock for each of the four. The lock is the worker's own.
 * Another thread takes it only for one of ten thousand requests, so threads hardly ever wait: the
 * cost is that of taking the lock four times.
 *
 * Fixed: the worker counts a hundred requests for itself, and adds them in one section. */
#include "workload.h"

enum { CODES = 5, BATCH = 100 };
static const long REQUESTS = 15000000;

struct counts {
    long requests, bytes;
    long answers[CODES];
    long last;
};

struct statistics {
    pthread_mutex_t lock;
    struct counts counts;
} __attribute__((aligned(2 * CACHE_LINE)));

static struct statistics statistics[MOST_THREADS];

static void count_apart(struct statistics *s, long bytes, unsigned code, long now) {
    pthread_mutex_lock(&s->lock); /* FINDING many-tiny-sections */
    s->counts.requests++;
    pthread_mutex_unlock(&s->lock);

    pthread_mutex_lock(&s->lock); /* FINDING many-tiny-sections */
    s->counts.bytes += bytes;
    pthread_mutex_unlock(&s->lock);

    pthread_mutex_lock(&s->lock); /* FINDING many-tiny-sections */
    s->counts.answers[code]++;
    pthread_mutex_unlock(&s->lock);

    pthread_mutex_lock(&s->lock); /* FINDING many-tiny-sections */
    s->counts.last = now;
    pthread_mutex_unlock(&s->lock);
}

static void count_privately(struct counts *own, long bytes, unsigned code, long now) {
    own->requests++;
    own->bytes += bytes;
    own->answers[code]++;
    own->last = now;
}

static void add(struct statistics *s, struct counts *own) {
    pthread_mutex_lock(&s->lock);
    s->counts.requests += own->requests;
    s->counts.bytes += own->bytes;
    for (int code = 0; code < CODES; code++) s->counts.answers[code] += own->answers[code];
    s->counts.last = own->last;
    pthread_mutex_unlock(&s->lock);
    *own = (struct counts){0};
}

static void *serve(void *argument) {
    long thread = (intptr_t)argument;
    uint64_t state = seed_of(thread);
    struct counts own = {0};
    for (long i = 1; i <= scaled(REQUESTS / BATCH) * BATCH; i++) {
        state = work(state, 15);
        struct statistics *s = &statistics[(thread + (i % 10000 == 0)) % threads];
        unsigned code = (unsigned)(state % CODES);
        if (!fixed) {
            count_apart(s, 1, code, i);
            continue;
        }
        count_privately(&own, 1, code, i);
        if (i % BATCH == 0) add(s, &own);
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    for (int t = 0; t < threads; t++) pthread_mutex_init(&statistics[t].lock, NULL);
    run_threads(serve);
    long requests = 0, bytes = 0, answers = 0;
    for (int t = 0; t < threads; t++) {
        requests += statistics[t].counts.requests;
        bytes += statistics[t].counts.bytes;
        for (int code = 0; code < CODES; code++) answers += statistics[t].counts.answers[code];
    }
    require(requests == threads * scaled(REQUESTS / BATCH) * BATCH, "requests that were counted");
    require(bytes == requests && answers == requests, "bytes and answers that were counted");
    return 0;
}
