// Programs that start programs, in all ways: spawns WAY. Each way runs this program again as
// `spawns leaf N`.
#include "truth.h"
#include <spawn.h>
#include <sys/wait.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void lock_times(int count) {
    for (int i = 0; i < count; i++) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
}

static void say_status(const char *way, pid_t pid) {
    int status;
    REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
    say("%s: status %#x", way, status);
}

static char path[PATH_MAX];

// After the exec, the other threads do not exist any more, and neither do the locks that they hold.
static void *exec_from_thread(void *argument) {
    lock_times(12);
    expect("MutexLock", &lock, 12);
    execl(path, path, "leaf", "24", NULL);
    return argument;
}

int main(int count, char **arguments) {
    REQUIRE(count >= 2);
    char *self = "/proc/self/exe", command[PATH_MAX + 64];
    const char *way = arguments[1];
    ssize_t length = readlink(self, path, sizeof path - 1);
    REQUIRE(length > 0);
    path[length] = 0;
    if (strcmp(way, "leaf") == 0) {
        int times = atoi(arguments[2]);
        lock_times(times);
        expect("MutexLock", &lock, times);
        return times % 256;
    }
    if (strcmp(way, "exec") == 0) {
        lock_times(11);
        expect("MutexLock", &lock, 11);
        execl(path, path, "leaf", "22", NULL);
        return 1;
    }
    if (strcmp(way, "exec-from-thread") == 0) {
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, exec_from_thread, NULL) == 0);
        pthread_join(thread, NULL);
        return 1;
    }
    lock_times(5);
    char *words[] = {path, "leaf", "33", NULL};
    pid_t pid = vfork();
    if (pid == 0) {
        execv(path, words);
        _exit(127);
    }
    say_status("vfork", pid);
    pid = vfork();
    if (pid == 0)
        _exit(9);
    say_status("vfork and _exit", pid);
    lock_times(5);
    extern char **environ;
    REQUIRE(posix_spawn(&pid, path, NULL, NULL, words, environ) == 0);
    say_status("posix_spawn", pid);
    pid = fork();
    if (pid == 0) {
        execv(path, words);
        _exit(127);
    }
    say_status("fork", pid);
    lock_times(5);
    snprintf(command, sizeof command, "%s leaf 44; exit 7", path);
    say("system: %#x", system(command));
    snprintf(command, sizeof command, "%s leaf 55", path);
    FILE *pipe = popen(command, "r");
    char line[256];
    while (fgets(line, sizeof line, pipe))
        say("%.*s", (int)strcspn(line, "\n"), line);
    say("popen: %#x", pclose(pipe));
    pid = vfork();
    if (pid == 0) {
        execl("/does/not/exist", "none", NULL);
        _exit(126);
    }
    say_status("exec of nothing", pid);
    lock_times(5);
    expect("MutexLock", &lock, 20);
    return 0;
}
