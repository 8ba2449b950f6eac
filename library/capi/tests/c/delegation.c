/* Threads delegate sections that count with a plain counter; each mistake has its error number. */

#include <errno.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syncline.h>

enum { THREADS = 4, ROUNDS = 5000, BATCH = 10 };

struct kind {
    const char *name;
    size_t size, alignment;
    int (*run)(void *, syncline_section_t, void *);
    int (*delegate)(void *, syncline_section_t, void *, syncline_pending_t *);
    int (*destroy)(void *);
};

#define LOCK(name, can_try, can_time)
#define RWLOCK(name, can_try, can_time)
#define NAMED_LOCK(name, can_try, can_time)
#define NAMED_RWLOCK(name, can_try, can_time)
#define DELEGATION(name)                                                                           \
    static int name##_run(void *lock, syncline_section_t section, void *argument) {                \
        return syncline_##name##_run(lock, section, argument);                                     \
    }                                                                                              \
    static int name##_delegate(void *lock, syncline_section_t section, void *argument,             \
                               syncline_pending_t *pending) {                                      \
        return syncline_##name##_delegate(lock, section, argument, pending);                       \
    }                                                                                              \
    static int name##_destroy(void *lock) { return syncline_##name##_destroy(lock); }
#include "each_lock.h"
#undef DELEGATION
#define DELEGATION(name_)                                                                          \
    {.name = #name_, .size = sizeof(syncline_##name_##_t),                                         \
     .alignment = alignof(syncline_##name_##_t), .run = name_##_run,                               \
     .delegate = name_##_delegate, .destroy = name_##_destroy},
static const struct kind kinds[] = {
#include "each_lock.h"
};

static const struct kind *now;
static void *lock;
static long count;

#define EXPECT(expected, call)                                                                     \
    do {                                                                                           \
        long outcome_ = (call);                                                                    \
        if (outcome_ != (expected)) {                                                              \
            fprintf(stderr, "%s:%d: %s: %s is %ld, not %s\n", __FILE__, __LINE__,                  \
                    now ? now->name : "", #call, outcome_, #expected);                             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void add(void *amount) { count += *(const long *)amount; }

static void *hand_in(void *unused) {
    static const long one = 1;
    for (int i = 0; i < ROUNDS; i += BATCH) {
        syncline_pending_t pending[BATCH];
        for (int j = 0; j < BATCH; j++) {
            switch (j % 3) {
            case 0: EXPECT(0, now->delegate(lock, add, (void *)&one, &pending[j])); break;
            case 1: EXPECT(0, now->delegate(lock, add, (void *)&one, NULL)); break;
            default: EXPECT(0, now->run(lock, add, (void *)&one));
            }
        }
        for (int j = 0; j < BATCH; j += 3) EXPECT(0, syncline_pending_wait(&pending[j]));
    }
    return unused;
}

/* Called within a section. */
static void misuse(void *pending) {
    syncline_pending_t mine;
    EXPECT(EDEADLK, now->run(lock, add, NULL));
    EXPECT(EDEADLK, now->delegate(lock, add, NULL, &mine));
    EXPECT(EDEADLK, syncline_pending_wait(pending));
    EXPECT(EBUSY, now->destroy(lock));
    count = -1;
}

static void test_misuse(void) {
    long one = 1;
    syncline_pending_t pending, copy;
    memset(&pending, 0xab, sizeof pending);
    EXPECT(EINVAL, syncline_pending_wait(&pending));
    EXPECT(EINVAL, syncline_pending_wait(NULL));
    EXPECT(EINVAL, now->run(NULL, add, &one));
    EXPECT(EINVAL, now->run(lock, NULL, &one));
    EXPECT(EINVAL, now->delegate((char *)lock + 1, add, &one, &pending));
    EXPECT(EINVAL, now->destroy(NULL));

    EXPECT(0, now->delegate(lock, add, &one, &pending));
    memcpy(&copy, &pending, sizeof copy);
    EXPECT(EINVAL, syncline_pending_wait(&copy));
    EXPECT(0, now->run(lock, misuse, &pending));
    EXPECT(-1, count);
    EXPECT(0, syncline_pending_wait(&pending));
    EXPECT(EINVAL, syncline_pending_wait(&pending));
}

int main(void) {
    for (now = kinds; now < kinds + sizeof kinds / sizeof *kinds; now++) {
        lock = aligned_alloc(now->alignment, now->size);
        memset(lock, 0, now->size);
        count = 0;
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++)
            EXPECT(0, pthread_create(&threads[i], NULL, hand_in, NULL));
        for (int i = 0; i < THREADS; i++) EXPECT(0, pthread_join(threads[i], NULL));
        EXPECT((long)THREADS * ROUNDS, count);
        test_misuse();
        EXPECT(0, now->destroy(lock));
        free(lock);
    }
}
