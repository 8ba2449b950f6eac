// Forks CHILDREN children, one after another, and takes no lock itself: idle_parent CHILDREN.
#include "truth.h"
#include <sys/wait.h>

static pthread_mutex_t of_child = PTHREAD_MUTEX_INITIALIZER;

int main(int count, char **arguments) {
    REQUIRE(count == 2);
    for (int i = 1; i <= atoi(arguments[1]); i++) {
        pid_t pid = fork();
        REQUIRE(pid >= 0);
        if (pid == 0) {
            for (int j = 0; j < i; j++) {
                pthread_mutex_lock(&of_child);
                pthread_mutex_unlock(&of_child);
            }
            expect("MutexLock", &of_child, i);
            _exit(0);
        }
        REQUIRE(waitpid(pid, NULL, 0) == pid);
    }
    return 0;
}
