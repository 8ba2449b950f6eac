// Locks that handlers of pthread_atfork hold during each fork. The constructor of this library runs
// before the constructors of preloaded libraries, so its handlers are registered first.
#include "replaced_fork.h"

pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
pthread_rwlock_t shelf = PTHREAD_RWLOCK_INITIALIZER;
pthread_spinlock_t pin;

static void lock_all(void) {
    REQUIRE(pthread_mutex_lock(&plain) == 0);
    REQUIRE(pthread_mutex_lock(&recursive) == 0);
    REQUIRE(pthread_mutex_lock(&recursive) == 0);
    REQUIRE(pthread_rwlock_wrlock(&shelf) == 0);
    REQUIRE(pthread_spin_lock(&pin) == 0);
    // This is long enough for the other threads to enter the queues.
    sleep_ms(2);
}

static void unlock_all(void) {
    REQUIRE(pthread_spin_unlock(&pin) == 0);
    REQUIRE(pthread_rwlock_unlock(&shelf) == 0);
    REQUIRE(pthread_mutex_unlock(&recursive) == 0);
    REQUIRE(pthread_mutex_unlock(&recursive) == 0);
    REQUIRE(pthread_mutex_unlock(&plain) == 0);
}

__attribute__((constructor)) static void start(void) {
    REQUIRE(pthread_atfork(lock_all, unlock_all, unlock_all) == 0);
    REQUIRE(pthread_spin_init(&pin, PTHREAD_PROCESS_PRIVATE) == 0);
}
