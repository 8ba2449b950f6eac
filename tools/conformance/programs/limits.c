// Continues to work under tight resource limits. It sets a limit itself (limits WHAT), or the
// limits were set before it started (`limits work`).
#include "truth.h"
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { ROUNDS = 2000, LOCKS = 2000 };

static pthread_mutex_t locks[LOCKS];

static void *work(void *argument) {
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&locks[i % LOCKS]);
        pthread_mutex_unlock(&locks[i % LOCKS]);
    }
    return argument;
}

static void in_thread(void) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    REQUIRE(pthread_create(&thread, &attributes, work, NULL) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
}

static void limit(int resource, rlim_t value) {
    struct rlimit both = {value, value};
    REQUIRE(setrlimit(resource, &both) == 0);
}

static rlim_t address_space(void) {
    long pages;
    FILE *file = fopen("/proc/self/statm", "r");
    REQUIRE(file && fscanf(file, "%ld", &pages) == 1);
    fclose(file);
    return (rlim_t)pages * 4096;
}

int main(int count, char **arguments) {
    REQUIRE(count == 2);
    const char *what = arguments[1];
    int pid;
    if (strcmp(what, "memory") == 0) {
        limit(RLIMIT_AS, address_space() + (1 << 20));
    } else if (strcmp(what, "file-size") == 0) {
        limit(RLIMIT_FSIZE, 4096);
    } else if (strcmp(what, "files") == 0) {
        while (open("/dev/null", O_RDONLY) >= 0)
            continue;
        REQUIRE(errno == EMFILE);
    }
    in_thread();
    work(NULL);
    pid = fork();
    if (pid == 0) {
        in_thread();
        _exit(8);
    }
    int status;
    REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
    say("child: %#x", status);
    say("@done %d", 2 * ROUNDS);
    return 0;
}
