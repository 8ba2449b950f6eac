// A thread waits in a system call and has values in all tile registers. For each byte of standard
// input, the program prints "same", or the number of the first tile that has changed. At the
// beginning it prints "ready", or "none" if the processor or the kernel has no tiles.
#include <cpuid.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18, TILES = 8, ROWS = 16, ROW = 64 };

#define EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define LOAD(n) __asm__ volatile("tileloadd (%0, %1), %%tmm" #n ::"r"(put[n]), "r"((long)ROW));
#define STORE(n)                                                                                   \
    __asm__ volatile("tilestored %%tmm" #n ", (%0, %1)" ::"r"(got[n]), "r"((long)ROW) : "memory");

static struct {
    unsigned char palette, start, reserved[14];
    unsigned short row[16];
    unsigned char rows[16];
} shape;
static unsigned char put[TILES][ROWS][ROW], got[TILES][ROWS][ROW];

static int may_use_tiles(void) {
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && d >> 24 & 1
        && syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

static void *wait_with_tiles(void *unused) {
    __asm__ volatile("ldtilecfg %0" ::"m"(shape));
    long result;
    for (char byte;;) {
        EACH(LOAD)
        // The system call is inline, because a function might change tiles.
        __asm__ volatile("syscall"
                         : "=a"(result)
                         : "a"(SYS_read), "D"(0L), "S"(&byte), "d"(1L)
                         : "rcx", "r11", "memory");
        if (result != 1)
            break;
        EACH(STORE)
        int n = 0;
        while (n < TILES && memcmp(put[n], got[n], sizeof put[n]) == 0)
            n++;
        n == TILES ? printf("same\n") : printf("%d\n", n);
        fflush(stdout);
    }
    __asm__ volatile("tilerelease");
    return unused;
}

// The argument is the size of the thread's stack in bytes. Without an argument, the first thread
// waits.
int main(int count, char **arguments) {
    int may = may_use_tiles();
    printf(may ? "ready\n" : "none\n");
    fflush(stdout);
    if (!may)
        return 0;
    shape.palette = 1;
    for (int n = 0; n < TILES; n++) {
        (shape.row[n] = ROW, shape.rows[n] = ROWS);
        for (int at = 0; at < ROWS * ROW; at++)
            put[n][at / ROW][at % ROW] = 31 * n + at % 251;
    }
    if (count == 1)
        return wait_with_tiles(NULL) != NULL;
    pthread_t thread;
    pthread_attr_t stack;
    if (pthread_attr_init(&stack) != 0
        || pthread_attr_setstacksize(&stack, strtoul(arguments[1], NULL, 0)) != 0
        || pthread_create(&thread, &stack, wait_with_tiles, NULL) != 0)
        return 1;
    return pthread_join(thread, NULL);
}
