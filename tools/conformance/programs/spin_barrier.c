// Spinlocks and barriers: return codes, the bytes of the objects, exact counts, and one serial
// thread in each round of a barrier.
#include "truth.h"

enum { THREADS = 4, ROUNDS = 500, SPINS = 5000 };

static const int masked[] = {-1};
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static unsigned long serial, protected_count;

static void *work(void *argument) {
    unsigned long tries = 0, refusals = 0;
    for (int i = 0; i < ROUNDS; i++) {
        int result = pthread_barrier_wait(&barrier);
        REQUIRE(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
        if (result)
            __atomic_fetch_add(&serial, 1, __ATOMIC_RELAXED);
    }
    for (int i = 0; i < SPINS; i++) {
        REQUIRE(pthread_spin_lock(&spin) == 0);
        protected_count++;
        REQUIRE(pthread_spin_unlock(&spin) == 0);
        int error = pthread_spin_trylock(&spin);
        REQUIRE(error == 0 || error == EBUSY);
        if (error) {
            refusals++;
        } else {
            tries++;
            pthread_spin_unlock(&spin);
        }
    }
    int me = thread_number();
    expect_of(me, "BarrierWait", &barrier, ROUNDS);
    expect_of(me, "SpinLock", &spin, SPINS);
    expect_of(me, "SpinTrylock", &spin, tries);
    expect_of(me, "SpinTrylock.refused", &spin, refusals);
    return argument;
}

static void one_thread(void) {
    static pthread_spinlock_t s;
    static pthread_barrier_t b;
    say("init %s", error_name(pthread_spin_init(&s, PTHREAD_PROCESS_PRIVATE)));
    say("lock %s", error_name(pthread_spin_lock(&s)));
    say_bytes("held", &s, sizeof s, masked);
    say("try %s", error_name(pthread_spin_trylock(&s)));
    say("unlock %s", error_name(pthread_spin_unlock(&s)));
    say("try %s", error_name(pthread_spin_trylock(&s)));
    say_bytes("held", &s, sizeof s, masked);
    say("unlock %s", error_name(pthread_spin_unlock(&s)));
    say("destroy %s", error_name(pthread_spin_destroy(&s)));
    expect("SpinInit", &s, 1);
    expect("SpinLock", &s, 1);
    expect("SpinTrylock", &s, 1);
    expect("SpinTrylock.refused", &s, 1);
    say("init 0: %s", error_name(pthread_barrier_init(&b, NULL, 0)));
    say("init 1: %s", error_name(pthread_barrier_init(&b, NULL, 1)));
    say_bytes("barrier", &b, sizeof b, masked);
    say("wait %d", pthread_barrier_wait(&b));
    say_bytes("barrier", &b, sizeof b, masked);
    say("destroy %s", error_name(pthread_barrier_destroy(&b)));
    expect("BarrierInit", &b, 1);
    expect("BarrierWait", &b, 1);
}

int main(void) {
    one_thread();
    pthread_t threads[THREADS];
    REQUIRE(pthread_spin_init(&spin, PTHREAD_PROCESS_SHARED) == 0);
    REQUIRE(pthread_barrier_init(&barrier, NULL, THREADS) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    say("%lu serial, %lu protected", serial, protected_count);
    expect("SpinInit", &spin, 1);
    expect("BarrierInit", &barrier, 1);
    return 0;
}
