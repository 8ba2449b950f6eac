// A daemon: it forks twice, closes all files, changes to the root folder, and works there. The
// first process waits for the daemon's output, and prints it.
#include "truth.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { ROUNDS = 3000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *argument) {
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    return argument;
}

static void become_daemon(const char *draft, const char *report) {
    REQUIRE(setsid() > 0);
    if (fork())
        _exit(0);
    alarm(20);
    closefrom(0);
    REQUIRE(chdir("/") == 0);
    umask(0);
    say_to = open(draft, O_CREAT | O_WRONLY | O_APPEND, 0600);
    say("first file number %d", say_to);
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, work, NULL) == 0);
    work(NULL);
    REQUIRE(pthread_join(thread, NULL) == 0);
    expect("MutexLock", &lock, 2 * ROUNDS);
    close(say_to);
    rename(draft, report);
    exit(0);
}

int main(void) {
    char draft[64], report[64], text[4096];
    sprintf(draft, "/tmp/syncline-daemon-%d.draft", getpid());
    sprintf(report, "/tmp/syncline-daemon-%d", getpid());
    pid_t pid = fork();
    if (pid == 0)
        become_daemon(draft, report);
    waitpid(pid, NULL, 0);
    int file;
    for (int tries = 0; (file = open(report, O_RDONLY)) < 0 && tries < 1000; tries++)
        sleep_ms(10);
    REQUIRE(file >= 0);
    ssize_t length = read(file, text, sizeof text);
    REQUIRE(length > 0 && write(1, text, length) == length);
    unlink(report);
    return 0;
}
