/* Channels: messages from one thread to another, one cache line's transfer each. */

#ifndef SYNCLINE_CHANNELS_H
#define SYNCLINE_CHANNELS_H

#ifndef SYNCLINE_H
#error "include syncline.h"
#endif

/* The ends of a channel. Each is one thread's at a time; it may be handed on. */
typedef struct syncline_sender syncline_sender_t;
typedef struct syncline_receiver syncline_receiver_t;

/* Makes a channel for messages of `size` bytes, 1 to 1016, with room for `capacity` of them at
 * least. Messages are copied; of larger things send pointers. Up to 56 bytes travel in one cache
 * line, several messages together if they fit. Who waits sleeps after a while.
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
 * Messages arrive once and in order. What a thread did before it sent one, whoever receives it
 * sees. Destroying an end disconnects: a receiver still gets all that was sent; what nobody
 * receives is forgotten.
 *
 *     create     EINVAL     a size or capacity out of range; the capacity is 1 to 2^28
 *     send       waits for room
 *                EPIPE      the receiver is destroyed
 *     trysend    EAGAIN     there is no room now
 *                EPIPE      as for send
 *     recv       waits for a message
 *                EPIPE      the sender is destroyed, and all its messages were received
 *     tryrecv    EAGAIN     there is no message now
 *                EPIPE      as for recv
 *     all        EINVAL     a null pointer, or a misaligned end
 *                EBUSY      another thread is using this end */
int syncline_channel_create(size_t size, size_t capacity, syncline_sender_t **sender,
                            syncline_receiver_t **receiver);
int syncline_sender_send(syncline_sender_t *sender, const void *message);
int syncline_sender_trysend(syncline_sender_t *sender, const void *message);
int syncline_sender_destroy(syncline_sender_t *sender);
int syncline_receiver_recv(syncline_receiver_t *receiver, void *message);
int syncline_receiver_tryrecv(syncline_receiver_t *receiver, void *message);
int syncline_receiver_destroy(syncline_receiver_t *receiver);

#endif /* SYNCLINE_CHANNELS_H */
