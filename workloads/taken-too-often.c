/* Threads take nodes for their lists from one pool, and give them back. A section of the pool's
 * lock moves one node, and a list gets all of its nodes in a row: a thread that has just released
 * the lock takes it again before a woken waiter can.
 *
 * Fixed: a thread keeps the nodes that it has given back, and goes to the pool only if it has none. */
#include "workload.h"

enum { NODES_IN_LIST = 64 };
static const long LISTS = 150000;

struct node {
    struct node *next;
    uint64_t value;
};

static struct {
    _Alignas(CACHE_LINE) pthread_mutex_t lock;
    struct node *first;
} pool = {PTHREAD_MUTEX_INITIALIZER, NULL};
static struct node nodes[MOST_THREADS * NODES_IN_LIST];

static __thread struct node *own;

static struct node *take(void) {
    if (own != NULL) {
        struct node *node = own;
        own = node->next;
        return node;
    }
    pthread_mutex_lock(&pool.lock); /* FINDING taken-too-often */
    struct node *node = pool.first;
    pool.first = node->next;
    pthread_mutex_unlock(&pool.lock);
    return node;
}

static void put(struct node *node) {
    pthread_mutex_lock(&pool.lock); /* FINDING taken-too-often */
    node->next = pool.first;
    pool.first = node;
    pthread_mutex_unlock(&pool.lock);
}

static void give_back(struct node *node) {
    if (fixed) {
        node->next = own;
        own = node;
    } else {
        put(node);
    }
}

static void *make_lists(void *argument) {
    uint64_t state = seed_of((intptr_t)argument), sum = 0;
    for (long list = 0; list < scaled(LISTS); list++) {
        struct node *first = NULL;
        for (int n = 0; n < NODES_IN_LIST; n++) {
            struct node *node = take();
            node->value = state = work(state, 10);
            node->next = first;
            first = node;
        }
        while (first != NULL) {
            struct node *next = first->next;
            sum += first->value;
            give_back(first);
            first = next;
        }
    }
    while (own != NULL) {
        struct node *node = own;
        own = node->next;
        put(node);
    }
    require(sum != 0, "values");
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    for (int n = 0; n < threads * NODES_IN_LIST; n++) {
        nodes[n].next = pool.first;
        pool.first = &nodes[n];
    }
    run_threads(make_lists);
    int given_back = 0;
    for (struct node *node = pool.first; node != NULL; node = node->next) given_back++;
    require(given_back == threads * NODES_IN_LIST, "all nodes are given back");
    return 0;
}
