// The bytes of standard input say what this program does: it opens or closes the library that its
// argument names, calls it, or maps a writable page.
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
            // Two pages. The second one separates the first one from other mappings.
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
