// Opens and closes the library of its argument, and calls it, as its standard input says. Maps a page that it
// may write to.
#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int count, char **words) {
    void *library = NULL;
    char byte;
    while (read(0, &byte, 1) == 1) {
        if (byte == 'o') {
            library = dlopen(words[count - 1], RTLD_NOW);
            printf("%s\n", library ? "opened" : dlerror());
        } else if (byte == 'c') {
            dlclose(library);
            library = NULL;
            printf("closed\n");
        } else if (byte == 'w') {
            int access = PROT_READ | PROT_WRITE, kind = MAP_PRIVATE | MAP_ANONYMOUS;
            // Two, of which the second keeps it apart from other mappings.
            char *page = mmap(NULL, 8192, access, kind, -1, 0);
            mprotect(page + 4096, 4096, PROT_NONE);
            printf("%lx\n", (unsigned long)page);
        } else if (library) {
            int (*work)(void) = (int (*)(void))dlsym(library, "work");
            printf("%d\n", work());
        } else {
            printf("none\n");
        }
        fflush(stdout);
    }
    return 0;
}
