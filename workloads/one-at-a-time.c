/* Clients ask a server over sockets. Its one worker asks another service for each answer, and
 * waits 1 ms for it. Meanwhile nothing runs, although other clients' requests have arrived.
 *
 * Fixed: a worker for each connection. */
#include "workload.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CLIENTS = 4 };
static const long REQUESTS = 300, STEPS = 5000, SERVICE_NANOSECONDS = 1000000;

static int sockets[CLIENTS][2];
static long answered;

static uint64_t ask_service(uint64_t question) {
    const struct timespec service = {0, SERVICE_NANOSECONDS};
    nanosleep(&service, NULL); /* FINDING one-at-a-time */
    return question + 1;
}

/* Answers a request; false if the client has gone. */
static bool answer(int socket) {
    uint64_t question;
    if (read(socket, &question, sizeof question) != sizeof question)
        return false;
    uint64_t reply = ask_service(question);
    require(write(socket, &reply, sizeof reply) == sizeof reply, "write of an answer");
    __atomic_fetch_add(&answered, 1, __ATOMIC_RELAXED);
    return true;
}

static void *serve_all(void *argument) {
    (void)argument;
    struct pollfd ready[CLIENTS];
    for (int c = 0; c < CLIENTS; c++) ready[c] = (struct pollfd){sockets[c][1], POLLIN, 0};
    for (int open = CLIENTS; open > 0;) {
        require(poll(ready, CLIENTS, -1) > 0, "poll");
        for (int c = 0; c < CLIENTS; c++) {
            if (ready[c].revents != 0 && !answer(ready[c].fd)) {
                ready[c].fd = -1;
                open--;
            }
        }
    }
    return NULL;
}

static void *serve_one(void *argument) {
    while (answer(sockets[(intptr_t)argument][1])) {}
    return NULL;
}

static void *ask(void *argument) {
    int socket = sockets[(intptr_t)argument][0];
    uint64_t state = seed_of((intptr_t)argument);
    for (long request = 0; request < scaled(REQUESTS); request++) {
        state = work(state, STEPS);
        uint64_t reply;
        require(write(socket, &state, sizeof state) == sizeof state, "write of a question");
        require(read(socket, &reply, sizeof reply) == sizeof reply, "read of an answer");
        require(reply == state + 1, "an answer");
    }
    close(socket);
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    for (int c = 0; c < CLIENTS; c++)
        require(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets[c]) == 0, "socketpair");
    int workers = fixed ? CLIENTS : 1;
    pthread_t serving[CLIENTS], asking[CLIENTS];
    start_measuring();
    for (int w = 0; w < workers; w++) serving[w] = start_thread(fixed ? serve_one : serve_all, w);
    for (int c = 0; c < CLIENTS; c++) asking[c] = start_thread(ask, c);
    for (int c = 0; c < CLIENTS; c++) pthread_join(asking[c], NULL);
    for (int w = 0; w < workers; w++) pthread_join(serving[w], NULL);
    stop_measuring();
    require(answered == CLIENTS * scaled(REQUESTS), "requests that were answered");
    return 0;
}
