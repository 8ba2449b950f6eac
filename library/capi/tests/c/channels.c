/* Messages of all sizes arrive in order; a disconnected end is noticed; each mistake has its
 * error number. */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syncline.h>
#include <unistd.h>

enum { MESSAGES = 5000, LARGEST = 1016 };

#define EXPECT(expected, call)                                                                     \
    do {                                                                                           \
        int outcome_ = (call);                                                                     \
        if (outcome_ != (expected)) {                                                              \
            fprintf(stderr, "%s:%d: %s is %d (%s), not %s\n", __FILE__, __LINE__, #call, outcome_, \
                    syncline_strerror(outcome_), #expected);                                       \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static syncline_sender_t *sender;
static syncline_receiver_t *receiver;
static size_t size;

/* Fills a message: each byte depends on its position and the message's number. */
static void fill(unsigned char *message, int number) {
    for (size_t i = 0; i < size; i++) message[i] = (unsigned char)(number * 7 + (int)i);
}

static void *send_all(void *unused) {
    unsigned char message[LARGEST];
    for (int i = 0; i < MESSAGES; i++) {
        fill(message, i);
        if (i % 2) {
            EXPECT(0, syncline_sender_send(sender, message));
            continue;
        }
        int error;
        while ((error = syncline_sender_trysend(sender, message)) == EAGAIN) usleep(10);
        EXPECT(0, error);
    }
    EXPECT(0, syncline_sender_destroy(sender));
    return unused;
}

static void test_stream(size_t bytes, size_t capacity) {
    size = bytes;
    EXPECT(0, syncline_channel_create(size, capacity, &sender, &receiver));
    pthread_t thread;
    EXPECT(0, pthread_create(&thread, NULL, send_all, NULL));
    /* One byte more, as a guard after the message. */
    unsigned char message[LARGEST + 1], expected[LARGEST];
    message[size] = 0xa5;
    for (int i = 0; i < MESSAGES; i++) {
        int error = EAGAIN;
        if (i % 3 == 0) error = syncline_receiver_tryrecv(receiver, message);
        if (error == EAGAIN) error = syncline_receiver_recv(receiver, message);
        EXPECT(0, error);
        fill(expected, i);
        EXPECT(0, memcmp(message, expected, size));
        EXPECT(0xa5, message[size]);
    }
    EXPECT(EPIPE, syncline_receiver_recv(receiver, message));
    EXPECT(EPIPE, syncline_receiver_tryrecv(receiver, message));
    EXPECT(0, pthread_join(thread, NULL));
    EXPECT(0, syncline_receiver_destroy(receiver));
}

static void *leave(void *unused) {
    usleep(20000);
    EXPECT(0, syncline_receiver_destroy(receiver));
    return unused;
}

static void *wait_for_message(void *unused) {
    int message;
    EXPECT(0, syncline_receiver_recv(receiver, &message));
    return unused;
}

static void test_mistakes(void) {
    int message = 1;
    EXPECT(EINVAL, syncline_channel_create(0, 1, &sender, &receiver));
    EXPECT(EINVAL, syncline_channel_create(LARGEST + 1, 1, &sender, &receiver));
    EXPECT(EINVAL, syncline_channel_create(4, 0, &sender, &receiver));
    EXPECT(EINVAL, syncline_channel_create(4, (size_t)-1, &sender, &receiver));
    EXPECT(EINVAL, syncline_channel_create(4, 1, NULL, &receiver));
    EXPECT(EINVAL, syncline_channel_create(4, 1, &sender, NULL));
    EXPECT(0, syncline_channel_create(sizeof message, 1, &sender, &receiver));
    EXPECT(EINVAL, syncline_sender_send(NULL, &message));
    EXPECT(EINVAL, syncline_sender_send(sender, NULL));
    EXPECT(EINVAL, syncline_receiver_recv(receiver, NULL));
    EXPECT(EINVAL, syncline_receiver_tryrecv((syncline_receiver_t *)((char *)receiver + 1), &message));
    EXPECT(EINVAL, syncline_sender_destroy(NULL));
    EXPECT(EINVAL, syncline_receiver_destroy(NULL));
    EXPECT(EAGAIN, syncline_receiver_tryrecv(receiver, &message));

    /* Two threads use one end. */
    pthread_t thread;
    EXPECT(0, pthread_create(&thread, NULL, wait_for_message, NULL));
    while (syncline_receiver_tryrecv(receiver, &message) != EBUSY) usleep(100);
    EXPECT(EBUSY, syncline_receiver_destroy(receiver));
    EXPECT(0, syncline_sender_send(sender, &message));
    EXPECT(0, pthread_join(thread, NULL));

    /* A sender waits for room when the receiver is destroyed. */
    EXPECT(0, pthread_create(&thread, NULL, leave, NULL));
    int error;
    while ((error = syncline_sender_send(sender, &message)) == 0) {}
    EXPECT(EPIPE, error);
    EXPECT(EPIPE, syncline_sender_trysend(sender, &message));
    EXPECT(0, pthread_join(thread, NULL));
    EXPECT(0, syncline_sender_destroy(sender));
}

static void test_deadlines(void) {
    EXPECT(0, syncline_channel_create(sizeof(int), 4, &sender, &receiver));
    int message = 0;
    struct timespec soon = syncline_deadline(20000000), passed = {0, 0}, wrong = {0, -1};
    EXPECT(ETIMEDOUT, syncline_receiver_timedrecv(receiver, &message, &soon));
    EXPECT(EINVAL, syncline_receiver_timedrecv(receiver, &message, &wrong));
    EXPECT(EINVAL, syncline_receiver_timedrecv(receiver, &message, NULL));
    message = 7;
    EXPECT(0, syncline_sender_send(sender, &message));
    message = 0;
    EXPECT(0, syncline_receiver_timedrecv(receiver, &message, &passed));
    EXPECT(7, message);
    EXPECT(0, syncline_sender_destroy(sender));
    EXPECT(EPIPE, syncline_receiver_timedrecv(receiver, &message, &passed));
    EXPECT(0, syncline_receiver_destroy(receiver));
}

enum { BATCH = 37 };

static void *send_batches(void *unused) {
    unsigned char *messages = malloc(BATCH * size);
    for (int i = 0; i < MESSAGES; i += BATCH) {
        int count = MESSAGES - i < BATCH ? MESSAGES - i : BATCH;
        for (int j = 0; j < count; j++) {
            for (size_t k = 0; k < size; k++) {
                messages[(size_t)j * size + k] = (unsigned char)((i + j) * 7 + (int)k);
            }
        }
        size_t sent = 0;
        EXPECT(0, syncline_sender_sendall(sender, messages, (size_t)count, &sent));
        EXPECT(count, (int)sent);
    }
    free(messages);
    EXPECT(0, syncline_sender_destroy(sender));
    return unused;
}

/* Batches of other sizes at both ends, with every way of waiting. */
static void test_batches(size_t bytes, int waiting) {
    size = bytes;
    EXPECT(0, syncline_channel_create_waiting(size, 20, waiting, &sender, &receiver));
    pthread_t thread;
    EXPECT(0, pthread_create(&thread, NULL, send_batches, NULL));
    enum { MOST = 11 };
    unsigned char *messages = malloc(MOST * size + 1), expected[LARGEST];
    messages[MOST * size] = 0xa5;
    int next = 0, error;
    size_t count;
    while ((error = syncline_receiver_recvsome(receiver, messages, MOST, &count)) == 0) {
        EXPECT(1, count >= 1 && count <= MOST);
        for (size_t j = 0; j < count; j++) {
            fill(expected, next++);
            EXPECT(0, memcmp(messages + j * size, expected, size));
        }
    }
    EXPECT(EPIPE, error);
    EXPECT(MESSAGES, next);
    EXPECT(0xa5, messages[MOST * size]);
    free(messages);
    EXPECT(0, pthread_join(thread, NULL));
    EXPECT(0, syncline_receiver_destroy(receiver));
}

static void *take_three_and_leave(void *unused) {
    int message;
    for (int i = 0; i < 3; i++) EXPECT(0, syncline_receiver_recv(receiver, &message));
    EXPECT(0, syncline_receiver_destroy(receiver));
    return unused;
}

static void test_mistakes_of_batches(void) {
    int messages[1000] = {0};
    size_t count = 7;
    EXPECT(EINVAL, syncline_channel_create_waiting(4, 1, 3, &sender, &receiver));
    EXPECT(EINVAL, syncline_channel_create_waiting(4, 1, -1, &sender, &receiver));
    EXPECT(0, syncline_channel_create_waiting(4, 8, SYNCLINE_YIELD, &sender, &receiver));
    EXPECT(EINVAL, syncline_sender_sendall(NULL, messages, 1, &count));
    EXPECT(EINVAL, syncline_sender_sendall(sender, NULL, 1, &count));
    EXPECT(EINVAL, syncline_receiver_recvsome(receiver, messages, 0, &count));
    EXPECT(EINVAL, syncline_receiver_recvsome(receiver, messages, 1, NULL));
    EXPECT(EINVAL, syncline_receiver_recvsome(receiver, NULL, 1, &count));
    EXPECT(7, (int)count);
    EXPECT(0, syncline_sender_sendall(sender, messages, 0, &count));
    EXPECT(0, (int)count);
    EXPECT(0, syncline_sender_sendall(sender, messages, 2, NULL));

    /* A receiver that is destroyed in the middle of a batch. */
    pthread_t thread;
    EXPECT(0, pthread_create(&thread, NULL, take_three_and_leave, NULL));
    EXPECT(EPIPE, syncline_sender_sendall(sender, messages, 1000, &count));
    EXPECT(1, count >= 1 && count < 1000);
    EXPECT(0, pthread_join(thread, NULL));
    EXPECT(0, syncline_sender_destroy(sender));
}

enum { SENDERS = 3, CALLS = 500 };

static void *send_to_inbox(void *end) {
    unsigned char message[LARGEST];
    for (int i = 0; i < MESSAGES; i++) {
        fill(message, i);
        EXPECT(0, syncline_sender_send(end, message));
    }
    EXPECT(0, syncline_sender_destroy(end));
    return NULL;
}

static void test_inbox(size_t bytes) {
    size = bytes;
    syncline_inbox_t *inbox;
    EXPECT(0, syncline_inbox_create(size, SENDERS, 10, &inbox));
    pthread_t threads[SENDERS];
    syncline_sender_t *ends[SENDERS + 1];
    for (size_t i = 0; i < SENDERS; i++) {
        size_t slot;
        EXPECT(0, syncline_inbox_connect(inbox, &ends[i], &slot));
        EXPECT(1, slot == i);
    }
    EXPECT(EAGAIN, syncline_inbox_connect(inbox, &ends[SENDERS], NULL));
    unsigned char message[LARGEST], expected[LARGEST];
    struct timespec passed = {0, 0};
    EXPECT(EAGAIN, syncline_inbox_tryrecv(inbox, message, NULL));
    EXPECT(ETIMEDOUT, syncline_inbox_timedrecv(inbox, message, NULL, &passed));
    for (int i = 0; i < SENDERS; i++) {
        EXPECT(0, pthread_create(&threads[i], NULL, send_to_inbox, ends[i]));
    }
    int next[SENDERS] = {0}, error;
    size_t slot;
    while ((error = syncline_inbox_recv(inbox, message, &slot)) == 0) {
        fill(expected, next[slot]++);
        EXPECT(0, memcmp(message, expected, size));
    }
    EXPECT(EPIPE, error);
    for (int i = 0; i < SENDERS; i++) {
        EXPECT(0, pthread_join(threads[i], NULL));
        EXPECT(MESSAGES, next[i]);
    }
    EXPECT(0, syncline_inbox_destroy(inbox));
}

/* Two of three senders are chosen, and the messages of the third wait. */
static void test_chosen(int waiting) {
    syncline_inbox_t *inbox;
    syncline_sender_t *ends[SENDERS];
    EXPECT(EINVAL, syncline_inbox_create_waiting(sizeof(int), SENDERS, 4, 9, &inbox));
    EXPECT(0, syncline_inbox_create_waiting(sizeof(int), SENDERS, 4, waiting, &inbox));
    for (int i = 0; i < SENDERS; i++) EXPECT(0, syncline_inbox_connect(inbox, &ends[i], NULL));
    for (int i = SENDERS; i-- > 0;) EXPECT(0, syncline_sender_send(ends[i], &i));
    const size_t chosen[] = {2, 1}, wrong[] = {0, SENDERS};
    int message;
    size_t slot;
    EXPECT(EINVAL, syncline_inbox_recvfrom(inbox, wrong, 2, &message, &slot));
    EXPECT(EINVAL, syncline_inbox_recvfrom(inbox, chosen, 0, &message, &slot));
    EXPECT(EINVAL, syncline_inbox_recvfrom(inbox, NULL, 1, &message, &slot));
    EXPECT(EINVAL, syncline_inbox_recvfrom(inbox, chosen, 1, NULL, &slot));
    for (int expected = 2; expected >= 1; expected--) {
        EXPECT(0, syncline_inbox_recvfrom(inbox, chosen, 2, &message, &slot));
        EXPECT(expected, message);
        EXPECT(expected, (int)slot);
        EXPECT(0, syncline_sender_destroy(ends[expected]));
    }
    EXPECT(EPIPE, syncline_inbox_recvfrom(inbox, chosen, 2, &message, NULL));
    EXPECT(0, syncline_inbox_recv(inbox, &message, &slot));
    EXPECT(0, message);
    EXPECT(0, syncline_sender_destroy(ends[0]));
    EXPECT(0, syncline_inbox_destroy(inbox));
}

static int total;

static void add(void *amount) { total += *(int *)amount; }

static void *call_server(void *client) {
    int amount = 2;
    for (int i = 0; i < CALLS; i++) EXPECT(0, syncline_client_call(client, add, &amount));
    EXPECT(0, syncline_client_destroy(client));
    return NULL;
}

static void test_server(void) {
    syncline_server_t *server;
    syncline_client_t *clients[SENDERS + 1];
    EXPECT(EINVAL, syncline_server_create(0, &server));
    EXPECT(0, syncline_server_create(SENDERS, &server));
    pthread_t threads[SENDERS];
    for (int i = 0; i < SENDERS; i++) EXPECT(0, syncline_server_connect(server, &clients[i]));
    EXPECT(EAGAIN, syncline_server_connect(server, &clients[SENDERS]));
    EXPECT(EINVAL, syncline_client_call(clients[0], NULL, NULL));
    for (int i = 0; i < SENDERS; i++) {
        EXPECT(0, pthread_create(&threads[i], NULL, call_server, clients[i]));
    }
    EXPECT(0, syncline_server_run(server));
    EXPECT(2 * SENDERS * CALLS, total);
    EXPECT(EINVAL, syncline_server_run(server));
    EXPECT(EINVAL, syncline_server_connect(server, &clients[0]));
    EXPECT(0, syncline_server_destroy(server));
    for (int i = 0; i < SENDERS; i++) EXPECT(0, pthread_join(threads[i], NULL));

    /* A server that is destroyed before it runs. */
    EXPECT(0, syncline_server_create(1, &server));
    EXPECT(0, syncline_server_connect(server, &clients[0]));
    EXPECT(0, syncline_server_destroy(server));
    EXPECT(EPIPE, syncline_client_call(clients[0], add, &total));
    EXPECT(0, syncline_client_destroy(clients[0]));
}

int main(void) {
    static const size_t sizes[] = {1, 8, 12, 24, 30, 56, 57, 120, 200, 500, LARGEST};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        test_stream(sizes[i], 1);
        test_stream(sizes[i], 100);
    }
    for (int waiting = SYNCLINE_PARK; waiting <= SYNCLINE_SPIN; waiting++) {
        test_batches(8, waiting);
        test_batches(LARGEST, waiting);
        test_chosen(waiting);
    }
    test_mistakes_of_batches();
    test_mistakes();
    test_deadlines();
    test_inbox(8);
    test_inbox(LARGEST);
    syncline_inbox_t *inbox;
    EXPECT(EINVAL, syncline_inbox_create(8, 0, 1, &inbox));
    EXPECT(EINVAL, syncline_inbox_create(8, 1, 0, &inbox));
    EXPECT(EINVAL, syncline_inbox_create(0, 1, 1, &inbox));
    EXPECT(EINVAL, syncline_inbox_create(8, 1, 1, NULL));
    EXPECT(EINVAL, syncline_inbox_recv(NULL, &inbox, NULL));
    test_server();
}
