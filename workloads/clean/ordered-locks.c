/* Moves between shelves lock two shelves, always the one with the lower number first. */
#include "workload.h"

enum { SHELVES = 64, ROOM = 256 };
static const long MOVES = 600000, WALKING = 500;

static struct {
    pthread_mutex_t lock;
    int boxes[ROOM];
    int count;
} __attribute__((aligned(2 * CACHE_LINE))) shelves[SHELVES];

static void move(int from, int to) {
    int first = from < to ? from : to, second = from < to ? to : from;
    pthread_mutex_lock(&shelves[first].lock);
    pthread_mutex_lock(&shelves[second].lock);
    for (int box = 0; box < 4 && shelves[from].count > 0 && shelves[to].count < ROOM; box++)
        shelves[to].boxes[shelves[to].count++] = shelves[from].boxes[--shelves[from].count];
    pthread_mutex_unlock(&shelves[second].lock);
    pthread_mutex_unlock(&shelves[first].lock);
}

static void *carry(void *argument) {
    uint64_t state = seed_of((intptr_t)argument);
    for (long i = 0; i < scaled(MOVES); i++) {
        state = work(state, WALKING);
        int from = (int)(state % SHELVES), to = (int)(state >> 32) % SHELVES & (SHELVES - 1);
        if (from != to) move(from, to);
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    for (int i = 0; i < SHELVES; i++) {
        pthread_mutex_init(&shelves[i].lock, NULL);
        shelves[i].count = ROOM / 2;
    }
    run_threads(carry);
    int boxes = 0;
    for (int i = 0; i < SHELVES; i++) boxes += shelves[i].count;
    require(boxes == SHELVES * ROOM / 2, "boxes on all shelves");
    return 0;
}
