// Objects of each kind, which are made and acquired at several call sites. For each object, the
// program reads and prints the number that says which lock of the policy the object has. Locks are
// numbered in the order in which the policy uses them; 31 stands for the C library's own lock, and
// 0 for none yet.
#include "truth.h"
#include <stdlib.h>

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t row[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                 PTHREAD_MUTEX_INITIALIZER};
static pthread_rwlock_t shelf = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;

static int mutex_number(const pthread_mutex_t *m) { return *(const unsigned short *)((const char *)m + 22); }
static int rwlock_number(const pthread_rwlock_t *l) { return *(const unsigned short *)((const char *)l + 40); }
static int spin_number(pthread_spinlock_t s) { return s >= 1 << 30 ? (s >> 25) & 31 : 31; }

__attribute__((noinline)) static void push(pthread_mutex_t *m) {
    REQUIRE(pthread_mutex_lock(m) == 0);
    REQUIRE(pthread_mutex_unlock(m) == 0);
}

// An inlined function: the call site also belongs to the function into which it is inlined.
static inline __attribute__((always_inline)) void take(pthread_mutex_t *m) {
    REQUIRE(pthread_mutex_lock(m) == 0); // TAKE
    REQUIRE(pthread_mutex_unlock(m) == 0);
}

__attribute__((noinline)) static pthread_mutex_t *make(void) {
    pthread_mutex_t *m = malloc(sizeof *m);
    REQUIRE(pthread_mutex_init(m, NULL) == 0);
    return m;
}

// A wrapper that has the name of one of GLib's wrappers, so the call site is that of its caller.
__attribute__((noinline)) void g_mutex_lock(pthread_mutex_t *m) {
    REQUIRE(pthread_mutex_lock(m) == 0);
    __asm__ volatile("");
}

__attribute__((noinline)) static void wrapped(pthread_mutex_t *m) {
    g_mutex_lock(m);
    REQUIRE(pthread_mutex_unlock(m) == 0);
}

__attribute__((noinline)) static void *wait_for_it(pthread_mutex_t *m) {
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    REQUIRE(pthread_mutex_lock(m) == 0);
    REQUIRE(pthread_cond_timedwait(&cond, m, &now) == ETIMEDOUT);
    REQUIRE(pthread_mutex_unlock(m) == 0);
    return NULL;
}

int main(void) {
    pthread_mutex_t local = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_t *heap = make(), *taken = calloc(1, sizeof *taken);
    pthread_mutex_t *inner = calloc(1, sizeof *inner), *waited = calloc(1, sizeof *waited);
    REQUIRE(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE) == 0);
    say("made: heap %d spin %d", mutex_number(heap), spin_number(spin));
    push(&table);
    push(&row[0]);
    push(&row[2]);
    push(&local);
    push(heap);
    take(taken);
    wrapped(inner);
    wait_for_it(waited);
    REQUIRE(pthread_rwlock_rdlock(&shelf) == 0 && pthread_rwlock_unlock(&shelf) == 0);
    REQUIRE(pthread_rwlock_wrlock(&shelf) == 0 && pthread_rwlock_unlock(&shelf) == 0);
    REQUIRE(pthread_spin_lock(&spin) == 0 && pthread_spin_trylock(&spin) == EBUSY);
    REQUIRE(pthread_spin_unlock(&spin) == 0);
    say("table %d", mutex_number(&table));
    say("row %d %d %d", mutex_number(&row[0]), mutex_number(&row[1]), mutex_number(&row[2]));
    say("local %d", mutex_number(&local));
    say("heap %d", mutex_number(heap));
    say("taken %d", mutex_number(taken));
    say("inner %d", mutex_number(inner));
    say("waited %d", mutex_number(waited));
    say("shelf %d", rwlock_number(&shelf));
    say("spin %d", spin_number(spin));
    REQUIRE(pthread_mutex_destroy(heap) == 0);
    // Memory that is used again, with nothing left of the earlier object.
    memset(heap, 0, sizeof *heap);
    wait_for_it(heap);
    say("again %d", mutex_number(heap));
    REQUIRE(pthread_spin_destroy(&spin) == 0);
    return 0;
}
