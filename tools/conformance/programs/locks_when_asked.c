// Acquires a mutex (l) or releases it (u), as its standard input says. It answers each byte with a
// line.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    char byte;
    while (read(0, &byte, 1) == 1) {
        printf("%d\n", byte == 'l' ? pthread_mutex_lock(&lock) : pthread_mutex_unlock(&lock));
        fflush(stdout);
    }
    return 0;
}
