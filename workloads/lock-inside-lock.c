/* Each of a server's connections has a lock, which a thread holds while it works for the
 * connection. The connection's random generator has a lock as well, which dates from the time when
 * the generator was shared. Now only the thread that holds the connection's lock uses the
 * generator. (Modelled on MySQL, whose fastmutex called random() with its lock inside.)
 *
 * Fixed: the generator has no lock. */
#include "workload.h"

enum { PACKETS = 100 };
static const long BATCHES = 250000;

struct connection {
    pthread_mutex_t lock;
    pthread_mutex_t random_lock;
    uint64_t random;
    long packets, delays;
} __attribute__((aligned(2 * CACHE_LINE)));

static struct connection connections[MOST_THREADS];

static inline unsigned next_delay(struct connection *connection) {
    connection->random = work(connection->random, 1);
    return (unsigned)connection->random % 16;
}

static unsigned random_delay(struct connection *connection) {
    pthread_mutex_lock(&connection->random_lock); /* FINDING serialized-by-outer */
    unsigned delay = next_delay(connection);
    pthread_mutex_unlock(&connection->random_lock);
    return delay;
}

static void serve(struct connection *connection) {
    pthread_mutex_lock(&connection->lock);
    for (int packet = 0; packet < PACKETS; packet++) {
        unsigned delay = fixed ? next_delay(connection) : random_delay(connection);
        connection->delays += delay < 8;
        connection->packets++;
    }
    pthread_mutex_unlock(&connection->lock);
}

static void *serve_all(void *argument) {
    long own = (intptr_t)argument;
    uint64_t state = seed_of(own);
    for (long batch = 0; batch < scaled(BATCHES); batch++) {
        state = work(state, 200);
        /* One batch in ten thousand is for the neighbour's connection. */
        serve(&connections[(own + (batch % 10000 == 0)) % threads]);
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    for (int t = 0; t < threads; t++) {
        pthread_mutex_init(&connections[t].lock, NULL);
        pthread_mutex_init(&connections[t].random_lock, NULL);
        connections[t].random = seed_of(t);
    }
    run_threads(serve_all);
    long packets = 0;
    for (int t = 0; t < threads; t++) packets += connections[t].packets;
    require(packets == threads * scaled(BATCHES) * PACKETS, "packets that were served");
    return 0;
}
