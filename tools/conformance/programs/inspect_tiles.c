// Tiles (AMX) that are loaded before a critical section, changed in it, and stored after it; and a
// second section that stores them. Prints for each tile whether it has what the program put there,
// or "none" if the processor or the kernel has no tiles.
#include "truth.h"

#include <cpuid.h>
#include <sys/syscall.h>

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
static unsigned char put[TILES][ROWS * ROW], got[TILES][ROWS * ROW];
static pthread_mutex_t across = PTHREAD_MUTEX_INITIALIZER, within = PTHREAD_MUTEX_INITIALIZER;

static int may_use_tiles(void) {
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && d >> 24 & 1
        && syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

// Tile 7 was cleared in the section; the others are as they were.
static void compare(const char *when) {
    static const unsigned char cleared[ROWS * ROW];
    for (int n = 0; n < TILES; n++) {
        const unsigned char *expected = n == 7 ? cleared : put[n];
        int same = memcmp(expected, got[n], sizeof got[n]) == 0;
        say("%s: tile %d %s", when, n, same ? "same" : "changed");
    }
}

// Some work with jumps, calls, vectors and a system call, so that the section has many blocks.
__attribute__((noinline)) static unsigned work(void) {
    static unsigned char from[1000], to[1000];
    unsigned sum = 0;
    for (int n = 0; n < 1000; n++) {
        from[n] = n * 7;
        if (n % 250 == 0)
            memcpy(to, from, sizeof to), sum += getppid() != 0;
        sum += to[n / 2];
    }
    return sum;
}

int main(void) {
    if (!may_use_tiles()) {
        say("none");
        return 0;
    }
    shape.palette = 1;
    for (int n = 0; n < TILES; n++) {
        shape.row[n] = ROW, shape.rows[n] = ROWS;
        for (int at = 0; at < ROWS * ROW; at++)
            put[n][at] = 31 * n + at % 251 + 1;
    }
    __asm__ volatile("ldtilecfg %0" ::"m"(shape));
    EACH(LOAD)
    pthread_mutex_lock(&across);
    unsigned sum = work();
    __asm__ volatile("tilezero %tmm7");
    sum += work();
    pthread_mutex_unlock(&across);
    EACH(STORE)
    compare("after");
    memset(got, 0, sizeof got);
    pthread_mutex_lock(&within);
    sum += work();
    EACH(STORE)
    sum += work();
    pthread_mutex_unlock(&within);
    __asm__ volatile("tilerelease");
    compare("within");
    say("%u", sum);
    say("@across %lu", (unsigned long)&across);
    say("@within %lu", (unsigned long)&within);
    return 0;
}
