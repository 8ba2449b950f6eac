// Traces a process as a debugger does, until standard input ends.
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <unistd.h>

int main(int count, char **words) {
    char byte;
    if (count != 2 || ptrace(PTRACE_SEIZE, atoi(words[1]), NULL, NULL) != 0) {
        perror("ptrace");
        return 1;
    }
    printf("traces\n");
    fflush(stdout);
    return read(0, &byte, 1) < 0;
}
