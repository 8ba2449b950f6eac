// The tree of Barnes and Hut, which two threads build and walk, with a lock for each node.
//
//     tree STEPS
//
// The structure is that of Splash's barnes. In each step the threads put bodies into an octree, and
// then walk it once for each body: a distant node counts as one body, a near one is visited. Both
// functions recurse, so locks are acquired at many depths of the stack, at eight call sites. At a
// ninth, another lock is acquired for a new node. The number of a node selects its lock among
// 2,048. Between most acquisitions of the walk, a thread computes a pull on a body.
//
// Prints the number of acquisitions.
#include "common.h"

#include <pthread.h>
#include <string.h>

enum { BODIES = 6144, NODES = 4 * BODIES, LOCKS = 2048, THREADS = 2, DEEPEST = 40, MOMENTS = 16 };

struct body {
    double at[3], pull[3];
};

struct node {
    struct node *parts[8];
    const struct body *body; // of a leaf
    double mass, sum[3];     // the number of its bodies, and the sum of their positions
    long visits;
};

static pthread_mutex_t locks[LOCKS];
static struct body bodies[BODIES];
static struct node nodes[NODES];
static int nodes_used;
static pthread_mutex_t nodes_lock = PTHREAD_MUTEX_INITIALIZER;

static _Thread_local long taken;
static long all_taken[THREADS], steps;
static pthread_barrier_t line;

// This is a macro, so that each use is a call site of its own.
#define LOCKED(node, section)                                       \
    do {                                                            \
        pthread_mutex_t *lock = &locks[((node) - nodes) % LOCKS];   \
        pthread_mutex_lock(lock);                                   \
        taken++;                                                    \
        section;                                                    \
        pthread_mutex_unlock(lock);                                 \
    } while (0)

static void weigh(struct node *node, const struct body *body) {
    node->mass++;
    for (int i = 0; i < 3; i++) node->sum[i] += body->at[i];
}

static struct node *new_leaf(const struct body *body) {
    pthread_mutex_lock(&nodes_lock);
    taken++;
    int number = nodes_used++;
    pthread_mutex_unlock(&nodes_lock);
    require(number < NODES, "there are nodes enough");
    struct node *leaf = &nodes[number];
    memset(leaf, 0, sizeof *leaf);
    weigh(leaf, leaf->body = body);
    return leaf;
}

static int part_of(const double *centre, const struct body *body) {
    int part = 0;
    for (int i = 0; i < 3; i++) part |= (body->at[i] >= centre[i]) << i;
    return part;
}

static void into_part(double *centre, double half, int part) {
    for (int i = 0; i < 3; i++) centre[i] += (part >> i & 1) ? half / 2 : -half / 2;
}

// Puts the body below a node, which is a cube around `centre`.
static void insert(struct node *node, const struct body *body, const double *centre, double half,
                   int depth) {
    require(depth < DEEPEST, "no two bodies are at one place");
    struct node *next = NULL;
    double middle[3] = {centre[0], centre[1], centre[2]};
    int part = part_of(centre, body);
    LOCKED(node, weigh(node, body); next = node->parts[part]);
    into_part(middle, half, part);
    if (next == NULL) {
        struct node *leaf = new_leaf(body);
        LOCKED(node, next = node->parts[part]; if (next == NULL) node->parts[part] = leaf);
        if (next == NULL) return;
    }
    const struct body *other = NULL;
    LOCKED(next, other = next->body);
    if (other != NULL) {
        struct node *leaf = new_leaf(other);
        // If another thread has split the node in the meantime, the leaf is not used.
        LOCKED(next, if (next->body != NULL) {
            next->parts[part_of(middle, next->body)] = leaf;
            next->body = NULL;
        });
    }
    insert(next, body, middle, half / 2, depth + 1);
}

// The square of a body's distance from the mean position of other bodies. `way` gets the vector to
// that position.
static double square_of_way(const struct body *body, const double *sum, double mass, double *way) {
    double square = 1e-4; // so that no force is infinite
    for (int i = 0; i < 3; i++) {
        way[i] = sum[i] / mass - body->at[i];
        square += way[i] * way[i];
    }
    return square;
}

// Adds the force on a body at several moments of a step. The force falls with the third power of
// the distance, not with the second, to avoid a square root.
static void pull(struct body *body, const double *sum, double mass) {
    struct body moved = *body;
    for (int moment = 0; moment < MOMENTS; moment++) {
        double way[3], square = square_of_way(&moved, sum, mass, way);
        for (int i = 0; i < 3; i++) {
            body->pull[i] += mass * way[i] / (square * square);
            moved.at[i] += 1e-6 * way[i];
        }
    }
}

static int is_far(const struct body *body, const struct node *node, double half) {
    double way[3];
    return square_of_way(body, node->sum, node->mass, way) > 4 * half * half;
}

// Adds up the forces of the bodies below a node. In this phase, only the visit counts of the tree
// change.
static void walk(struct node *node, struct body *body, double half) {
    double sum[3], mass;
    if (node->body == body) {
        LOCKED(node, node->visits++);
    } else if (node->body != NULL) {
        LOCKED(node, node->visits++; memcpy(sum, node->sum, sizeof sum));
        pull(body, sum, 1);
    } else if (is_far(body, node, half)) {
        LOCKED(node, node->visits++; mass = node->mass; memcpy(sum, node->sum, sizeof sum));
        pull(body, sum, mass);
    } else {
        struct node *parts[8];
        LOCKED(node, node->visits++; memcpy(parts, node->parts, sizeof parts));
        for (int part = 0; part < 8; part++)
            if (parts[part] != NULL) walk(parts[part], body, half / 2);
    }
}

static void *work(void *own) {
    int thread = (int)((long *)own - all_taken);
    int from = BODIES * thread / THREADS, to = BODIES * (thread + 1) / THREADS;
    const double centre[3] = {0.5, 0.5, 0.5};
    for (long step = 0; step < steps; step++) {
        if (thread == 0) {
            memset(&nodes[0], 0, sizeof nodes[0]);
            nodes_used = 1;
        }
        pthread_barrier_wait(&line);
        for (int b = from; b < to; b++) insert(&nodes[0], &bodies[b], centre, 0.5, 0);
        pthread_barrier_wait(&line);
        for (int b = from; b < to; b++) walk(&nodes[0], &bodies[b], 0.5);
        pthread_barrier_wait(&line);
        require(nodes[0].mass == BODIES && nodes[0].visits == BODIES, "no body is lost");
        pthread_barrier_wait(&line);
    }
    *(long *)own = taken;
    return NULL;
}

int main(int argc, char **argv) {
    require(argc == 2, "usage: tree STEPS");
    steps = count_argument(argv[1], 1);
    uint64_t state = 1;
    for (int b = 0; b < BODIES; b++)
        for (int i = 0; i < 3; i++) bodies[b].at[i] = (double)(next_random(&state) >> 11) * 0x1p-53;
    for (int l = 0; l < LOCKS; l++) pthread_mutex_init(&locks[l], NULL);
    pthread_barrier_init(&line, NULL, THREADS);

    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        require(pthread_create(&threads[t], NULL, work, &all_taken[t]) == 0, "pthread_create");
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    printf("%ld\n", all_taken[0] + all_taken[1]);
    return 0;
}
