// This code comes after definitions of `header`, the first bytes of a process file, and of `PID`,
// the offset of the process number in it.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 1 << 20 };

extern char **environ;

static void write_environment(const char *folder) {
    char path[4096];
    snprintf(path, sizeof path, "%s/../environment", folder);
    FILE *file = fopen(path, "w");
    if (!file) return;
    for (char **e = environ; *e; e++) fprintf(file, "%s\n", *e);
    fclose(file);
}

static void write_process_file(const char *folder) {
    char path[4096];
    int pid = getpid();
    snprintf(path, sizeof path, "%s/%d.syncline", folder, pid);
    int fd = open(path, O_CREAT | O_RDWR, 0600);
    if (fd < 0 || ftruncate(fd, SIZE)) return;
    char *map = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    memcpy(map, header, sizeof header);
    memcpy(map + PID, &pid, sizeof pid);
    close(fd);
}

__attribute__((constructor)) static void start(void) {
    const char *folder = getenv("SYNCLINE_RECORDING");
    write_environment(folder);
    if (!getenv("LEAVE_NO_FILE")) write_process_file(folder);
}
