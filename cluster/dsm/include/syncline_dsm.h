/* Shared memory over ranks: processes that `syncline cluster -n 4 -- ./app` starts, and that share
 * memory at the same addresses. docs/dsm.md says what is fast and what can't work.
 *
 * A program must have no data races: a thread sees what another one has written after both have
 * synchronized with the functions below. Each rank has its own copy of the program's variables.
 * Only memory that these functions allocate is shared.
 *
 * Link with -lsyncline_dsm. Any thread may call these functions, but no signal handler may. A
 * mistake of the caller (no such rank, a lock that is not held) ends the process with a message. */
#ifndef SYNCLINE_DSM_H
#define SYNCLINE_DSM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes this process a rank, with at least this many bytes of shared memory. Returns 0 when all
 * ranks have called this. If it fails, it prints a message on standard error and returns an
 * error's number (ENOMEM, EINVAL, EALREADY, EIO). The program's own handlers for SIGBUS and SIGSEGV
 * must be installed before this call; they are called for addresses outside of the shared memory.
 * A program that was started without `syncline cluster` is the only rank. */
int syncline_dsm_init(size_t bytes);

/* Ends this rank's participation in the program, after all ranks have called this function. A
 * rank that ends without this call counts as dead, and all others are ended. Shared memory must
 * not be accessed after this call. */
void syncline_dsm_finish(void);

int syncline_dsm_rank(void);
int syncline_dsm_ranks(void);

/* Runs a function in this many threads of this rank, and returns when the function has returned in
 * all of them. The calling thread is one of these threads. All ranks must pass the same number. */
void syncline_dsm_run(int threads, void (*body)(void *argument), void *argument);

/* Within syncline_dsm_run: the number of this thread among the threads of all ranks, from 0, and
 * the number of these threads. Outside of it: the number of the rank, and the number of all ranks.
 * A thread that the program has started itself always has the number of its rank. */
int syncline_dsm_thread(void);
int syncline_dsm_threads(void);

/* Allocates zeroed memory for all ranks: all call this in the same order with the same size, and
 * get the same address. The memory begins at a line, and shares no line with other memory. Returns
 * NULL, with errno ENOMEM, if not enough memory is left. */
void *syncline_dsm_alloc_all(size_t bytes);

/* Allocates shared memory at a multiple of 64. Only the calling rank gets the address, and may pass
 * it to other ranks. The memory is not zeroed. Returns NULL, with errno ENOMEM, if not enough
 * memory is left. Any rank may free the memory, with the same size. */
void *syncline_dsm_alloc(size_t bytes);
void syncline_dsm_free(void *block, size_t bytes);

/* A hint: places the lines of a range at a rank, except lines that a rank has already touched.
 * Returns how many of the lines now live at that rank. */
size_t syncline_dsm_place(const void *from, size_t bytes, int rank);

/* Waits until all threads of all ranks have called this function. Everything that any of them
 * wrote before is visible to all of them afterwards. */
void syncline_dsm_barrier(void);

/* A barrier for the end of a program's initialisation. The barrier forgets which ranks have written
 * which data, so that all ranks keep data that is only read from then on. */
void syncline_dsm_reset(void);

/* Locks have numbers. The locks below SYNCLINE_DSM_LOCKS exist from the start; up to 3,072
 * further ones are created on request. */
#define SYNCLINE_DSM_LOCKS 1024
unsigned syncline_dsm_new_lock(void);
void syncline_dsm_lock(unsigned lock);
void syncline_dsm_unlock(unsigned lock);

/* Runs a section under a lock, in this thread or in another thread of this rank that is in a call
 * for the same lock. So the sections of a rank run together, and the data stays with the rank.
 * Returns when the section has run. The section may use its caller's variables, and must not use
 * the same lock. */
void syncline_dsm_with(unsigned lock, void (*section)(void *argument), void *argument);

/* Hands in a section without waiting for it. The argument must stay valid until the section has
 * run. For each section, call either syncline_dsm_wait_section or syncline_dsm_let_go, once. Never
 * returns NULL. */
typedef struct syncline_dsm_section syncline_dsm_section_t;
syncline_dsm_section_t *syncline_dsm_delegate(unsigned lock, void (*section)(void *argument),
                                              void *argument);
void syncline_dsm_wait_section(syncline_dsm_section_t *section);
void syncline_dsm_let_go(syncline_dsm_section_t *section);

/* Each lock's number is also the number of a counter, which starts at zero and is independent of
 * the lock. `count` adds to the counter atomically and returns the old value, and orders no
 * other memory. `signal` adds to the counter. `wait` waits until the counter is at least `least`;
 * afterwards, everything is visible that the threads that called `signal` wrote before. */
uint64_t syncline_dsm_count(unsigned counter, uint64_t add);
void syncline_dsm_signal(unsigned counter, uint64_t add);
void syncline_dsm_wait(unsigned counter, uint64_t least);

/* For synchronization by other means, such as messages: everything that is written before the
 * release is visible after a later acquire. */
void syncline_dsm_acquire(void);
void syncline_dsm_release(void);

/* Makes pages present for a system call to read, or also to write if `write` is not 0. A system
 * call on shared memory fails with EFAULT if a page is absent. The pages may become absent again
 * at the next barrier, lock or fence of this rank, or if other pages take their slots in a small
 * cache. */
void syncline_dsm_touch(void *from, size_t bytes, int write);

/* The counts of this rank's operations so far. */
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

/* The way in which page faults are handled: "uffd", "uffd-handler" or "sigsegv". */
const char *syncline_dsm_faults(void);

#ifdef __cplusplus
}
#endif

#endif
