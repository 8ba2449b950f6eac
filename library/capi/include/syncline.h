/* Syncline: locks for threads.
 *
 * Each lock suits a different situation. Choose one by its type, whose comment describes it:
 *
 *     syncline/locks.h      locks that one thread holds at a time      syncline_mcs_t, ...
 *     syncline/rwlocks.h    locks that readers share                   syncline_rw_fair_t, ...
 *     syncline/delegation.h locks whose holder runs others' sections   syncline_qd_t, ...
 *     syncline/channels.h   messages between threads
 *     syncline/transactions.h words that change together, without a lock
 *
 * or by its name at run time: syncline_lock_t and syncline_rwlock_t, below. When in doubt take
 * syncline_gate_t, which is suitable everywhere.
 *
 *     static syncline_gate_t lock = SYNCLINE_GATE_INIT;
 *
 *     syncline_gate_lock(&lock);
 *     total += 1;
 *     syncline_gate_unlock(&lock);
 *
 * Build with `pkg-config --cflags --libs syncline`, or with CMake's find_package(syncline), which
 * gives the target syncline::syncline. syncline.hpp has the same locks as classes of C++.
 *
 * A lock is for the threads of one process. It must not be moved while it is in use, and never be
 * copied. All zero bytes are a free lock, so a static lock needs no initialiser; only locks chosen
 * by name have to be initialised, by a function. Locking has acquire, and unlocking release
 * ordering: a holder sees what the holders before it did.
 *
 * WHAT FUNCTIONS RETURN
 *
 * 0, or an error number of errno.h; after an error nothing was done, except that timedwait has
 * waited, and that sendall may have sent some messages. syncline_strerror explains each error.
 * These errors are always returned, in optimised programs as well:
 *
 *     unlock     EPERM      this thread does not hold the lock
 *     lock       EDEADLK    this thread holds it already, exclusively or shared
 *     trylock    EBUSY      it is held, or others wait for it
 *     timedlock  ETIMEDOUT  the deadline has passed; a free lock is taken even then
 *                EDEADLK    as for lock
 *     rdlock     EAGAIN     as many readers hold it as it can count (syncline_rw_compact_t: 524,287;
 *                           the others count more than 100 million, and abort the program there)
 *     wait       EPERM      this thread does not hold the lock, or only as a reader
 *     timedwait  ETIMEDOUT  the deadline has passed; the lock is held again
 *     destroy    EBUSY      it is held, waited for, or used to wait for a condition
 *     all        EINVAL     a null pointer, a misaligned lock, or an invalid deadline
 *
 * A thread that ends while it holds a lock leaves it held.
 *
 * DEADLINES are absolute times on CLOCK_MONOTONIC. syncline_deadline makes one.
 */

#ifndef SYNCLINE_H
#define SYNCLINE_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#if UINTPTR_MAX != UINT64_MAX
#error "syncline.h is for systems with pointers of 64 bits"
#endif

#define SYNCLINE_VERSION "0.1.0"

#ifdef __cplusplus
#define SYNCLINE_ALIGNED(bytes) alignas(bytes)
#define SYNCLINE_LAYOUT(type, size, alignment)                                                     \
    static_assert(sizeof(type) == size && alignof(type) == alignment, "a layout was changed")
extern "C" {
#else
#define SYNCLINE_ALIGNED(bytes) _Alignas(bytes)
#define SYNCLINE_LAYOUT(type, size, alignment)                                                     \
    _Static_assert(sizeof(type) == size && _Alignof(type) == alignment, "a layout was changed")
#endif

/* The version of the library that the program runs with, such as "0.1.0". */
const char *syncline_version(void);

/* Says what an error number of these functions means, and what to do. Never null. */
const char *syncline_strerror(int error);

/* The time that is `nanoseconds` from now. */
struct timespec syncline_deadline(uint64_t nanoseconds);

/* ---- Condition variables ------------------------------------------------------------------
 *
 * One kind for all locks. A thread that holds a lock waits with that lock's function, and holds
 * it again afterwards:
 *
 *     while (!ready)
 *         syncline_mcs_wait(&lock, &cond);
 *
 * A wait may end spuriously, so check the condition in a loop. A thread makes the condition true
 * while it holds the lock, and signals before or after it releases the lock. With a reader-writer
 * lock, only writers can wait. */

typedef struct syncline_cond { uint32_t opaque[2]; } syncline_cond_t;
#define SYNCLINE_COND_INIT {{0}}

/* Wake one of the waiting threads, or all. */
int syncline_cond_signal(syncline_cond_t *cond);
int syncline_cond_broadcast(syncline_cond_t *cond);

/* Returns EBUSY if a thread waits. There is nothing to free. */
int syncline_cond_destroy(syncline_cond_t *cond);

/* ---- Locks chosen by name -----------------------------------------------------------------
 *
 * A name consists of the lock's name and the way in which its waiters wait: "mcs-spin",
 * "mcs-yield", "mcs-park". A lock's name alone means that its waiters park, as with the types, or
 * that they yield if they can't sleep. A lock chosen by name costs one more indirect call. */

typedef struct syncline_lock { uint64_t opaque[3]; } syncline_lock_t;

/* Initialises a lock. EINVAL: no lock has this name. ENOMEM: no memory is left for the lock. The
 * lock must be destroyed, else its memory leaks, and must not be initialised again before that.
 *
 * The functions below return EINVAL if the lock was not initialised, or destroyed, or is a copy;
 * and ENOTSUP if the lock has no such operation. */
int syncline_lock_init(syncline_lock_t *lock, const char *name);
int syncline_lock_lock(syncline_lock_t *lock);
int syncline_lock_trylock(syncline_lock_t *lock);
int syncline_lock_timedlock(syncline_lock_t *lock, const struct timespec *deadline);
int syncline_lock_unlock(syncline_lock_t *lock);
int syncline_lock_wait(syncline_lock_t *lock, syncline_cond_t *cond);
int syncline_lock_timedwait(syncline_lock_t *lock, syncline_cond_t *cond,
                            const struct timespec *deadline);
int syncline_lock_destroy(syncline_lock_t *lock);

/* All names, ended by a null pointer. */
const char *const *syncline_lock_names(void);

/* A lock that readers share, chosen by name. A thread that reads can't take the same lock again,
 * neither to read nor to write: EDEADLK, or EBUSY from the functions that try. */
typedef struct syncline_rwlock { uint64_t opaque[3]; } syncline_rwlock_t;

int syncline_rwlock_init(syncline_rwlock_t *lock, const char *name);
int syncline_rwlock_rdlock(syncline_rwlock_t *lock);
int syncline_rwlock_tryrdlock(syncline_rwlock_t *lock);
int syncline_rwlock_timedrdlock(syncline_rwlock_t *lock, const struct timespec *deadline);
int syncline_rwlock_wrlock(syncline_rwlock_t *lock);
int syncline_rwlock_trywrlock(syncline_rwlock_t *lock);
int syncline_rwlock_timedwrlock(syncline_rwlock_t *lock, const struct timespec *deadline);
int syncline_rwlock_unlock(syncline_rwlock_t *lock);
int syncline_rwlock_wait(syncline_rwlock_t *lock, syncline_cond_t *cond);
int syncline_rwlock_timedwait(syncline_rwlock_t *lock, syncline_cond_t *cond,
                              const struct timespec *deadline);
int syncline_rwlock_destroy(syncline_rwlock_t *lock);
const char *const *syncline_rwlock_names(void);

SYNCLINE_LAYOUT(syncline_cond_t, 8, 4);
SYNCLINE_LAYOUT(syncline_lock_t, 24, 8);
SYNCLINE_LAYOUT(syncline_rwlock_t, 24, 8);

/* ---- One type for each lock ---------------------------------------------------------------
 *
 * A type has functions only for the operations of its lock. Destroying a lock frees memory that it
 * may have kept, and leaves a free lock. Large types are aligned to 128 bytes, which is more than
 * malloc guarantees: use aligned_alloc. */

#include "syncline/locks.h"
#include "syncline/rwlocks.h"

/* ---- Delegation ---------------------------------------------------------------------------
 *
 * A critical section is a function with an argument, which is sent to the lock's holder. The lock
 * does not travel. For short sections on contended data that is the fastest way, and a thread need
 * not wait for a section whose result it doesn't need at once:
 *
 *     syncline_pending_t pending;
 *     syncline_qd_delegate(&lock, add, &order, &pending);
 *     ...
 *     syncline_pending_wait(&pending);
 *
 * The section runs once, in any thread that is inside a call to this lock. It must return: no
 * exception, no longjmp. It must not call its own lock, nor wait for a section pending there. The
 * object that the argument points to must live until the section has run.
 *
 *     run        EDEADLK    from a section of this lock
 *     delegate   EDEADLK    likewise
 *     wait       EINVAL     nothing is pending here, it was waited for already, or it is a copy
 *                EDEADLK    from a section of the lock that it was delegated to
 *     destroy    EBUSY      a call is in progress
 *     all        EINVAL     a null pointer where none is allowed, or a misaligned one
 */

typedef void (*syncline_section_t)(void *argument);

/* A section that was delegated. It must not be moved, and is waited for once. */
typedef struct syncline_pending { uint64_t opaque[5]; } syncline_pending_t;

/* Waits until the section has run. The functions of the locks:
 *
 *     run        lets a section run, in this thread or another, and waits for it
 *     delegate   queues a section and returns, after a wait if the queue is full or closed, or if
 *                the holder has reached its limit. If the lock is free, runs the section instead,
 *                and those of other threads. With a null pointer for `pending`, the section can't
 *                be waited for. */
int syncline_pending_wait(syncline_pending_t *pending);

SYNCLINE_LAYOUT(syncline_pending_t, 40, 8);

#include "syncline/delegation.h"
#include "syncline/transactions.h"
#include "syncline/channels.h"

#ifdef __cplusplus
}
#endif

#endif /* SYNCLINE_H */
