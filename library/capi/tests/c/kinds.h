/* Every lock of the library behind one table of functions, so that each test runs with each lock.
   The list, each_lock.h, is written from the catalogue by the test that compiles this. */

#ifndef KINDS_H
#define KINDS_H

#include <errno.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syncline.h>

struct kind {
    const char *name;
    size_t size, alignment;
    int (*init)(void *, const char *); /* for locks chosen by name only */
    int (*lock)(void *);
    int (*unlock)(void *);
    int (*wait)(void *, syncline_cond_t *);
    int (*timedwait)(void *, syncline_cond_t *, const struct timespec *);
    int (*destroy)(void *);
    int (*trylock)(void *); /* from here on, a lock may lack functions */
    int (*timedlock)(void *, const struct timespec *);
    int (*rdlock)(void *);
    int (*tryrdlock)(void *);
    int (*timedrdlock)(void *, const struct timespec *);
};

/* Functions that take any pointer, as the table has them. */
#define PLAIN(name, call)                                                                          \
    static int name##_##call(void *lock) { return syncline_##name##_##call(lock); }
#define TIMED(name, call)                                                                          \
    static int name##_##call(void *lock, const struct timespec *deadline) {                        \
        return syncline_##name##_##call(lock, deadline);                                           \
    }
#define COMMON(name)                                                                               \
    PLAIN(name, unlock)                                                                            \
    PLAIN(name, destroy)                                                                           \
    static int name##_wait(void *lock, syncline_cond_t *cond) {                                    \
        return syncline_##name##_wait(lock, cond);                                                 \
    }                                                                                              \
    static int name##_timedwait(void *lock, syncline_cond_t *cond, const struct timespec *time) {  \
        return syncline_##name##_timedwait(lock, cond, time);                                      \
    }
#define COMMON_ENTRIES(name)                                                                       \
    .unlock = name##_unlock, .destroy = name##_destroy, .wait = name##_wait,                       \
    .timedwait = name##_timedwait
#define TYPE_ENTRIES(name_)                                                                        \
    .name = #name_, .size = sizeof(syncline_##name_##_t), .alignment = alignof(syncline_##name_##_t)

COMMON(lock)
PLAIN(lock, lock)
PLAIN(lock, trylock)
TIMED(lock, timedlock)
COMMON(rwlock)
PLAIN(rwlock, wrlock)
PLAIN(rwlock, trywrlock)
TIMED(rwlock, timedwrlock)
PLAIN(rwlock, rdlock)
PLAIN(rwlock, tryrdlock)
TIMED(rwlock, timedrdlock)

static int lock_init(void *lock, const char *name) { return syncline_lock_init(lock, name); }
static int rwlock_init(void *lock, const char *name) { return syncline_rwlock_init(lock, name); }

/* The functions of each type. */
#define ONLY_0(...)
#define ONLY_1(...) __VA_ARGS__
#define LOCK(name, can_try, can_time)                                                              \
    COMMON(name)                                                                                   \
    PLAIN(name, lock)                                                                              \
    ONLY_##can_try(PLAIN(name, trylock))                                                           \
    ONLY_##can_time(TIMED(name, timedlock))
#define RWLOCK(name, can_try, can_time)                                                            \
    COMMON(name)                                                                                   \
    PLAIN(name, rdlock)                                                                            \
    PLAIN(name, wrlock)                                                                            \
    ONLY_##can_try(PLAIN(name, tryrdlock) PLAIN(name, trywrlock))                                  \
    ONLY_##can_time(TIMED(name, timedrdlock) TIMED(name, timedwrlock))
#define NAMED_LOCK(form, can_try, can_time)
#define NAMED_RWLOCK(form, can_try, can_time)
#define DELEGATION(name)
#include "each_lock.h"
#undef LOCK
#undef RWLOCK
#undef NAMED_LOCK
#undef NAMED_RWLOCK

/* The table. */
#define LOCK(name, can_try, can_time)                                                              \
    {TYPE_ENTRIES(name), COMMON_ENTRIES(name), .lock = name##_lock,                                \
     ONLY_##can_try(.trylock = name##_trylock,) ONLY_##can_time(.timedlock = name##_timedlock,)},
#define RWLOCK(name, can_try, can_time)                                                            \
    {TYPE_ENTRIES(name), COMMON_ENTRIES(name), .lock = name##_wrlock, .rdlock = name##_rdlock,     \
     ONLY_##can_try(.trylock = name##_trywrlock, .tryrdlock = name##_tryrdlock,)                   \
     ONLY_##can_time(.timedlock = name##_timedwrlock, .timedrdlock = name##_timedrdlock,)},
#define NAMED_LOCK(form, can_try, can_time)                                                        \
    {.name = form, .size = sizeof(syncline_lock_t), .alignment = alignof(syncline_lock_t),         \
     .init = lock_init, .lock = lock_lock, .trylock = can_try ? lock_trylock : NULL,               \
     .timedlock = can_time ? lock_timedlock : NULL, COMMON_ENTRIES(lock)},
#define NAMED_RWLOCK(form, can_try, can_time)                                                      \
    {.name = form, .size = sizeof(syncline_rwlock_t), .alignment = alignof(syncline_rwlock_t),     \
     .init = rwlock_init, .lock = rwlock_wrlock, .trylock = can_try ? rwlock_trywrlock : NULL,     \
     .timedlock = can_time ? rwlock_timedwrlock : NULL, .rdlock = rwlock_rdlock,                   \
     .tryrdlock = can_try ? rwlock_tryrdlock : NULL,                                               \
     .timedrdlock = can_time ? rwlock_timedrdlock : NULL, COMMON_ENTRIES(rwlock)},
static const struct kind kinds[] = {
#include "each_lock.h"
};

#define KINDS (sizeof kinds / sizeof kinds[0])

/* The lock that is under test, for messages. */
static const struct kind *now;

#define EXPECT(expected, call)                                                                     \
    do {                                                                                           \
        int outcome_ = (call);                                                                     \
        if (outcome_ != (expected)) {                                                              \
            fprintf(stderr, "%s:%d: %s: %s is %d (%s), not %s\n", __FILE__, __LINE__,              \
                    now ? now->name : "", #call, outcome_, strerror(outcome_), #expected);         \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* A fresh lock on the heap. */
static inline void *fresh(const struct kind *kind) {
    void *lock = aligned_alloc(kind->alignment, (kind->size + kind->alignment - 1) /
                                                    kind->alignment * kind->alignment);
    memset(lock, 0, kind->size);
    if (kind->init) EXPECT(0, kind->init(lock, kind->name));
    return lock;
}

static inline void discard(const struct kind *kind, void *lock) {
    EXPECT(0, kind->destroy(lock));
    free(lock);
}

#endif
