/* One type for each lock that readers share and a writer holds alone. syncline.h says what
   the functions do. This file is made from the catalogue of locks. */

#ifndef SYNCLINE_RWLOCKS_H
#define SYNCLINE_RWLOCKS_H

#ifndef SYNCLINE_H
#error "include syncline.h"
#endif

/* rw_fair: readers and writers in one queue; neighbouring readers share. Served in order,
   but newcomers may overtake for a bounded time. Long sections, when neither readers nor
   writers may starve. 56 bytes. Source: Mellor-Crummey and Scott, PPoPP'91. */
typedef struct syncline_rw_fair { uint64_t opaque[7]; } syncline_rw_fair_t;
#define SYNCLINE_RW_FAIR_INIT {{0}}
int syncline_rw_fair_rdlock(syncline_rw_fair_t *lock);
int syncline_rw_fair_wrlock(syncline_rw_fair_t *lock);
int syncline_rw_fair_unlock(syncline_rw_fair_t *lock);
int syncline_rw_fair_wait(syncline_rw_fair_t *lock, syncline_cond_t *cond);
int syncline_rw_fair_timedwait(syncline_rw_fair_t *lock, syncline_cond_t *cond,
                               const struct timespec *deadline);
int syncline_rw_fair_destroy(syncline_rw_fair_t *lock);

/* rw_readers: a count of readers, a list of those that wait, and a queue of writers.
   Readers come before writers; a writer may starve. Many readers that must not wait behind
   waiting writers. 56 bytes. Source: Mellor-Crummey and Scott, PPoPP'91. */
typedef struct syncline_rw_readers { uint64_t opaque[7]; } syncline_rw_readers_t;
#define SYNCLINE_RW_READERS_INIT {{0}}
int syncline_rw_readers_rdlock(syncline_rw_readers_t *lock);
int syncline_rw_readers_tryrdlock(syncline_rw_readers_t *lock);
int syncline_rw_readers_wrlock(syncline_rw_readers_t *lock);
int syncline_rw_readers_trywrlock(syncline_rw_readers_t *lock);
int syncline_rw_readers_unlock(syncline_rw_readers_t *lock);
int syncline_rw_readers_wait(syncline_rw_readers_t *lock, syncline_cond_t *cond);
int syncline_rw_readers_timedwait(syncline_rw_readers_t *lock, syncline_cond_t *cond,
                                  const struct timespec *deadline);
int syncline_rw_readers_destroy(syncline_rw_readers_t *lock);

/* rw_writers: a count of readers, a list of those that wait, and a queue of writers, which
   go first. Writers come before readers; a reader may starve. Many readers and rare writers
   whose updates should be seen soon. 56 bytes. Source: Mellor-Crummey and Scott, PPoPP'91. */
typedef struct syncline_rw_writers { uint64_t opaque[7]; } syncline_rw_writers_t;
#define SYNCLINE_RW_WRITERS_INIT {{0}}
int syncline_rw_writers_rdlock(syncline_rw_writers_t *lock);
int syncline_rw_writers_tryrdlock(syncline_rw_writers_t *lock);
int syncline_rw_writers_wrlock(syncline_rw_writers_t *lock);
int syncline_rw_writers_trywrlock(syncline_rw_writers_t *lock);
int syncline_rw_writers_unlock(syncline_rw_writers_t *lock);
int syncline_rw_writers_wait(syncline_rw_writers_t *lock, syncline_cond_t *cond);
int syncline_rw_writers_timedwait(syncline_rw_writers_t *lock, syncline_cond_t *cond,
                                  const struct timespec *deadline);
int syncline_rw_writers_destroy(syncline_rw_writers_t *lock);

/* rw_flag: a writer's flag and a count of readers; each side looks at the other's word.
   Waiters get it in no order; a writer comes before new readers. Sharing by threads that
   each have a processor; never sleeps. 32 bytes. Source: common practice; Concurrency Kit. */
typedef struct syncline_rw_flag { uint64_t opaque[4]; } syncline_rw_flag_t;
#define SYNCLINE_RW_FLAG_INIT {{0}}
int syncline_rw_flag_rdlock(syncline_rw_flag_t *lock);
int syncline_rw_flag_tryrdlock(syncline_rw_flag_t *lock);
int syncline_rw_flag_timedrdlock(syncline_rw_flag_t *lock, const struct timespec *deadline);
int syncline_rw_flag_wrlock(syncline_rw_flag_t *lock);
int syncline_rw_flag_trywrlock(syncline_rw_flag_t *lock);
int syncline_rw_flag_timedwrlock(syncline_rw_flag_t *lock, const struct timespec *deadline);
int syncline_rw_flag_unlock(syncline_rw_flag_t *lock);
int syncline_rw_flag_wait(syncline_rw_flag_t *lock, syncline_cond_t *cond);
int syncline_rw_flag_timedwait(syncline_rw_flag_t *lock, syncline_cond_t *cond,
                               const struct timespec *deadline);
int syncline_rw_flag_destroy(syncline_rw_flag_t *lock);

/* rw_compact: one word counts the readers inside and the writers that wait. Writers come
   before readers; a reader may starve. The default for sharing; a word, and sleepers cost
   nothing. 24 bytes. Source: common practice. */
typedef struct syncline_rw_compact { uint64_t opaque[3]; } syncline_rw_compact_t;
#define SYNCLINE_RW_COMPACT_INIT {{0}}
int syncline_rw_compact_rdlock(syncline_rw_compact_t *lock);
int syncline_rw_compact_tryrdlock(syncline_rw_compact_t *lock);
int syncline_rw_compact_timedrdlock(syncline_rw_compact_t *lock, const struct timespec *deadline);
int syncline_rw_compact_wrlock(syncline_rw_compact_t *lock);
int syncline_rw_compact_trywrlock(syncline_rw_compact_t *lock);
int syncline_rw_compact_timedwrlock(syncline_rw_compact_t *lock, const struct timespec *deadline);
int syncline_rw_compact_unlock(syncline_rw_compact_t *lock);
int syncline_rw_compact_wait(syncline_rw_compact_t *lock, syncline_cond_t *cond);
int syncline_rw_compact_timedwait(syncline_rw_compact_t *lock, syncline_cond_t *cond,
                                  const struct timespec *deadline);
int syncline_rw_compact_destroy(syncline_rw_compact_t *lock);

/* What the library was built with. */
SYNCLINE_LAYOUT(syncline_rw_fair_t, 56, 8);
SYNCLINE_LAYOUT(syncline_rw_readers_t, 56, 8);
SYNCLINE_LAYOUT(syncline_rw_writers_t, 56, 8);
SYNCLINE_LAYOUT(syncline_rw_flag_t, 32, 8);
SYNCLINE_LAYOUT(syncline_rw_compact_t, 24, 8);

#endif /* SYNCLINE_RWLOCKS_H */
