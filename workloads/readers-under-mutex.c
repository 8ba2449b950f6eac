/* A router looks up every packet's address in a table of prefixes that changes a few times a
 * second. Threads that only read exclude each other.
 *
 * Fixed: a reader-writer lock. */
#include "workload.h"

enum { ROUTES = 16384 };
static const long PACKETS = 40000, FORWARDING = 2000, PACKETS_PER_CHANGE = 4000;

struct route {
    uint32_t prefix, mask;
    int gateway;
};

static struct route routes[ROUTES];
static long changes;
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table_rwlock = PTHREAD_RWLOCK_INITIALIZER;

static inline int find(uint32_t address) {
    for (int i = 0; i < ROUTES; i++)
        if ((address & routes[i].mask) == routes[i].prefix) return routes[i].gateway;
    return -1;
}

static inline void change(int route) {
    routes[route].gateway = (routes[route].gateway + 1) % 4;
    changes++;
}

static int gateway_for(uint32_t address) {
    pthread_mutex_lock(&table_lock); /* FINDING readers-exclude-each-other */
    int gateway = find(address);
    pthread_mutex_unlock(&table_lock);
    return gateway;
}

static void change_route(int route) {
    pthread_mutex_lock(&table_lock);
    change(route);
    pthread_mutex_unlock(&table_lock);
}

static int gateway_for_reader(uint32_t address) {
    pthread_rwlock_rdlock(&table_rwlock);
    int gateway = find(address);
    pthread_rwlock_unlock(&table_rwlock);
    return gateway;
}

static void change_route_as_writer(int route) {
    pthread_rwlock_wrlock(&table_rwlock);
    change(route);
    pthread_rwlock_unlock(&table_rwlock);
}

static long forwarded[MOST_THREADS];

static void *forward(void *argument) {
    long own = (intptr_t)argument;
    uint64_t state = seed_of(own);
    long to_a_gateway = 0;
    for (long packet = 0; packet < scaled(PACKETS); packet++) {
        state = work(state, FORWARDING);
        int route = (int)(state % ROUTES);
        uint32_t address = (uint32_t)route << 8;
        to_a_gateway += (fixed ? gateway_for_reader(address) : gateway_for(address)) >= 0;
        if (packet % PACKETS_PER_CHANGE != 0) continue;
        if (fixed)
            change_route_as_writer(route);
        else
            change_route(route);
    }
    forwarded[own] = to_a_gateway;
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    for (int i = 0; i < ROUTES; i++)
        routes[i] = (struct route){(uint32_t)i << 8, 0xffffff00, i % 4};
    run_threads(forward);
    long sum = 0;
    for (int t = 0; t < threads; t++) sum += forwarded[t];
    require(sum == threads * scaled(PACKETS), "packets that were forwarded");
    long each = (scaled(PACKETS) + PACKETS_PER_CHANGE - 1) / PACKETS_PER_CHANGE;
    require(changes == threads * each, "changes of the table");
    return 0;
}
