// A whole suite of test programs: the name under which the program is run decides what it does.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Whether this process has loaded a library of Syncline.
static int preloaded(void) {
    char line[4096];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        found |= strstr(line, "libsyncline_") != NULL;
    return found;
}

// Leaves a process that runs on and has left the group and the session. Writes its process number
// to a file in the program's folder.
static int leave(void) {
    int said[2];
    if (pipe(said) != 0)
        return 1;
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            FILE *left = fopen("left", "a");
            fprintf(left, "%d\n", getpid());
            fclose(left);
            close(said[1]);
            for (;;)
                pause();
        }
        _exit(0);
    }
    close(said[1]);
    char byte;
    return (int)read(said[0], &byte, 1);
}

// Every second run fails. To count the runs, each run appends a byte to a file in the program's
// folder.
static int alternate(void) {
    struct stat runs;
    FILE *file = fopen("runs", "a");
    fputc('.', file);
    fclose(file);
    return stat("runs", &runs) == 0 && runs.st_size % 2;
}

int main(void) {
    const char *name = program_invocation_short_name;
    if (strcmp(name, "fails") == 0)
        return preloaded() ? 3 : 0;
    if (strcmp(name, "hangs") == 0 && preloaded())
        for (;;)
            pause();
    if (strcmp(name, "crashes") == 0)
        raise(SIGSEGV);
    if (strcmp(name, "leaves") == 0)
        return leave();
    if (strcmp(name, "unstable") == 0)
        return alternate();
    if (strcmp(name, "prints") == 0)
        puts(preloaded() ? "preloaded" : "alone");
    if (strcmp(name, "counts") == 0)
        printf("%d\n", getpid());
    return 0;
}
