/* One type for each lock that is held by one thread at a time. syncline.h says what the
   functions do. This file is made from the catalogue of locks. */

#ifndef SYNCLINE_LOCKS_H
#define SYNCLINE_LOCKS_H

#ifndef SYNCLINE_H
#error "include syncline.h"
#endif

/* tas: one word, which every waiter tries to set again and again. Waiters get it in no
   order. Rarely contended; otherwise a baseline to compare with. 24 bytes. Source: SSYNC
   4.1. */
typedef struct syncline_tas { uint64_t opaque[3]; } syncline_tas_t;
#define SYNCLINE_TAS_INIT {{0}}
int syncline_tas_lock(syncline_tas_t *lock);
int syncline_tas_trylock(syncline_tas_t *lock);
int syncline_tas_timedlock(syncline_tas_t *lock, const struct timespec *deadline);
int syncline_tas_unlock(syncline_tas_t *lock);
int syncline_tas_wait(syncline_tas_t *lock, syncline_cond_t *cond);
int syncline_tas_timedwait(syncline_tas_t *lock, syncline_cond_t *cond,
                           const struct timespec *deadline);
int syncline_tas_destroy(syncline_tas_t *lock);

/* ttas: one word; waiters read it until it is free, losers back off. Waiters get it in no
   order. Short sections with few waiters; the smallest lock. 24 bytes. Source: Anderson
   1990; SSYNC 4.1. */
typedef struct syncline_ttas { uint64_t opaque[3]; } syncline_ttas_t;
#define SYNCLINE_TTAS_INIT {{0}}
int syncline_ttas_lock(syncline_ttas_t *lock);
int syncline_ttas_trylock(syncline_ttas_t *lock);
int syncline_ttas_timedlock(syncline_ttas_t *lock, const struct timespec *deadline);
int syncline_ttas_unlock(syncline_ttas_t *lock);
int syncline_ttas_wait(syncline_ttas_t *lock, syncline_cond_t *cond);
int syncline_ttas_timedwait(syncline_ttas_t *lock, syncline_cond_t *cond,
                            const struct timespec *deadline);
int syncline_ttas_destroy(syncline_ttas_t *lock);

/* ticket: waiters draw a number and watch the one that is served. Served in order, but
   newcomers may overtake for a bounded time. Fair, small, and quick while few wait for one
   lock. 32 bytes. Source: Mellor-Crummey and Scott 1991; SSYNC 4.1, 5.3. */
typedef struct syncline_ticket { uint64_t opaque[4]; } syncline_ticket_t;
#define SYNCLINE_TICKET_INIT {{0}}
int syncline_ticket_lock(syncline_ticket_t *lock);
int syncline_ticket_trylock(syncline_ticket_t *lock);
int syncline_ticket_unlock(syncline_ticket_t *lock);
int syncline_ticket_wait(syncline_ticket_t *lock, syncline_cond_t *cond);
int syncline_ticket_timedwait(syncline_ticket_t *lock, syncline_cond_t *cond,
                              const struct timespec *deadline);
int syncline_ticket_destroy(syncline_ticket_t *lock);

/* ticket_prefetch: as the ticket lock; waiters fetch what they watch for writing. Served in
   order, but newcomers may overtake for a bounded time. Fair, small, and quick while few
   wait for one lock. 32 bytes. Source: Mellor-Crummey and Scott 1991; SSYNC 4.1, 5.3. */
typedef struct syncline_ticket_prefetch { uint64_t opaque[4]; } syncline_ticket_prefetch_t;
#define SYNCLINE_TICKET_PREFETCH_INIT {{0}}
int syncline_ticket_prefetch_lock(syncline_ticket_prefetch_t *lock);
int syncline_ticket_prefetch_trylock(syncline_ticket_prefetch_t *lock);
int syncline_ticket_prefetch_unlock(syncline_ticket_prefetch_t *lock);
int syncline_ticket_prefetch_wait(syncline_ticket_prefetch_t *lock, syncline_cond_t *cond);
int syncline_ticket_prefetch_timedwait(syncline_ticket_prefetch_t *lock, syncline_cond_t *cond,
                                       const struct timespec *deadline);
int syncline_ticket_prefetch_destroy(syncline_ticket_prefetch_t *lock);

/* anderson: waiters draw a number, each watching a slot of its own. Served in order, but
   newcomers may overtake for a bounded time. A few hot locks with many waiters; takes two
   kilobytes. 2432 bytes. Source: Anderson 1990; SSYNC 4.1. */
typedef struct syncline_anderson { SYNCLINE_ALIGNED(128) uint64_t opaque[304]; } syncline_anderson_t;
#define SYNCLINE_ANDERSON_INIT {{0}}
int syncline_anderson_lock(syncline_anderson_t *lock);
int syncline_anderson_trylock(syncline_anderson_t *lock);
int syncline_anderson_unlock(syncline_anderson_t *lock);
int syncline_anderson_wait(syncline_anderson_t *lock, syncline_cond_t *cond);
int syncline_anderson_timedwait(syncline_anderson_t *lock, syncline_cond_t *cond,
                                const struct timespec *deadline);
int syncline_anderson_destroy(syncline_anderson_t *lock);

/* mcs: waiters form a queue, each watching its own node. Served in order, but newcomers may
   overtake for a bounded time. Many waiters for one lock; a hand-over moves one line. 40
   bytes. Source: Mellor-Crummey and Scott 1991; SSYNC 4.1. */
typedef struct syncline_mcs { uint64_t opaque[5]; } syncline_mcs_t;
#define SYNCLINE_MCS_INIT {{0}}
int syncline_mcs_lock(syncline_mcs_t *lock);
int syncline_mcs_trylock(syncline_mcs_t *lock);
int syncline_mcs_unlock(syncline_mcs_t *lock);
int syncline_mcs_wait(syncline_mcs_t *lock, syncline_cond_t *cond);
int syncline_mcs_timedwait(syncline_mcs_t *lock, syncline_cond_t *cond,
                           const struct timespec *deadline);
int syncline_mcs_destroy(syncline_mcs_t *lock);

/* mcs_timed: as MCS; a waiter that gives up marks its node, and the holder skips it. Served
   in order, but newcomers may overtake for a bounded time. Many waiters for one lock, few
   of which give up. 48 bytes. Source: He, Scherer and Scott 2005. */
typedef struct syncline_mcs_timed { uint64_t opaque[6]; } syncline_mcs_timed_t;
#define SYNCLINE_MCS_TIMED_INIT {{0}}
int syncline_mcs_timed_lock(syncline_mcs_timed_t *lock);
int syncline_mcs_timed_trylock(syncline_mcs_timed_t *lock);
int syncline_mcs_timed_timedlock(syncline_mcs_timed_t *lock, const struct timespec *deadline);
int syncline_mcs_timed_unlock(syncline_mcs_timed_t *lock);
int syncline_mcs_timed_wait(syncline_mcs_timed_t *lock, syncline_cond_t *cond);
int syncline_mcs_timed_timedwait(syncline_mcs_timed_t *lock, syncline_cond_t *cond,
                                 const struct timespec *deadline);
int syncline_mcs_timed_destroy(syncline_mcs_timed_t *lock);

/* clh: waiters form a queue, each watching the node before its own. Served in order, but
   newcomers may overtake for a bounded time. Many waiters for one lock; the quickest
   release of the queue locks. 40 bytes. Source: Craig 1993; Magnusson, Landin and Hagersten
   1994; SSYNC 4.1. */
typedef struct syncline_clh { uint64_t opaque[5]; } syncline_clh_t;
#define SYNCLINE_CLH_INIT {{0}}
int syncline_clh_lock(syncline_clh_t *lock);
int syncline_clh_unlock(syncline_clh_t *lock);
int syncline_clh_wait(syncline_clh_t *lock, syncline_cond_t *cond);
int syncline_clh_timedwait(syncline_clh_t *lock, syncline_cond_t *cond,
                           const struct timespec *deadline);
int syncline_clh_destroy(syncline_clh_t *lock);

/* clh_timed: as CLH; a waiter that gives up leaves a link to the node before its own.
   Served in order, but newcomers may overtake for a bounded time. Many waiters for one
   lock, some of which give up. 40 bytes. Source: Scott 2002; Scott and Scherer 2001. */
typedef struct syncline_clh_timed { uint64_t opaque[5]; } syncline_clh_timed_t;
#define SYNCLINE_CLH_TIMED_INIT {{0}}
int syncline_clh_timed_lock(syncline_clh_timed_t *lock);
int syncline_clh_timed_trylock(syncline_clh_timed_t *lock);
int syncline_clh_timed_timedlock(syncline_clh_timed_t *lock, const struct timespec *deadline);
int syncline_clh_timed_unlock(syncline_clh_timed_t *lock);
int syncline_clh_timed_wait(syncline_clh_timed_t *lock, syncline_cond_t *cond);
int syncline_clh_timed_timedwait(syncline_clh_timed_t *lock, syncline_cond_t *cond,
                                 const struct timespec *deadline);
int syncline_clh_timed_destroy(syncline_clh_timed_t *lock);

/* futex: one word of three states; waiters sleep in the kernel. Waiters get it in no order.
   The blocking baseline; rarely contended locks of any length. 24 bytes. Source: Drepper
   2011. */
typedef struct syncline_futex { uint64_t opaque[3]; } syncline_futex_t;
#define SYNCLINE_FUTEX_INIT {{0}}
int syncline_futex_lock(syncline_futex_t *lock);
int syncline_futex_trylock(syncline_futex_t *lock);
int syncline_futex_timedlock(syncline_futex_t *lock, const struct timespec *deadline);
int syncline_futex_unlock(syncline_futex_t *lock);
int syncline_futex_wait(syncline_futex_t *lock, syncline_cond_t *cond);
int syncline_futex_timedwait(syncline_futex_t *lock, syncline_cond_t *cond,
                             const struct timespec *deadline);
int syncline_futex_destroy(syncline_futex_t *lock);

/* gate: a word that any running thread may take, before a queue for the waiters. Served in
   order, but newcomers may overtake for a bounded time. The default; the choice when
   threads may outnumber processors. 40 bytes. Source: Dice 2017; Linux qspinlock. */
typedef struct syncline_gate { uint64_t opaque[5]; } syncline_gate_t;
#define SYNCLINE_GATE_INIT {{0}}
int syncline_gate_lock(syncline_gate_t *lock);
int syncline_gate_trylock(syncline_gate_t *lock);
int syncline_gate_timedlock(syncline_gate_t *lock, const struct timespec *deadline);
int syncline_gate_unlock(syncline_gate_t *lock);
int syncline_gate_wait(syncline_gate_t *lock, syncline_cond_t *cond);
int syncline_gate_timedwait(syncline_gate_t *lock, syncline_cond_t *cond,
                            const struct timespec *deadline);
int syncline_gate_destroy(syncline_gate_t *lock);

/* hticket: a ticket lock for each socket, and one among the sockets. Served in order, but
   newcomers may overtake for a bounded time. Keeps the lock among near processors. Many
   waiters on several sockets; small for its kind. 896 bytes. Source: SSYNC 4.1; Dice,
   Marathe and Shavit 2012. */
typedef struct syncline_hticket { SYNCLINE_ALIGNED(128) uint64_t opaque[112]; } syncline_hticket_t;
#define SYNCLINE_HTICKET_INIT {{0}}
int syncline_hticket_lock(syncline_hticket_t *lock);
int syncline_hticket_trylock(syncline_hticket_t *lock);
int syncline_hticket_unlock(syncline_hticket_t *lock);
int syncline_hticket_wait(syncline_hticket_t *lock, syncline_cond_t *cond);
int syncline_hticket_timedwait(syncline_hticket_t *lock, syncline_cond_t *cond,
                               const struct timespec *deadline);
int syncline_hticket_destroy(syncline_hticket_t *lock);

/* cohort_mcs: an MCS lock for each socket, and one among the sockets. Served in order, but
   newcomers may overtake for a bounded time. Keeps the lock among near processors. Very
   many waiters on several sockets. 896 bytes. Source: Dice, Marathe and Shavit 2012. */
typedef struct syncline_cohort_mcs { SYNCLINE_ALIGNED(128) uint64_t opaque[112]; } syncline_cohort_mcs_t;
#define SYNCLINE_COHORT_MCS_INIT {{0}}
int syncline_cohort_mcs_lock(syncline_cohort_mcs_t *lock);
int syncline_cohort_mcs_trylock(syncline_cohort_mcs_t *lock);
int syncline_cohort_mcs_unlock(syncline_cohort_mcs_t *lock);
int syncline_cohort_mcs_wait(syncline_cohort_mcs_t *lock, syncline_cond_t *cond);
int syncline_cohort_mcs_timedwait(syncline_cohort_mcs_t *lock, syncline_cond_t *cond,
                                  const struct timespec *deadline);
int syncline_cohort_mcs_destroy(syncline_cohort_mcs_t *lock);

/* cohort_ttas_mcs: an MCS lock for each socket, and a spinlock among the sockets. Waiters
   get it in no order. Keeps the lock among near processors. Very many waiters on few
   sockets, when those need not take turns. 896 bytes. Source: Dice, Marathe and Shavit
   2012. */
typedef struct syncline_cohort_ttas_mcs { SYNCLINE_ALIGNED(128) uint64_t opaque[112]; } syncline_cohort_ttas_mcs_t;
#define SYNCLINE_COHORT_TTAS_MCS_INIT {{0}}
int syncline_cohort_ttas_mcs_lock(syncline_cohort_ttas_mcs_t *lock);
int syncline_cohort_ttas_mcs_trylock(syncline_cohort_ttas_mcs_t *lock);
int syncline_cohort_ttas_mcs_unlock(syncline_cohort_ttas_mcs_t *lock);
int syncline_cohort_ttas_mcs_wait(syncline_cohort_ttas_mcs_t *lock, syncline_cond_t *cond);
int syncline_cohort_ttas_mcs_timedwait(syncline_cohort_ttas_mcs_t *lock, syncline_cond_t *cond,
                                       const struct timespec *deadline);
int syncline_cohort_ttas_mcs_destroy(syncline_cohort_ttas_mcs_t *lock);

/* cohort_timed: as cohort_ttas_mcs; a waiter that gives up marks its node, and the holder
   skips it. Waiters get it in no order. Keeps the lock among near processors. Very many
   waiters on few sockets, some of which give up. 896 bytes. Source: Dice, Marathe and
   Shavit 2012, 3.6; He, Scherer and Scott 2005. */
typedef struct syncline_cohort_timed { SYNCLINE_ALIGNED(128) uint64_t opaque[112]; } syncline_cohort_timed_t;
#define SYNCLINE_COHORT_TIMED_INIT {{0}}
int syncline_cohort_timed_lock(syncline_cohort_timed_t *lock);
int syncline_cohort_timed_trylock(syncline_cohort_timed_t *lock);
int syncline_cohort_timed_timedlock(syncline_cohort_timed_t *lock, const struct timespec *deadline);
int syncline_cohort_timed_unlock(syncline_cohort_timed_t *lock);
int syncline_cohort_timed_wait(syncline_cohort_timed_t *lock, syncline_cond_t *cond);
int syncline_cohort_timed_timedwait(syncline_cohort_timed_t *lock, syncline_cond_t *cond,
                                    const struct timespec *deadline);
int syncline_cohort_timed_destroy(syncline_cohort_timed_t *lock);

/* hmcs: a tree of MCS queues; the lock goes to the nearest waiter. Served in order, but
   newcomers may overtake for a bounded time. Keeps the lock among near processors. Very
   many waiters on a machine of several levels. 2944 bytes. Source: Chabbi, Fagan and
   Mellor-Crummey 2015. */
typedef struct syncline_hmcs { SYNCLINE_ALIGNED(128) uint64_t opaque[368]; } syncline_hmcs_t;
#define SYNCLINE_HMCS_INIT {{0}}
int syncline_hmcs_lock(syncline_hmcs_t *lock);
int syncline_hmcs_trylock(syncline_hmcs_t *lock);
int syncline_hmcs_unlock(syncline_hmcs_t *lock);
int syncline_hmcs_wait(syncline_hmcs_t *lock, syncline_cond_t *cond);
int syncline_hmcs_timedwait(syncline_hmcs_t *lock, syncline_cond_t *cond,
                            const struct timespec *deadline);
int syncline_hmcs_destroy(syncline_hmcs_t *lock);

/* hmcs_timed: as HMCS; a waiter that gives up marks its node, and the next one climbs in
   its place. Served in order, but newcomers may overtake for a bounded time. Keeps the lock
   among near processors. As hmcs, when some waiters give up. 2944 bytes. Source: Chabbi,
   Amer, Wen and Liu 2017. */
typedef struct syncline_hmcs_timed { SYNCLINE_ALIGNED(128) uint64_t opaque[368]; } syncline_hmcs_timed_t;
#define SYNCLINE_HMCS_TIMED_INIT {{0}}
int syncline_hmcs_timed_lock(syncline_hmcs_timed_t *lock);
int syncline_hmcs_timed_trylock(syncline_hmcs_timed_t *lock);
int syncline_hmcs_timed_timedlock(syncline_hmcs_timed_t *lock, const struct timespec *deadline);
int syncline_hmcs_timed_unlock(syncline_hmcs_timed_t *lock);
int syncline_hmcs_timed_wait(syncline_hmcs_timed_t *lock, syncline_cond_t *cond);
int syncline_hmcs_timed_timedwait(syncline_hmcs_timed_t *lock, syncline_cond_t *cond,
                                  const struct timespec *deadline);
int syncline_hmcs_timed_destroy(syncline_hmcs_timed_t *lock);

/* hclh: near waiters queue together, and are spliced into one queue. Served in order, but
   newcomers may overtake for a bounded time. Keeps the lock among near processors. Very
   many waiters on several sockets, for one lock. 896 bytes. Source: Luchangco, Nussbaum and
   Shavit 2006; SSYNC 4.1. */
typedef struct syncline_hclh { SYNCLINE_ALIGNED(128) uint64_t opaque[112]; } syncline_hclh_t;
#define SYNCLINE_HCLH_INIT {{0}}
int syncline_hclh_lock(syncline_hclh_t *lock);
int syncline_hclh_unlock(syncline_hclh_t *lock);
int syncline_hclh_wait(syncline_hclh_t *lock, syncline_cond_t *cond);
int syncline_hclh_timedwait(syncline_hclh_t *lock, syncline_cond_t *cond,
                            const struct timespec *deadline);
int syncline_hclh_destroy(syncline_hclh_t *lock);

/* What the library was built with. */
SYNCLINE_LAYOUT(syncline_tas_t, 24, 8);
SYNCLINE_LAYOUT(syncline_ttas_t, 24, 8);
SYNCLINE_LAYOUT(syncline_ticket_t, 32, 8);
SYNCLINE_LAYOUT(syncline_ticket_prefetch_t, 32, 8);
SYNCLINE_LAYOUT(syncline_anderson_t, 2432, 128);
SYNCLINE_LAYOUT(syncline_mcs_t, 40, 8);
SYNCLINE_LAYOUT(syncline_mcs_timed_t, 48, 8);
SYNCLINE_LAYOUT(syncline_clh_t, 40, 8);
SYNCLINE_LAYOUT(syncline_clh_timed_t, 40, 8);
SYNCLINE_LAYOUT(syncline_futex_t, 24, 8);
SYNCLINE_LAYOUT(syncline_gate_t, 40, 8);
SYNCLINE_LAYOUT(syncline_hticket_t, 896, 128);
SYNCLINE_LAYOUT(syncline_cohort_mcs_t, 896, 128);
SYNCLINE_LAYOUT(syncline_cohort_ttas_mcs_t, 896, 128);
SYNCLINE_LAYOUT(syncline_cohort_timed_t, 896, 128);
SYNCLINE_LAYOUT(syncline_hmcs_t, 2944, 128);
SYNCLINE_LAYOUT(syncline_hmcs_timed_t, 2944, 128);
SYNCLINE_LAYOUT(syncline_hclh_t, 896, 128);

#endif /* SYNCLINE_LOCKS_H */
