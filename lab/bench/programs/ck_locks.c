// The locks of Concurrency Kit (ck), in the same loops that `src/locks/arena.rs` has for all other
// locks.
//
// ck is a library of headers, so its locks inline into these loops, as the locks of Rust libraries
// inline into theirs. For each lock, this file has a type, a thread's node, and the functions that
// use them; LOOPS makes the rest.

#include <ck_cohort.h>
#include <ck_pflock.h>
#include <ck_rwlock.h>
#include <ck_spinlock.h>
#include <ck_tflock.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE 128

// The layout of `Work` in src/locks/work.rs.
struct work {
    const volatile bool *stop;
    uint32_t mask, writes, section, outside;
    uint32_t sample_every, until_sample;
    uint64_t random;
    uint64_t done, written;
    void (*busy)(uint32_t loops);
    uint64_t (*now)(void);
    void (*record)(struct work *, uint64_t nanoseconds);
};

// The layout of `Peer` in src/locks/ck.rs.
struct peer {
    const char *name, *kind;
    size_t lock_bytes, node_bytes, cell_bytes;
    bool fifo, shared;
    void (*init)(void *cells, size_t count);
    void (*pairs)(void *cells, uint64_t count);
    void (*read_pairs)(void *cells, uint64_t count);
    void (*work)(void *cells, struct work *);
    uint64_t (*counted)(const void *cells, size_t count);
};

static inline uint64_t next_random(struct work *w) {
    uint64_t x = w->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return w->random = x;
}

static inline bool is_sampled(struct work *w) {
    if (--w->until_sample != 0) return false;
    w->until_sample = w->sample_every;
    return true;
}

static void *line_of_zeros(void) {
    void *line = aligned_alloc(LINE, LINE);
    if (line == NULL) abort();
    return memset(line, 0, LINE);
}

#define LOOPS(N, SHARED)                                                                           \
    struct N##_cell {                                                                              \
        struct N lock;                                                                             \
        uint64_t count;                                                                            \
    } __attribute__((aligned(LINE)));                                                              \
    static void N##_init_all(void *cells, size_t count) {                                          \
        for (size_t i = 0; i < count; i++) N##_init(&((struct N##_cell *)cells)[i].lock);          \
    }                                                                                              \
    static void N##_pairs(void *cells, uint64_t count) {                                           \
        struct N *lock = &((struct N##_cell *)cells)->lock;                                        \
        struct N##_thread thread = N##_enter();                                                    \
        for (uint64_t i = 0; i < count; i++) {                                                     \
            N##_acquire(lock, &thread);                                                            \
            __asm__ volatile("" ::: "memory");                                                     \
            N##_release(lock, &thread);                                                            \
        }                                                                                          \
        N##_leave(&thread);                                                                        \
    }                                                                                              \
    static void N##_read_pairs(void *cells, uint64_t count) {                                      \
        struct N *lock = &((struct N##_cell *)cells)->lock;                                        \
        struct N##_thread thread = N##_enter();                                                    \
        for (uint64_t i = 0; i < count; i++) {                                                     \
            N##_acquire_shared(lock, &thread);                                                     \
            __asm__ volatile("" ::: "memory");                                                     \
            N##_release_shared(lock, &thread);                                                     \
        }                                                                                          \
        N##_leave(&thread);                                                                        \
    }                                                                                              \
    static void N##_work(void *cells, struct work *w) {                                            \
        struct N##_thread thread = N##_enter();                                                    \
        for (bool stopped = false; !stopped;) {                                                    \
            uint64_t random = next_random(w), start = 0, end = 0;                                  \
            struct N##_cell *cell = &((struct N##_cell *)cells)[(uint32_t)random & w->mask];       \
            bool writes = !SHARED || (random >> 40 & 1023) < w->writes;                            \
            bool sampled = is_sampled(w);                                                          \
            if (sampled) start = w->now();                                                         \
            if (writes) {                                                                          \
                N##_acquire(&cell->lock, &thread);                                                 \
                if (sampled) end = w->now();                                                       \
                stopped = *w->stop;                                                                \
                if (!stopped) {                                                                    \
                    (*(volatile uint64_t *)&cell->count)++;                                        \
                    if (w->section) w->busy(w->section);                                           \
                }                                                                                  \
                N##_release(&cell->lock, &thread);                                                 \
            } else {                                                                               \
                N##_acquire_shared(&cell->lock, &thread);                                          \
                if (sampled) end = w->now();                                                       \
                stopped = *w->stop;                                                                \
                if (!stopped) {                                                                    \
                    (void)*(volatile uint64_t *)&cell->count;                                      \
                    if (w->section) w->busy(w->section);                                           \
                }                                                                                  \
                N##_release_shared(&cell->lock, &thread);                                          \
            }                                                                                      \
            if (stopped) break;                                                                    \
            w->done++;                                                                             \
            w->written += writes;                                                                  \
            if (sampled) w->record(w, end - start);                                                \
            if (w->outside) w->busy((uint32_t)((random >> 32) * (2 * (uint64_t)w->outside) >> 32));\
        }                                                                                          \
        N##_leave(&thread);                                                                        \
    }                                                                                              \
    static uint64_t N##_counted(const void *cells, size_t count) {                                 \
        uint64_t sum = 0;                                                                          \
        for (size_t i = 0; i < count; i++) sum += ((const struct N##_cell *)cells)[i].count;       \
        return sum;                                                                                \
    }

// A lock without a shared mode: readers acquire it as writers do.
#define EXCLUSIVE(N)                                                                               \
    static inline void N##_acquire_shared(struct N *lock, struct N##_thread *thread) {             \
        N##_acquire(lock, thread);                                                                 \
    }                                                                                              \
    static inline void N##_release_shared(struct N *lock, struct N##_thread *thread) {             \
        N##_release(lock, thread);                                                                 \
    }                                                                                              \
    LOOPS(N, false)

// A lock for which threads need no node.
#define NO_THREAD(N)                                                                               \
    struct N##_thread {};                                                                          \
    static inline struct N##_thread N##_enter(void) { return (struct N##_thread){}; }              \
    static inline void N##_leave(struct N##_thread *thread) { (void)thread; }

// One of ck's locks that takes one or two words.
#define WORD(N)                                                                                    \
    struct N {                                                                                     \
        struct ck_spinlock_##N own;                                                                \
    };                                                                                             \
    NO_THREAD(N)                                                                                   \
    static void N##_init(struct N *lock) { ck_spinlock_##N##_init(&lock->own); }                   \
    static inline void N##_acquire(struct N *lock, struct N##_thread *thread) {                    \
        (void)thread;                                                                              \
        ck_spinlock_##N##_lock(&lock->own);                                                        \
    }                                                                                              \
    static inline void N##_release(struct N *lock, struct N##_thread *thread) {                    \
        (void)thread;                                                                              \
        ck_spinlock_##N##_unlock(&lock->own);                                                      \
    }                                                                                              \
    EXCLUSIVE(N)

WORD(cas)
WORD(fas)
WORD(dec)
WORD(ticket)

// Anderson's array, with as many slots as the benchmarks have threads: at most 32 for each processor.

static unsigned slots_needed(void) { return 32 * (unsigned)sysconf(_SC_NPROCESSORS_ONLN); }

struct anderson {
    ck_spinlock_anderson_t own;
};
struct anderson_thread {
    ck_spinlock_anderson_thread_t *slot;
};
static inline struct anderson_thread anderson_enter(void) { return (struct anderson_thread){NULL}; }
static inline void anderson_leave(struct anderson_thread *thread) { (void)thread; }
static void anderson_init(struct anderson *lock) {
    unsigned number = slots_needed();
    ck_spinlock_anderson_thread_t *slots = aligned_alloc(LINE, number * sizeof *slots);
    if (slots == NULL) abort();
    ck_spinlock_anderson_init(&lock->own, slots, number);
}
static inline void anderson_acquire(struct anderson *lock, struct anderson_thread *thread) {
    ck_spinlock_anderson_lock(&lock->own, &thread->slot);
}
static inline void anderson_release(struct anderson *lock, struct anderson_thread *thread) {
    ck_spinlock_anderson_unlock(&lock->own, thread->slot);
}
EXCLUSIVE(anderson)

// MCS, whose node is on the stack.

struct mcs {
    ck_spinlock_mcs_t *tail;
};
struct mcs_thread {
    ck_spinlock_mcs_context_t node __attribute__((aligned(LINE)));
};
static inline struct mcs_thread mcs_enter(void) { return (struct mcs_thread){}; }
static inline void mcs_leave(struct mcs_thread *thread) { (void)thread; }
static void mcs_init(struct mcs *lock) { lock->tail = NULL; }
static inline void mcs_acquire(struct mcs *lock, struct mcs_thread *thread) {
    ck_spinlock_mcs_lock((void *)&lock->tail, (void *)&thread->node);
}
static inline void mcs_release(struct mcs *lock, struct mcs_thread *thread) {
    ck_spinlock_mcs_unlock((void *)&lock->tail, (void *)&thread->node);
}
EXCLUSIVE(mcs)

// CLH: a thread leaves its node to its successor and continues with its predecessor's node. Which
// thread has which node at the end is unknown, so nodes are never freed.

struct clh {
    ck_spinlock_clh_t *tail;
};
struct clh_thread {
    ck_spinlock_clh_t *node;
};
static inline struct clh_thread clh_enter(void) { return (struct clh_thread){line_of_zeros()}; }
static inline void clh_leave(struct clh_thread *thread) { (void)thread; }
static void clh_init(struct clh *lock) { ck_spinlock_clh_init(&lock->tail, line_of_zeros()); }
static inline void clh_acquire(struct clh *lock, struct clh_thread *thread) {
    ck_spinlock_clh_lock(&lock->tail, thread->node);
}
static inline void clh_release(struct clh *lock, struct clh_thread *thread) {
    (void)lock;
    ck_spinlock_clh_unlock(&thread->node);
}
EXCLUSIVE(clh)

// A cohort of two ticket locks (hierarchical), with all threads in one group.

static inline void ticket_in(void *lock, void *thread) {
    (void)thread;
    ck_spinlock_ticket_lock(lock);
}
static inline void ticket_out(void *lock, void *thread) {
    (void)thread;
    ck_spinlock_ticket_unlock(lock);
}
static inline bool ticket_held(void *lock, void *thread) {
    (void)thread;
    return ck_spinlock_ticket_locked(lock);
}
CK_COHORT_PROTOTYPE(tickets, ticket_in, ticket_out, ticket_held, ticket_in, ticket_out, ticket_held)

struct cohort {
    CK_COHORT_INSTANCE(tickets) own;
    ck_spinlock_ticket_t global __attribute__((aligned(64))), local __attribute__((aligned(64)));
};
NO_THREAD(cohort)
static void cohort_init(struct cohort *lock) {
    ck_spinlock_ticket_init(&lock->global);
    ck_spinlock_ticket_init(&lock->local);
    CK_COHORT_INIT(tickets, &lock->own, &lock->global, &lock->local,
                   CK_COHORT_DEFAULT_LOCAL_PASS_LIMIT);
}
static inline void cohort_acquire(struct cohort *lock, struct cohort_thread *thread) {
    (void)thread;
    CK_COHORT_LOCK(tickets, &lock->own, NULL, NULL);
}
static inline void cohort_release(struct cohort *lock, struct cohort_thread *thread) {
    (void)thread;
    CK_COHORT_UNLOCK(tickets, &lock->own, NULL, NULL);
}
EXCLUSIVE(cohort)

// Hierarchical CLH, all threads in one group.

struct hclh {
    ck_spinlock_hclh_t *global;
    ck_spinlock_hclh_t *local __attribute__((aligned(64)));
};
struct hclh_thread {
    ck_spinlock_hclh_t *node;
};
static inline struct hclh_thread hclh_enter(void) { return (struct hclh_thread){line_of_zeros()}; }
static inline void hclh_leave(struct hclh_thread *thread) { (void)thread; }
static void hclh_init(struct hclh *lock) {
    ck_spinlock_hclh_init(&lock->global, line_of_zeros(), -1);
    ck_spinlock_hclh_init(&lock->local, line_of_zeros(), 1);
}
static inline void hclh_acquire(struct hclh *lock, struct hclh_thread *thread) {
    ck_spinlock_hclh_lock(&lock->global, &lock->local, thread->node);
}
static inline void hclh_release(struct hclh *lock, struct hclh_thread *thread) {
    (void)lock;
    ck_spinlock_hclh_unlock(&thread->node);
}
EXCLUSIVE(hclh)

// Reader-writer locks.

#define SHARED_LOCK(N, OWN, INIT, LOCK, UNLOCK, READ, UNREAD)                                      \
    struct N {                                                                                     \
        OWN own;                                                                                   \
    };                                                                                             \
    NO_THREAD(N)                                                                                   \
    static void N##_init(struct N *lock) { INIT(&lock->own); }                                     \
    static inline void N##_acquire(struct N *lock, struct N##_thread *thread) {                    \
        (void)thread;                                                                              \
        LOCK(&lock->own);                                                                          \
    }                                                                                              \
    static inline void N##_release(struct N *lock, struct N##_thread *thread) {                    \
        (void)thread;                                                                              \
        UNLOCK(&lock->own);                                                                        \
    }                                                                                              \
    static inline void N##_acquire_shared(struct N *lock, struct N##_thread *thread) {             \
        (void)thread;                                                                              \
        READ(&lock->own);                                                                          \
    }                                                                                              \
    static inline void N##_release_shared(struct N *lock, struct N##_thread *thread) {             \
        (void)thread;                                                                              \
        UNREAD(&lock->own);                                                                        \
    }                                                                                              \
    LOOPS(N, true)

SHARED_LOCK(rwlock, ck_rwlock_t, ck_rwlock_init, ck_rwlock_write_lock, ck_rwlock_write_unlock,
            ck_rwlock_read_lock, ck_rwlock_read_unlock)
SHARED_LOCK(pflock, ck_pflock_t, ck_pflock_init, ck_pflock_write_lock, ck_pflock_write_unlock,
            ck_pflock_read_lock, ck_pflock_read_unlock)
SHARED_LOCK(tflock, ck_tflock_ticket_t, ck_tflock_ticket_init, ck_tflock_ticket_write_lock,
            ck_tflock_ticket_write_unlock, ck_tflock_ticket_read_lock, ck_tflock_ticket_read_unlock)

#define PEER(N, KIND, NODE_BYTES, FIFO, SHARED)                                                    \
    {                                                                                              \
        "ck " #N, KIND, sizeof(struct N), NODE_BYTES, sizeof(struct N##_cell), FIFO, SHARED,       \
            N##_init_all, N##_pairs, N##_read_pairs, N##_work, N##_counted                         \
    }

const struct peer peers[] = {
    PEER(cas, "spin", 0, false, false),
    PEER(fas, "spin", 0, false, false),
    PEER(dec, "spin", 0, false, false),
    PEER(ticket, "ticket", 0, true, false),
    PEER(anderson, "array", 0, true, false),
    PEER(mcs, "mcs", sizeof(ck_spinlock_mcs_context_t), true, false),
    PEER(clh, "clh", sizeof(ck_spinlock_clh_t), true, false),
    PEER(cohort, "cohort", 0, true, false),
    PEER(hclh, "hclh", sizeof(ck_spinlock_hclh_t), true, false),
    PEER(rwlock, "shared, spinning", 0, false, true),
    PEER(pflock, "shared, in turns", 0, true, true),
    PEER(tflock, "shared, in turns", 0, true, true),
    {0},
};
