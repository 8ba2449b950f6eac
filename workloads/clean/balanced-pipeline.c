/* Two stages with a queue between them, one thread for each, and equally much work in both.
 * Blocks are large, so the queue is seldom used. */
#include "workload.h"

enum { ROOM = 16 };
static const long BLOCKS = 1500, STEPS = 400000;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t not_empty, not_full;
    uint64_t blocks[ROOM];
    int first, count;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .not_empty = PTHREAD_COND_INITIALIZER,
           .not_full = PTHREAD_COND_INITIALIZER};
static long written;

static void put(uint64_t block) {
    pthread_mutex_lock(&queue.lock);
    while (queue.count == ROOM) pthread_cond_wait(&queue.not_full, &queue.lock);
    queue.blocks[(queue.first + queue.count++) % ROOM] = block;
    pthread_cond_signal(&queue.not_empty);
    pthread_mutex_unlock(&queue.lock);
}

static uint64_t take(void) {
    pthread_mutex_lock(&queue.lock);
    while (queue.count == 0) pthread_cond_wait(&queue.not_empty, &queue.lock);
    uint64_t block = queue.blocks[queue.first];
    queue.first = (queue.first + 1) % ROOM;
    queue.count--;
    pthread_cond_signal(&queue.not_full);
    pthread_mutex_unlock(&queue.lock);
    return block;
}

static void *compress(void *argument) {
    uint64_t state = seed_of((intptr_t)argument);
    for (long block = 0; block < scaled(BLOCKS); block++) {
        state = work(state, STEPS);
        put(state);
    }
    put(0);
    return NULL;
}

static void *write_blocks(void *argument) {
    (void)argument;
    for (uint64_t block; (block = take()) != 0; written++) work(block, STEPS);
    return NULL;
}

int main(int argc, char **argv) {
    threads = 2;
    read_arguments(argc, argv);
    start_measuring();
    pthread_t compressor = start_thread(compress, 0), writer = start_thread(write_blocks, 1);
    pthread_join(compressor, NULL);
    pthread_join(writer, NULL);
    stop_measuring();
    require(written == scaled(BLOCKS), "blocks that were written");
    return 0;
}
