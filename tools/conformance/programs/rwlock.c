// Reader-writer locks. It makes every call, prints the return codes and the bytes of the objects,
// and has several threads with exact counts.
#include "truth.h"

enum { THREADS = 4, ROUNDS = 20000 };

static const int masked[] = {-1};

static void did(const char *what, pthread_rwlock_t *l, int result) {
    char label[64];
    sprintf(label, "  %s %s", what, error_name(result));
    say_bytes(label, l, sizeof *l, masked);
}

static void *refused(void *argument) {
    pthread_rwlock_t *l = argument;
    struct timespec soon = after(CLOCK_REALTIME, 2), soon_too = after(CLOCK_MONOTONIC, 2);
    say("  tryrd %s", error_name(pthread_rwlock_tryrdlock(l)));
    say("  trywr %s", error_name(pthread_rwlock_trywrlock(l)));
    say("  timedrd %s", error_name(pthread_rwlock_timedrdlock(l, &soon)));
    say("  timedwr %s", error_name(pthread_rwlock_timedwrlock(l, &soon)));
    say("  clockrd %s", error_name(pthread_rwlock_clockrdlock(l, CLOCK_MONOTONIC, &soon_too)));
    say("  clockwr %s", error_name(pthread_rwlock_clockwrlock(l, CLOCK_MONOTONIC, &soon_too)));
    return NULL;
}

static void one_thread(pthread_rwlock_t *l, int dynamic) {
    struct timespec later = after(CLOCK_REALTIME, 100000), bad = {0, 1000000000};
    struct timespec later_too = after(CLOCK_MONOTONIC, 100000);
    did("rd", l, pthread_rwlock_rdlock(l));
    did("rd", l, pthread_rwlock_rdlock(l));
    did("tryrd", l, pthread_rwlock_tryrdlock(l));
    did("trywr", l, pthread_rwlock_trywrlock(l));
    for (int i = 0; i < 3; i++)
        did("unlock", l, pthread_rwlock_unlock(l));
    did("timedrd", l, pthread_rwlock_timedrdlock(l, &later));
    did("unlock", l, pthread_rwlock_unlock(l));
    did("timedrd bad", l, pthread_rwlock_timedrdlock(l, &bad));
    did("timedwr bad", l, pthread_rwlock_timedwrlock(l, &bad));
    did("clockrd", l, pthread_rwlock_clockrdlock(l, CLOCK_MONOTONIC, &later_too));
    did("unlock", l, pthread_rwlock_unlock(l));
    did("timedwr", l, pthread_rwlock_timedwrlock(l, &later));
    did("unlock", l, pthread_rwlock_unlock(l));
    did("clockwr", l, pthread_rwlock_clockwrlock(l, CLOCK_MONOTONIC, &later_too));
    did("unlock", l, pthread_rwlock_unlock(l));
    did("trywr", l, pthread_rwlock_trywrlock(l));
    did("tryrd", l, pthread_rwlock_tryrdlock(l));
    did("unlock", l, pthread_rwlock_unlock(l));
    did("wr", l, pthread_rwlock_wrlock(l));
    did("wr again", l, pthread_rwlock_wrlock(l));
    did("rd again", l, pthread_rwlock_rdlock(l));
    pthread_t thread;
    pthread_create(&thread, NULL, refused, l);
    pthread_join(thread, NULL);
    did("unlock", l, pthread_rwlock_unlock(l));
    did("destroy", l, pthread_rwlock_destroy(l));
    if (dynamic)
        expect("RwlockInit", l, 1);
    expect("RwlockRead", l, 2);
    expect("RwlockTryRead", l, 1);
    expect("RwlockTryRead.refused", l, 2);
    expect("RwlockTryWrite", l, 1);
    expect("RwlockTryWrite.refused", l, 2);
    expect("RwlockTimedRead", l, 2);
    expect("RwlockTimedRead.timeouts", l, 2);
    expect("RwlockTimedWrite", l, 2);
    expect("RwlockTimedWrite.timeouts", l, 2);
    expect("RwlockWrite", l, 1);
}

static void each_kind(void) {
    static pthread_rwlock_t locks[3][2];
    static pthread_rwlock_t constant = PTHREAD_RWLOCK_INITIALIZER;
    for (int i = 0; i < 6; i++) {
        pthread_rwlockattr_t attributes;
        pthread_rwlockattr_init(&attributes);
        REQUIRE(pthread_rwlockattr_setkind_np(&attributes, i / 2) == 0);
        REQUIRE(pthread_rwlockattr_setpshared(&attributes, i % 2) == 0);
        say("kind %d shared %d", i / 2, i % 2);
        pthread_rwlock_t *l = &locks[i / 2][i % 2];
        did("init", l, pthread_rwlock_init(l, &attributes));
        one_thread(l, 1);
    }
    say("static");
    one_thread(&constant, 0);
}

static pthread_rwlock_t busy = PTHREAD_RWLOCK_INITIALIZER;
static unsigned long written, also_written;

static void *work(void *argument) {
    unsigned long reads = 0, writes = 0, tries = 0, refusals = 0;
    for (int round = 0; round < ROUNDS; round++) {
        if (round % 16 == 0) {
            REQUIRE(pthread_rwlock_wrlock(&busy) == 0);
            writes++, written++, also_written++;
        } else if (round % 16 == 1) {
            if (pthread_rwlock_trywrlock(&busy)) {
                refusals++;
                continue;
            }
            tries++, written++, also_written++;
        } else {
            REQUIRE(pthread_rwlock_rdlock(&busy) == 0);
            reads++;
            REQUIRE(written == also_written);
        }
        REQUIRE(pthread_rwlock_unlock(&busy) == 0);
    }
    int me = thread_number();
    expect_of(me, "RwlockRead", &busy, reads);
    expect_of(me, "RwlockWrite", &busy, writes);
    expect_of(me, "RwlockTryWrite", &busy, tries);
    expect_of(me, "RwlockTryWrite.refused", &busy, refusals);
    return argument;
}

int main(void) {
    each_kind();
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    say("excluded");
    return 0;
}
