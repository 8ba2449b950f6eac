/* A server has fewer threads than connections, and each thread serves a connection until its client
 * closes it. The clients pause between two requests. Meanwhile the connection's thread sleeps, and
 * the first requests of other connections wait. (Modelled on cpp-httplib, issue 997.)
 *
 * Fixed: a thread for each connection. */
#include "workload.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CLIENTS = 16, REQUESTS = 4 };
static const long CONNECTIONS = 16, STEPS = 5000, PAUSE_MILLISECONDS = 20;

static int listener;
static struct sockaddr_in address;
static long answered;

/* Answers a request; false if the client has closed the connection. */
static bool answer(int connection) {
    uint64_t question;
    ssize_t size = read(connection, &question, sizeof question); /* FINDING unread-requests */
    if (size != sizeof question)
        return false;
    uint64_t reply = work(question, STEPS);
    require(write(connection, &reply, sizeof reply) == sizeof reply, "write of an answer");
    __atomic_fetch_add(&answered, 1, __ATOMIC_RELAXED);
    return true;
}

static void *serve(void *argument) {
    (void)argument;
    for (int connection; (connection = accept(listener, NULL, NULL)) >= 0;) {
        while (answer(connection)) {}
        close(connection);
    }
    return NULL;
}

static void ask(int connection, uint64_t question) {
    uint64_t reply;
    require(write(connection, &question, sizeof question) == sizeof question, "write");
    require(read(connection, &reply, sizeof reply) == sizeof reply, "read of an answer");
    require(reply == work(question, STEPS), "an answer");
}

/* The time between two requests of a client. Meanwhile the server must send nothing. */
static void pause_client(int connection) {
    struct pollfd said = {connection, POLLIN, 0};
    require(poll(&said, 1, PAUSE_MILLISECONDS) == 0, "an answer without a question");
}

static void *use_service(void *argument) {
    for (long c = 0; c < scaled(CONNECTIONS); c++) {
        int connection = socket(AF_INET, SOCK_STREAM, 0);
        require(connect(connection, (struct sockaddr *)&address, sizeof address) == 0, "connect");
        for (int request = 0; request < REQUESTS; request++) {
            ask(connection, seed_of((intptr_t)argument + c + request));
            pause_client(connection);
        }
        close(connection);
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    require(bind(listener, (struct sockaddr *)&address, size) == 0, "bind");
    require(listen(listener, CLIENTS) == 0, "listen");
    require(getsockname(listener, (struct sockaddr *)&address, &size) == 0, "getsockname");
    int workers = fixed ? CLIENTS : threads;
    pthread_t serving[MOST_THREADS], asking[CLIENTS];
    start_measuring();
    for (int w = 0; w < workers; w++) serving[w] = start_thread(serve, w);
    for (int c = 0; c < CLIENTS; c++) asking[c] = start_thread(use_service, c);
    for (int c = 0; c < CLIENTS; c++) pthread_join(asking[c], NULL);
    /* No thread gets another connection. */
    shutdown(listener, SHUT_RDWR);
    for (int w = 0; w < workers; w++) pthread_join(serving[w], NULL);
    stop_measuring();
    require(answered == CLIENTS * REQUESTS * scaled(CONNECTIONS), "requests that were answered");
    return 0;
}
