/* An event loop keeps its timers in a ring under a mutex, since another thread may set a timer.
 * This hardly ever happens. There are millions of sections a second, of a handful of instructions
 * each, and none is contended. (Modelled on Apache's timer queue.)
 *
 * Fixed: a spinlock. */
#include "workload.h"

enum { ROOM = 64 };
static const long EVENTS = 40000000;

struct timer {
    uint64_t due;
    long connection;
};

struct loop {
    pthread_mutex_t mutex;
    pthread_spinlock_t spinlock;
    unsigned first, count;
    struct timer timers[ROOM];
    long expired;
} __attribute__((aligned(2 * CACHE_LINE)));

static struct loop loops[MOST_THREADS];

static inline void add(struct loop *loop, struct timer timer) {
    if (loop->count == ROOM) {
        loop->first++;
        loop->count--;
        loop->expired++;
    }
    loop->timers[(loop->first + loop->count++) % ROOM] = timer;
}

static void set_timer(struct loop *loop, struct timer timer) {
    pthread_mutex_lock(&loop->mutex); /* FINDING spinlock-instead */
    add(loop, timer);
    pthread_mutex_unlock(&loop->mutex);
}

static void set_timer_spinning(struct loop *loop, struct timer timer) {
    pthread_spin_lock(&loop->spinlock);
    add(loop, timer);
    pthread_spin_unlock(&loop->spinlock);
}

static void *run_loop(void *argument) {
    long own = (intptr_t)argument;
    uint64_t state = seed_of(own);
    for (long event = 0; event < scaled(EVENTS); event++) {
        state = work(state, 1);
        struct timer timer = {state, event};
        /* One event in a million belongs to the neighbour. */
        struct loop *loop = &loops[(own + (event % 1000000 == 0)) % threads];
        if (fixed)
            set_timer_spinning(loop, timer);
        else
            set_timer(loop, timer);
    }
    return NULL;
}

int main(int argc, char **argv) {
    threads = 2; /* One loop for each processor. */
    read_arguments(argc, argv);
    for (int t = 0; t < threads; t++) {
        pthread_mutex_init(&loops[t].mutex, NULL);
        pthread_spin_init(&loops[t].spinlock, PTHREAD_PROCESS_PRIVATE);
    }
    run_threads(run_loop);
    long timers = 0;
    for (int t = 0; t < threads; t++) timers += loops[t].expired + loops[t].count;
    require(timers == threads * scaled(EVENTS), "timers that were set");
    return 0;
}
