/* A priority queue that all threads use: a pairing heap in shared memory, under one lock. Each
 * thread inserts and removes in turn, but omits every eighth removal. It works a little in between.
 *
 * Second argument: operations of each thread. Third: how sections are run: `lock` (under the cohort
 * lock or, in a plain program, a pthread mutex), or `with` (sent to the thread that holds the
 * lock).
 *
 * Verified with the removed items and those that are left: together, their number and sum are those
 * of the inserted items, and the items that are left come out in order. */
#include "parallel.h"

typedef struct node {
    uint64_t key;
    struct node *child, *next;
} node_t;

static struct {
    node_t *top;
    uint64_t count, taken, put_sum, taken_sum;
} *queue;

static int operations, delegates;
static node_t *nodes;
static double took;
static int right = 1;

static node_t *merge(node_t *a, node_t *b) {
    if (!a || !b) return a ? a : b;
    if (b->key < a->key) {
        node_t *less = b;
        b = a, a = less;
    }
    b->next = a->child;
    a->child = b;
    return a;
}

/* Merges pairs from the left, then all from the right, without recursion. */
static node_t *merge_all(node_t *list) {
    node_t *pairs = NULL, *all = NULL;
    while (list) {
        node_t *a = list, *b = a->next;
        list = b ? b->next : NULL;
        a->next = NULL;
        if (b) b->next = NULL;
        node_t *pair = merge(a, b);
        pair->next = pairs;
        pairs = pair;
    }
    while (pairs) {
        node_t *rest = pairs->next;
        pairs->next = NULL;
        all = merge(all, pairs);
        pairs = rest;
    }
    return all;
}

static void put(void *node) {
    node_t *new = node;
    queue->top = merge(queue->top, new);
    queue->count++;
    queue->put_sum += new->key;
}

static void take(void *result) {
    node_t *top = queue->top;
    *(node_t **)result = top;
    if (!top) return;
    queue->top = merge_all(top->child);
    queue->taken++;
    queue->taken_sum += top->key;
}

static void section(void (*what)(void *), void *argument) {
    if (delegates) {
        with(1, what, argument);
    } else {
        lock(1);
        what(argument);
        unlock(1);
    }
}

static void body(void) {
    uint64_t seed = 17 + (uint64_t)me();
    node_t *own = &nodes[(size_t)me() * operations];
    volatile uint64_t work = 0;
    barrier();
    double start = seconds();
    for (int i = 0; i < operations; i++) {
        node_t *taken;
        /* Written outside the section, which publishes it: no other thread has it yet. */
        own[i] = (node_t){next_random(&seed) >> 24, NULL, NULL};
        section(put, &own[i]);
        for (int k = 0; k < 48; k++) work += (uint64_t)k;
        if (i % 8 != 7) section(take, &taken);
        for (int k = 0; k < 48; k++) work += (uint64_t)k;
    }
    barrier();
    if (me() != 0) return;
    took = seconds() - start;
    uint64_t left = queue->count - queue->taken, sum = queue->put_sum - queue->taken_sum, last = 0;
    node_t *node;
    for (take(&node); node; take(&node)) {
        right &= node->key >= last;
        last = node->key, left--, sum -= node->key;
    }
    right &= left == 0 && sum == 0 && queue->count == (uint64_t)operations * (uint64_t)threads();
}

int main(int argc, char **argv) {
    operations = argument(argc, argv, 2, 2000);
    delegates = argc > 3 && strcmp(argv[3], "with") == 0;
    size_t bytes = (size_t)operations * 64 * sizeof(node_t);
    parallel_init(bytes + 2 * 65536 * 4);
    queue = shared(sizeof *queue), nodes = shared(bytes);
    run(argument(argc, argv, 1, 1), body);
    return report("queue", right, took);
}
