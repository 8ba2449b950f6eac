/* Shared memory over ranks: processes that are started by `syncline cluster -n 4 -- ./app`, and
 * have memory in common at the same addresses. docs/dsm.md says what is fast and what can't work.
 *
 * A program must have no data races: what one thread writes, another one sees once both have
 * synchronized by the functions below. Its own variables are each rank's own, unless they lie in
 * memory that was allocated here.
 *
 * Link with -lsyncline_dsm. Functions may be called by any thread, but not in signal handlers.
 * What is a mistake of the caller (no such rank, a lock that is not held) ends the process with a
 * message. */
#ifndef SYNCLINE_DSM_H
#define SYNCLINE_DSM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes this process a rank, with at least so many bytes of shared memory. Returns when all ranks
 * have come to this. 0, or the number of an error (ENOMEM, EINVAL, EALREADY, EIO), of which standard
 * error says more. Handlers of the program for SIGBUS and SIGSEGV are installed before this; they
 * are called for addresses outside of the shared memory. Started without `syncline cluster`, a
 * program is the only rank. */
int syncline_dsm_init(size_t bytes);

/* Ends this rank's part, once all ranks have come to this. A rank that ends without it counts as
 * dead, and all others are ended. Shared memory must not be accessed any more. */
void syncline_dsm_finish(void);

int syncline_dsm_rank(void);
int syncline_dsm_ranks(void);

/* Runs a function in so many threads of this rank, the caller's among them, and returns when all
 * have returned. All ranks call it with the same number. */
void syncline_dsm_run(int threads, void (*body)(void *argument), void *argument);

/* This thread's number among those of all ranks, and how many those are. */
int syncline_dsm_thread(void);
int syncline_dsm_threads(void);

/* Memory of all ranks, zero: all call this in the same order with the same size, and get the same
 * address. It begins with a line of its own. NULL, and errno ENOMEM, if there is not so much. */
void *syncline_dsm_alloc_all(size_t bytes);

/* Memory that this rank takes alone, at a multiple of 64; not zero. NULL as above. It is given back
 * by any rank, with the same size. */
void *syncline_dsm_alloc(size_t bytes);
void syncline_dsm_free(void *block, size_t bytes);

/* A hint: has the lines of a range live at a rank, if nobody has touched them yet. Returns how many
 * lines do. */
size_t syncline_dsm_place(const void *from, size_t bytes, int rank);

/* Waits until all threads of all ranks have come. What was written before is seen after. */
void syncline_dsm_barrier(void);

/* The same after a program's initialisation: who has written what until then is forgotten, so that
 * data which is only read from now on is kept by all ranks. */
void syncline_dsm_reset(void);

/* Locks have numbers. Those below SYNCLINE_DSM_LOCKS exist; up to 3,072 new ones
 * are given out on request. */
#define SYNCLINE_DSM_LOCKS 1024
unsigned syncline_dsm_new_lock(void);
void syncline_dsm_lock(unsigned lock);
void syncline_dsm_unlock(unsigned lock);

/* Runs a section under a lock, here or in another thread of this rank that waits for the same lock:
 * the sections of a rank run together, and the data stays with it. Returns when it has run. The
 * section may use its caller's variables, and must not use the same lock. */
void syncline_dsm_with(unsigned lock, void (*section)(void *argument), void *argument);

/* The same, without waiting: the argument stays valid until the section has run. Wait for it, once,
 * or let it go: NULL is never returned. */
typedef struct syncline_dsm_section syncline_dsm_section_t;
syncline_dsm_section_t *syncline_dsm_delegate(unsigned lock, void (*section)(void *argument),
                                              void *argument);
void syncline_dsm_wait_section(syncline_dsm_section_t *section);
void syncline_dsm_let_go(syncline_dsm_section_t *section);

/* Each lock's number is a counter's as well, zero at first and independent of the lock. `count`
 * changes it atomically and returns what it was, without saying anything about other memory. Who
 * waits until it is at least so much sees what those who signalled had written. */
uint64_t syncline_dsm_count(unsigned counter, uint64_t add);
void syncline_dsm_signal(unsigned counter, uint64_t add);
void syncline_dsm_wait(unsigned counter, uint64_t least);

/* For synchronization by other means, such as messages: what is written before the release is seen
 * after an acquire that comes later. */
void syncline_dsm_acquire(void);
void syncline_dsm_release(void);

/* A system call that is given shared memory fails with EFAULT if a page is absent. This has the
 * pages here before: to be read, or to be written as well (`write` is not 0). They may go at the
 * next barrier, lock or fence of this rank. */
void syncline_dsm_touch(void *from, size_t bytes, int write);

/* What this rank has done so far. */
typedef struct {
    uint64_t misses;
    uint64_t bytes_fetched;
    uint64_t first_writes;
    uint64_t pages_downgraded;
    uint64_t drained;
    uint64_t bytes_put;
    uint64_t lines_evicted;
    uint64_t lines_invalidated;
    uint64_t lines_kept;
    uint64_t deposits;
    uint64_t notices;
} syncline_dsm_counts_t;
void syncline_dsm_counts(syncline_dsm_counts_t *counts);

/* The fault side: "uffd", "uffd-handler" or "sigsegv". */
const char *syncline_dsm_faults(void);

#ifdef __cplusplus
}
#endif

#endif
