/* Transactions: words of 64 bits that change together, or not at all. */

#ifndef SYNCLINE_TRANSACTIONS_H
#define SYNCLINE_TRANSACTIONS_H

#ifndef SYNCLINE_H
#error "include syncline.h"
#endif

/* A word that transactions read and write. All zero bytes are a cell that holds 0. It must not be
 * moved while transactions may use it, and only they may read or write it. */
typedef struct syncline_cell { uint64_t opaque[2]; } syncline_cell_t;

#define SYNCLINE_CELL_INIT(value) {{0, (value)}}

/* A transaction in progress; invalid after its function has returned. */
typedef struct syncline_tx syncline_tx_t;

/* The function of a transaction. It returns
 *
 *     0          to commit: all values that it has set are written at one moment, and at that
 *                moment all values that it has read are still current
 *     EAGAIN     if one of the functions below has returned EAGAIN: clean up and return EAGAIN too;
 *                the function is then run again
 *     else       to give up: nothing is written, and syncline_atomically returns this value
 *
 * The function may run several times, so it must have no other lasting effects. In every run, even
 * in one that is repeated, it sees the cells as they were at one moment. It must wait for other
 * threads only with syncline_tx_retry, and must return: no exception, no longjmp.
 *
 *     static int transfer(syncline_tx_t *tx, void *argument) {
 *         struct order *order = argument;
 *         uint64_t from, to;
 *         int error;
 *         if ((error = syncline_tx_get(tx, order->from, &from)) ||
 *             (error = syncline_tx_get(tx, order->to, &to)))
 *             return error;
 *         if (from < order->amount) return ERANGE;
 *         syncline_tx_set(tx, order->from, from - order->amount);
 *         syncline_tx_set(tx, order->to, to + order->amount);
 *         return 0;
 *     }
 *     ...
 *     int error = syncline_atomically(transfer, &order);
 */
typedef int (*syncline_transaction_t)(syncline_tx_t *tx, void *argument);

/*     atomically runs a transaction until it commits or gives up, and returns what the function
 *                returned; or
 *                EINVAL   a null pointer for a function
 *                EDEADLK  from within a transaction; hand its tx on instead
 *     get        reads a cell
 *                EAGAIN   another transaction conflicts
 *     set        writes a cell; until the transaction commits, no other one sees the value
 *     retry      returns EAGAIN; syncline_atomically then waits until a cell that the transaction
 *                has read changes, and runs the transaction again
 *                EINVAL   the transaction has read no cell, and would wait forever
 *     all        EINVAL   a null or misaligned pointer, or memory that is not a cell */
int syncline_atomically(syncline_transaction_t transaction, void *argument);
int syncline_tx_get(syncline_tx_t *tx, const syncline_cell_t *cell, uint64_t *value);
int syncline_tx_set(syncline_tx_t *tx, syncline_cell_t *cell, uint64_t value);
int syncline_tx_retry(syncline_tx_t *tx);

SYNCLINE_LAYOUT(syncline_cell_t, 16, 8);

#endif /* SYNCLINE_TRANSACTIONS_H */
