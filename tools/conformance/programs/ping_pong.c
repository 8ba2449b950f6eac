/* Two sides answer each other, a word at a time, for two to three seconds. The other side is a thread
 * or a process:
 *
 *     ping_pong pipe|counter|sockets thread|process
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* From where each side reads, and to where it writes. */
static struct {
    int from, to;
} here, there;

static int pass(int from, int to)
{
    uint64_t one = 1;
    return read(from, &one, sizeof one) == sizeof one && write(to, &one, sizeof one) == sizeof one;
}

static void *answer(void *unused)
{
    while (pass(there.from, there.to)) {
    }
    return unused;
}

static void connect_sides(const char *how)
{
    int out[2], back[2];
    if (!strcmp(how, "counter")) {
        here.from = there.to = eventfd(0, 0);
        here.to = there.from = eventfd(0, 0);
    } else if (!strcmp(how, "pipe")) {
        if (pipe(out) || pipe(back)) _exit(1);
        there.from = out[0], here.to = out[1];
        here.from = back[0], there.to = back[1];
    } else {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, out)) _exit(1);
        here.from = here.to = out[0];
        there.from = there.to = out[1];
    }
}

int main(int count, char **words)
{
    pthread_t thread;
    uint64_t one = 1;
    if (count != 3) return 2;
    /* A process without any call that is counted would not be in the recording. */
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    connect_sides(words[1]);
    if (!strcmp(words[2], "thread")) {
        pthread_create(&thread, NULL, answer, NULL);
    } else if (!fork()) {
        close(here.to);
        answer(NULL);
        _exit(0);
    } else {
        close(there.from);
        if (there.to != there.from) close(there.to);
    }
    time_t end = time(NULL) + 3;
    if (write(here.to, &one, sizeof one) != sizeof one) return 1;
    while (time(NULL) < end && pass(here.from, here.to)) {
    }
    /* The other thread ends with the process, and another process at the end of its input. */
    return 0;
}
