// Opens and closes the library of its argument, and calls it, as its standard input says.
#include <dlfcn.h>
#include <stdio.h>
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
