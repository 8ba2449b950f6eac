/* Threads seldom add lines to a buffer, and add them quickly. A writer takes the full buffer,
 * leaves an empty one, and does its slow writing without a lock. */
#include "workload.h"

enum { LINE = 64, ROOM = 256 };
static const long LINES = 1000, STEPS = 200000;

struct buffer {
    char lines[ROOM][LINE];
    int count;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct buffer buffers[2];
static struct buffer *filling = &buffers[0];
static bool closed;
static long written;

static void add(const char *line) {
    pthread_mutex_lock(&lock);
    require(filling->count < ROOM, "room for a line");
    memcpy(filling->lines[filling->count++], line, LINE);
    pthread_mutex_unlock(&lock);
}

static void *produce(void *argument) {
    uint64_t state = seed_of((intptr_t)argument);
    char line[LINE] = "";
    for (long i = 0; i < scaled(LINES); i++) {
        state = work(state, STEPS);
        snprintf(line, sizeof line, "%016lx", (unsigned long)state);
        add(line);
    }
    return NULL;
}

static void *write_out(void *argument) {
    const struct timespec device = {0, 5000000};
    (void)argument;
    for (bool last = false; !last;) {
        nanosleep(&device, NULL);
        pthread_mutex_lock(&lock);
        struct buffer *full = filling;
        filling = full == &buffers[0] ? &buffers[1] : &buffers[0];
        filling->count = 0;
        last = closed;
        pthread_mutex_unlock(&lock);
        for (int i = 0; i < full->count; i++) written += strlen(full->lines[i]) == 16;
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    pthread_t writer = start_thread(write_out, 0);
    run_threads(produce);
    pthread_mutex_lock(&lock);
    closed = true;
    pthread_mutex_unlock(&lock);
    pthread_join(writer, NULL);
    require(written == threads * scaled(LINES), "lines that were written");
    return 0;
}
