// Critical sections that touch other words each time, so that their trace becomes large quickly.
// The program runs until it is killed.
#include "truth.h"

enum { WORDS = 1 << 22, TOUCHED = 400 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned long words[WORDS];

int main(void) {
    unsigned long random = 1;
    alarm(60);
    for (;;) {
        pthread_mutex_lock(&mutex);
        for (int i = 0; i < TOUCHED; i++) {
            random = random * 6364136223846793005 + 1442695040888963407;
            words[random >> 42]++;
        }
        pthread_mutex_unlock(&mutex);
    }
}
