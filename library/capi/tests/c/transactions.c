/* Threads move money and wait for it; transactions give up, and each mistake has its error. */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syncline.h>

enum { THREADS = 4, ROUNDS = 5000, ACCOUNTS = 8, EACH = 100 };

#define EXPECT(expected, call)                                                                     \
    do {                                                                                           \
        long outcome_ = (call);                                                                    \
        if (outcome_ != (expected)) {                                                              \
            fprintf(stderr, "%s:%d: %s is %ld, not %s\n", __FILE__, __LINE__, #call, outcome_,     \
                    #expected);                                                                    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static syncline_cell_t accounts[ACCOUNTS];
static syncline_cell_t slot = SYNCLINE_CELL_INIT(7);

struct order {
    syncline_cell_t *from, *to;
    uint64_t amount;
};

static int transfer(syncline_tx_t *tx, void *argument) {
    struct order *order = argument;
    uint64_t from, to;
    int error = syncline_tx_get(tx, order->from, &from);
    if (error) return error;
    EXPECT(0, syncline_tx_set(tx, order->from, from - order->amount));
    if ((error = syncline_tx_get(tx, order->to, &to))) return error;
    EXPECT(0, syncline_tx_set(tx, order->to, to + order->amount));
    /* The check comes after the writes: the values that were set are discarded. */
    return from < order->amount ? ERANGE : 0;
}

static int audit(syncline_tx_t *tx, void *sum) {
    *(uint64_t *)sum = 0;
    for (int i = 0; i < ACCOUNTS; i++) {
        uint64_t funds;
        int error = syncline_tx_get(tx, &accounts[i], &funds);
        if (error) return error;
        *(uint64_t *)sum += funds;
    }
    return 0;
}

static int deposit(syncline_tx_t *tx, void *cell) { return syncline_tx_set(tx, cell, EACH); }

static void *move(void *number) {
    unsigned seed = (unsigned)(size_t)number;
    for (int i = 0; i < ROUNDS; i++) {
        seed = seed * 1103515245 + 12345;
        struct order order = {&accounts[seed >> 16 & 7], &accounts[seed >> 20 & 7], seed >> 24 & 63};
        int error = syncline_atomically(transfer, &order);
        if (error != ERANGE) EXPECT(0, error);
        uint64_t sum;
        EXPECT(0, syncline_atomically(audit, &sum));
        EXPECT(ACCOUNTS * EACH, (long)sum);
    }
    return NULL;
}

/* Waits until the slot is empty, and fills it. */
static int put(syncline_tx_t *tx, void *value) {
    uint64_t full;
    int error = syncline_tx_get(tx, &slot, &full);
    if (error) return error;
    if (full) return syncline_tx_retry(tx);
    return syncline_tx_set(tx, &slot, *(uint64_t *)value);
}

static int take(syncline_tx_t *tx, void *value) {
    int error = syncline_tx_get(tx, &slot, value);
    if (error) return error;
    if (*(uint64_t *)value == 0) return syncline_tx_retry(tx);
    return syncline_tx_set(tx, &slot, 0);
}

static void *produce(void *unused) {
    for (uint64_t i = 1; i <= ROUNDS; i++) EXPECT(0, syncline_atomically(put, &i));
    return unused;
}

static int misuse(syncline_tx_t *tx, void *argument) {
    uint64_t value;
    syncline_cell_t garbage;
    memset(&garbage, 0xab, sizeof garbage);
    EXPECT(EDEADLK, syncline_atomically(audit, argument));
    EXPECT(EINVAL, syncline_tx_retry(tx));
    EXPECT(EINVAL, syncline_tx_get(NULL, &slot, &value));
    EXPECT(EINVAL, syncline_tx_get(tx, NULL, &value));
    EXPECT(EINVAL, syncline_tx_get(tx, &slot, NULL));
    EXPECT(EINVAL, syncline_tx_get(tx, &garbage, &value));
    EXPECT(EINVAL, syncline_tx_set(tx, &garbage, 1));
    EXPECT(EINVAL, syncline_tx_set(tx, (syncline_cell_t *)((char *)&slot + 1), 1));
    EXPECT(EINVAL, syncline_tx_retry(NULL));
    EXPECT(0, syncline_tx_set(tx, &slot, 99));
    /* No function has returned EAGAIN to it. */
    return EAGAIN;
}

int main(void) {
    for (int i = 0; i < ACCOUNTS; i++) EXPECT(0, syncline_atomically(deposit, &accounts[i]));
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        EXPECT(0, pthread_create(&threads[i], NULL, move, (void *)(i + 1)));
    for (int i = 0; i < THREADS; i++) EXPECT(0, pthread_join(threads[i], NULL));

    uint64_t value, sum = 0;
    EXPECT(0, syncline_atomically(take, &value));
    EXPECT(7, (long)value);
    EXPECT(0, pthread_create(&threads[0], NULL, produce, NULL));
    for (int i = 0; i < ROUNDS; i++) {
        EXPECT(0, syncline_atomically(take, &value));
        sum += value;
    }
    EXPECT(0, pthread_join(threads[0], NULL));
    EXPECT((long)ROUNDS * (ROUNDS + 1) / 2, (long)sum);

    EXPECT(EAGAIN, syncline_atomically(misuse, NULL));
    EXPECT(EINVAL, syncline_atomically(NULL, NULL));
    value = 1;
    EXPECT(0, syncline_atomically(put, &value));
}
