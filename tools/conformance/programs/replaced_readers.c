// One thread acquires a reader-writer lock more often as a reader than some locks can count. Each
// acquisition must be granted, or be refused as POSIX defines it, and none may be lost.
#include "truth.h"

enum { SHARES = 600000 };
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

int main(void) {
    int shares = 0, error = 0;
    while (shares < SHARES && (error = pthread_rwlock_rdlock(&lock)) == 0)
        shares++;
    REQUIRE(error == 0 || error == EAGAIN);
    say("@shares %d", shares);
    REQUIRE(pthread_rwlock_trywrlock(&lock) == EBUSY);
    for (int i = 0; i < shares; i++)
        REQUIRE(pthread_rwlock_unlock(&lock) == 0);
    REQUIRE(pthread_rwlock_trywrlock(&lock) == 0);
    REQUIRE(pthread_rwlock_unlock(&lock) == 0);
    say("done");
    return 0;
}
