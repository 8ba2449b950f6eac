/* Channels: messages from one thread to another; a small one costs at most one cache line's
 * transfer. */

#ifndef SYNCLINE_CHANNELS_H
#define SYNCLINE_CHANNELS_H

#ifndef SYNCLINE_H
#error "include syncline.h"
#endif

/* The ends of a channel. One thread at a time uses an end, and may pass the end on to another
 * thread. */
typedef struct syncline_sender syncline_sender_t;
typedef struct syncline_receiver syncline_receiver_t;

/* How the ends of a channel wait. */
enum syncline_waiting { SYNCLINE_PARK = 0, SYNCLINE_YIELD = 1, SYNCLINE_SPIN = 2 };

/* Makes a channel for messages of `size` bytes, 1 to 1016, with room for `capacity` of them at
 * least. Messages are copied; for larger objects send pointers. A message of up to 56 bytes travels
 * in one cache line; messages of up to 24 bytes share a line. The ends park when they wait, unless
 * `waiting` says otherwise:
 *
 *     SYNCLINE_PARK   polls for a few microseconds, yields for a while, then sleeps
 *     SYNCLINE_YIELD  polls, and yields in between: for more threads than processors, if none
 *                     should sleep
 *     SYNCLINE_SPIN   polls only: the fastest, if each thread has a processor of its own
 *
 *     syncline_sender_t *sender;
 *     syncline_receiver_t *receiver;
 *     int error = syncline_channel_create(sizeof(struct order), 64, &sender, &receiver);
 *
 *     while (next(&order)) syncline_sender_send(sender, &order);        one thread
 *     syncline_sender_destroy(sender);
 *
 *     while (syncline_receiver_recv(receiver, &order) == 0) serve(&order);      another
 *     syncline_receiver_destroy(receiver);
 *
 * Messages arrive once and in order. The receiver sees everything that the sending thread did
 * before. Destroying an end disconnects it. A receiver still gets all messages that were sent;
 * messages that no thread receives are dropped.
 *
 *     create     EINVAL     a size or capacity out of range, or an unknown way to wait; the
 *                           capacity is 1 to 2^28
 *     send       waits for room
 *                EPIPE      the receiver is destroyed
 *     sendall    sends an array of `count` messages, waiting for room as needed. Several are
 *                published at once, which is faster than one by one. `sent`, if it is not null, is
 *                set to how many were sent, even if the receiver is destroyed
 *                EPIPE      as for send
 *     trysend    EAGAIN     there is no room now
 *                EPIPE      as for send
 *     recv       waits for a message
 *                EPIPE      the sender is destroyed, and all its messages were received
 *     recvsome   waits for a message, and takes others that are there, at most `most` in all, to
 *                an array; `received` is set to their number
 *                EPIPE      as for recv;  EINVAL  `most` is 0
 *     tryrecv    EAGAIN     there is no message now
 *                EPIPE      as for recv
 *     timedrecv  ETIMEDOUT  no message by the deadline, an absolute time on CLOCK_MONOTONIC
 *                           (syncline_deadline); EPIPE as for recv
 *     all        EINVAL     a null pointer, or a misaligned end; a time out of range
 *                EBUSY      another thread is using this end */
int syncline_channel_create(size_t size, size_t capacity, syncline_sender_t **sender,
                            syncline_receiver_t **receiver);
int syncline_channel_create_waiting(size_t size, size_t capacity, int waiting,
                                    syncline_sender_t **sender, syncline_receiver_t **receiver);
int syncline_sender_send(syncline_sender_t *sender, const void *message);
int syncline_sender_trysend(syncline_sender_t *sender, const void *message);
int syncline_sender_sendall(syncline_sender_t *sender, const void *messages, size_t count,
                            size_t *sent);
int syncline_sender_destroy(syncline_sender_t *sender);
int syncline_receiver_recv(syncline_receiver_t *receiver, void *message);
int syncline_receiver_recvsome(syncline_receiver_t *receiver, void *messages, size_t most,
                               size_t *received);
int syncline_receiver_tryrecv(syncline_receiver_t *receiver, void *message);
int syncline_receiver_timedrecv(syncline_receiver_t *receiver, void *message,
                                const struct timespec *deadline);
int syncline_receiver_destroy(syncline_receiver_t *receiver);

/* A receiver for several senders, each with a channel of its own. The senders don't disturb each
 * other, and are served in turn. One thread at a time uses the receiver. */
typedef struct syncline_inbox syncline_inbox_t;

/* Makes an inbox for `senders` senders, each with room for `capacity` messages of `size` bytes at
 * least; the limits are those of channels. `slot`, if it is not null, is set to the number
 * of the sender, from 0; this number is free again when the sender is destroyed and its messages
 * were received.
 *
 *     create     EINVAL     as for channels, or no senders, or more than 2^28
 *     connect    EAGAIN     all slots are taken
 *     recv       EPIPE      all senders are destroyed, or there was none, and no message is left
 *     recvfrom   waits for a message from one of `count` slots, which are checked in this order
 *                EPIPE      as for recv, for these;  EINVAL  no slots, or not the inbox's
 *     tryrecv, timedrecv, all: as for channels */
int syncline_inbox_create(size_t size, size_t senders, size_t capacity, syncline_inbox_t **inbox);
int syncline_inbox_create_waiting(size_t size, size_t senders, size_t capacity, int waiting,
                                  syncline_inbox_t **inbox);
int syncline_inbox_connect(syncline_inbox_t *inbox, syncline_sender_t **sender, size_t *slot);
int syncline_inbox_recv(syncline_inbox_t *inbox, void *message, size_t *slot);
int syncline_inbox_recvfrom(syncline_inbox_t *inbox, const size_t *slots, size_t count,
                            void *message, size_t *slot);
int syncline_inbox_tryrecv(syncline_inbox_t *inbox, void *message, size_t *slot);
int syncline_inbox_timedrecv(syncline_inbox_t *inbox, void *message, size_t *slot,
                             const struct timespec *deadline);
int syncline_inbox_destroy(syncline_inbox_t *inbox);

/* A server: a thread that runs functions for its clients, one after the other, so that the
 * data that they use stays in its cache. A call is a message there and one back.
 *
 *     syncline_server_t *server;
 *     syncline_client_t *client;
 *     syncline_server_create(1, &server);
 *     syncline_server_connect(server, &client);
 *
 *     syncline_server_run(server);                      a thread, until all clients are destroyed
 *
 *     syncline_client_call(client, deposit, &amount);   another: waits until deposit(&amount) has run
 *     syncline_client_destroy(client);
 *
 * A function sees everything that happened before it was sent, and what earlier functions did. It
 * must not call its own server, which would wait for itself, and must not leave by an exception or
 * longjmp.
 *
 *     create     EINVAL     no clients, or more than 2^28
 *     connect    EAGAIN     the server has as many clients as it was made for
 *                EBUSY      the server runs;  EINVAL  it has run
 *     run        EINVAL     it has run before
 *     call       EPIPE      the server is destroyed; the function has not run
 *     destroy    EBUSY      the server runs, or the client's call is in progress
 *     all        EINVAL, EBUSY as for channels */
typedef struct syncline_server syncline_server_t;
typedef struct syncline_client syncline_client_t;
int syncline_server_create(size_t clients, syncline_server_t **server);
int syncline_server_connect(syncline_server_t *server, syncline_client_t **client);
int syncline_server_run(syncline_server_t *server);
int syncline_server_destroy(syncline_server_t *server);
int syncline_client_call(syncline_client_t *client, void (*function)(void *), void *argument);
int syncline_client_destroy(syncline_client_t *client);

#endif /* SYNCLINE_CHANNELS_H */
