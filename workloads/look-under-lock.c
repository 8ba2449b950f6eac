/* Threads draw the pieces of a picture from queues, first from their own and then from each
 * other's. A thread that finds no work checks all queues in turn, each under its lock, until the
 * last piece is done: most acquisitions are checks that find nothing, while others work (the
 * shape of volrend's and radiosity's task queues, in Splash-3).
 *
 * Fixed: the checked state is atomic, and a thread takes a queue's lock only if the queue seems to
 * have work. A thread that finds none goes to the barrier. */
#include "workload.h"


enum { QUEUES = 4, PIECES = 3, LONG = 1000000, SHORT = 50000 };
static const long PICTURES = 80;

static struct queue {
    pthread_mutex_t lock;
    _Alignas(CACHE_LINE) long next, end;
} queues[QUEUES];
static pthread_mutex_t done_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t picture;
static long left, drawn;

static bool seems_empty(struct queue *queue) {
    return __atomic_load_n(&queue->next, __ATOMIC_RELAXED) >=
           __atomic_load_n(&queue->end, __ATOMIC_RELAXED);
}

static bool is_empty(struct queue *queue) {
    if (fixed) return seems_empty(queue);
    pthread_mutex_lock(&queue->lock); /* FINDING look-under-lock */
    bool empty = queue->next >= queue->end;
    pthread_mutex_unlock(&queue->lock);
    return empty;
}

static long take(struct queue *queue) {
    pthread_mutex_lock(&queue->lock);
    long piece = queue->next < queue->end ? queue->next : -1;
    if (piece >= 0) __atomic_store_n(&queue->next, piece + 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&queue->lock);
    return piece;
}

static bool all_done(void) {
    if (fixed) return __atomic_load_n(&left, __ATOMIC_ACQUIRE) == 0;
    pthread_mutex_lock(&done_lock);
    bool done = left == 0;
    pthread_mutex_unlock(&done_lock);
    return done;
}

static void count_one(void) {
    if (fixed) {
        __atomic_fetch_add(&drawn, 1, __ATOMIC_RELAXED);
        __atomic_fetch_sub(&left, 1, __ATOMIC_RELEASE);
        return;
    }
    pthread_mutex_lock(&done_lock);
    drawn++;
    left--;
    pthread_mutex_unlock(&done_lock);
}

static void draw_one(long me, uint64_t *state) {
    /* The number of empty queues in a row. */
    long empty = 0;
    for (long at = me; !all_done() && !(fixed && empty == QUEUES); at++, empty++) {
        struct queue *queue = &queues[at % QUEUES];
        while (!is_empty(queue)) {
            long piece = take(queue);
            if (piece < 0) break;
            /* Most of the picture is in one queue. */
            *state = work(*state, at % QUEUES == 0 ? LONG : SHORT);
            count_one();
            empty = 0;
        }
    }
}

static void *draw(void *argument) {
    long me = (intptr_t)argument;
    uint64_t state = seed_of(me);
    for (long i = 0; i < scaled(PICTURES); i++) {
        if (pthread_barrier_wait(&picture) == PTHREAD_BARRIER_SERIAL_THREAD) {
            for (int q = 0; q < QUEUES; q++) queues[q].next = 0;
            left = QUEUES * PIECES;
        }
        pthread_barrier_wait(&picture);
        draw_one(me, &state);
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    for (int i = 0; i < QUEUES; i++) {
        pthread_mutex_init(&queues[i].lock, NULL);
        queues[i].end = PIECES;
    }
    pthread_barrier_init(&picture, NULL, (unsigned)threads);
    run_threads(draw);
    require(drawn == QUEUES * PIECES * scaled(PICTURES), "pieces that were drawn");
    return 0;
}
