/* What a page costs in memory that two ranks share. Prints five figures. They are in microseconds of rank 1's
 * processor time, or, with a second argument, in microseconds:
 *   - a miss of a page that no rank has touched before (or of a part of a line, if lines have several pages).
 *     Rank 1 is the home of half of the pages. With Syncline, the miss also gives the page its home;
 *   - the first write to a page that is cached here and has its home at rank 0;
 *   - a barrier, for each of the DIRTY pages that were written before it;
 *   - a barrier before which no page was written, for each cached page;
 *   - memcpy of a page.
 *
 * With -DPEER, the shared memory works as in the public ArgoDSM: by SIGSEGV and mprotect, and for each page
 * a lock, a get or a put, and an unlock of an MPI window. A page that is known to be unchanged stays cached. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PAGE = 4096, PAGES = 8192, DIRTY = 2000 };

static clockid_t counts = CLOCK_THREAD_CPUTIME_ID;

static double now(void)
{
    struct timespec t;
    clock_gettime(counts, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

#ifdef PEER

#include <mpi.h>
#include <signal.h>
#include <sys/mman.h>

enum { ABSENT, CLEAN, WRITTEN };

static char *memory, *twins, *part, state[PAGES];
static int me, ranks;
static MPI_Win window;

static MPI_Aint place(int page) { return (MPI_Aint)(page / ranks) * PAGE; }

static void handle(int signal, siginfo_t *info, void *context)
{
    int number = (int)(((char *)info->si_addr - memory) / PAGE);
    char *page = memory + (size_t)number * PAGE;
    (void)signal, (void)context;
    if (state[number] == ABSENT) {
        mprotect(page, PAGE, PROT_READ | PROT_WRITE);
        MPI_Win_lock(MPI_LOCK_SHARED, number % ranks, 0, window);
        MPI_Get(page, PAGE, MPI_BYTE, number % ranks, place(number), PAGE, MPI_BYTE, window);
        MPI_Win_unlock(number % ranks, window);
        mprotect(page, PAGE, PROT_READ);
        state[number] = CLEAN;
    } else {
        memcpy(twins + (size_t)number * PAGE, page, PAGE);
        mprotect(page, PAGE, PROT_READ | PROT_WRITE);
        state[number] = WRITTEN;
    }
}

static void begin(int *count, char ***words)
{
    MPI_Init(count, words);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    size_t bytes = (size_t)PAGES * PAGE;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    memory = mmap(NULL, bytes, PROT_NONE, flags, -1, 0);
    twins = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    MPI_Win_allocate(bytes / ranks + PAGE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &window);
    memset(part, 0, bytes / ranks + PAGE);
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void meet(void)
{
    for (int number = 0; number < PAGES; number++) {
        char *page = memory + (size_t)number * PAGE, *twin = twins + (size_t)number * PAGE;
        if (state[number] != WRITTEN) continue;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, number % ranks, 0, window);
        for (int at = 0; at < PAGE;) {
            int end = at;
            while (end < PAGE && page[end] != twin[end]) end++;
            if (end > at)
                MPI_Put(page + at, end - at, MPI_BYTE, number % ranks, place(number) + at, end - at,
                        MPI_BYTE, window);
            at = end + 1;
        }
        MPI_Win_unlock(number % ranks, window);
        mprotect(page, PAGE, PROT_READ);
        state[number] = CLEAN;
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void finish(void) { MPI_Finalize(); }

#else

#include "syncline_dsm.h"

static char *memory;
static int me;

static void begin(int *count, char ***words)
{
    (void)count, (void)words;
    if (syncline_dsm_init((size_t)PAGES * PAGE)) exit(1);
    me = syncline_dsm_rank();
    memory = syncline_dsm_alloc_all((size_t)PAGES * PAGE);
}

static void meet(void) { syncline_dsm_barrier(); }
static void finish(void) { syncline_dsm_finish(); }

#endif

int main(int count, char **words)
{
    double miss = 0, write = 0, dirty = 0, clean = 0, start, copy = 1;
    volatile long sum = 0;
    begin(&count, &words);
    int step = count > 1 ? atoi(words[1]) : 1;
    if (count > 2) counts = CLOCK_MONOTONIC;
    meet();
    if (me == 1) {
        start = now();
        for (int i = 0; i < PAGES; i += step) sum += memory[(size_t)i * PAGE];
        miss = (now() - start) / PAGES;
        start = now();
        for (int i = 0; i < DIRTY; i++) memory[(size_t)i * 4 * PAGE + i % PAGE] = 1;
        write = (now() - start) / DIRTY;
    }
    start = now();
    meet();
    dirty = (now() - start) / DIRTY;
    meet();
    start = now();
    for (int i = 0; i < 20; i++) meet();
    clean = (now() - start) / PAGES / 20;
    if (me == 1) {
        char *from = malloc((size_t)PAGES * PAGE), *to = malloc((size_t)PAGES * PAGE);
        memset(from, 1, (size_t)PAGES * PAGE), memset(to, 2, (size_t)PAGES * PAGE);
        start = now();
        memcpy(to, from, (size_t)PAGES * PAGE);
        copy = (now() - start) / PAGES;
        sum += to[sum & 4095];
        printf("%.4f %.4f %.4f %.5f %.4f\n", miss, write, dirty, clean, copy);
        fflush(stdout);
    }
    meet();
    finish();
    return 0;
}
