// A chain of processes, in which each process forks the next one. When the standard input of the
// first process says so, each process acquires locks, and the first process prints how many
// processes did so.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int in, out, to_child = -1, from_child;

// The forked process does what this one does.
static void add_one(void) {
    int down[2], up[2];
    if (pipe(down) != 0 || pipe(up) != 0)
        _exit(1);
    if (fork() == 0) {
        in = down[0];
        out = up[1];
        to_child = -1;
        close(down[1]);
    } else {
        to_child = down[1];
        from_child = up[0];
        close(down[0]);
    }
}

int main(void) {
    char what, did;
    in = 0;
    out = -1;
    while (read(in, &what, 1) == 1) {
        did = 0;
        if (to_child >= 0) {
            if (write(to_child, &what, 1) != 1 || read(from_child, &did, 1) != 1)
                return 1;
        } else if (what == 'f') {
            add_one();
            if (to_child < 0)
                continue;
        }
        for (int n = 0; what == 'r' && n < 1000; n++) {
            pthread_mutex_lock(&lock);
            pthread_mutex_unlock(&lock);
        }
        did++;
        if (out >= 0) {
            if (write(out, &did, 1) != 1)
                return 1;
        } else {
            printf("%d\n", did);
            fflush(stdout);
        }
    }
    return 0;
}
