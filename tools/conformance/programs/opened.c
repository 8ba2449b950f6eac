// A library that has its own locks.
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int work(void) {
    int count = 0;
    for (int n = 0; n < 1000; n++) {
        pthread_mutex_lock(&lock);
        count++;
        pthread_mutex_unlock(&lock);
    }
    return count;
}
