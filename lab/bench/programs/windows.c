/* Locks a random rank's part of a window and unlocks it again. If the lock is exclusive and TRANSFERS is
 * not 0, gets and puts a word in between. Prints three medians over all ranks, in nanoseconds: for shared
 * locks, for a random mix of shared and exclusive locks, and for exclusive locks.
 *
 *     windows allocate|create TRANSFERS PAIRS
 *     windows waits PAIRS
 *
 * With `waits`, all ranks lock the first rank's part, and hold it for 20 microseconds each time. Prints how
 * many ranks have waited at least once for more than 100 times the median of all waits. Also prints the
 * longest wait, as a multiple of the median.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 512 };

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void wait_for(MPI_Win win, int rank, int ranks, int pairs)
{
    double *own = malloc(pairs * sizeof *own), *all = malloc(ranks * pairs * sizeof *all);
    double longest[ranks], worst = 0;
    int starved = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < pairs; i++) {
        double start = MPI_Wtime();
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        double taken = MPI_Wtime();
        own[i] = taken - start;
        while (MPI_Wtime() < taken + 20e-6) {}
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Gather(own, pairs, MPI_DOUBLE, all, pairs, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank) return;
    for (int i = 0; i < ranks; i++) {
        longest[i] = 0;
        for (int j = 0; j < pairs; j++)
            if (all[i * pairs + j] > longest[i]) longest[i] = all[i * pairs + j];
        if (longest[i] > worst) worst = longest[i];
    }
    qsort(all, ranks * pairs, sizeof *all, by_size);
    double median = all[ranks * pairs / 2];
    for (int i = 0; i < ranks; i++) starved += longest[i] > 100 * median;
    printf("%d %.1f\n", starved, worst / median);
}

int main(int count, char **words)
{
    int rank, ranks;
    long *base;
    MPI_Win win;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int transfers = atoi(words[2]), pairs = atoi(words[count - 1]), waits = !strcmp(words[1], "waits");
    const MPI_Aint size = WORDS * sizeof *base;
    if (waits || !strcmp(words[1], "allocate")) {
        MPI_Win_allocate(size, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    } else {
        MPI_Alloc_mem(size, MPI_INFO_NULL, &base);
        MPI_Win_create(base, size, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    }
    memset(base, 0, size);
    double *own = malloc(pairs * sizeof *own), *all = malloc(ranks * pairs * sizeof *all);
    if (waits) wait_for(win, rank, ranks, pairs);
    for (int mix = 0; !waits && mix < 3; mix++) {
        unsigned seed = rank * 7919 + mix + 1;
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < pairs; i++) {
            int target = rand_r(&seed) % ranks;
            int exclusive = mix == 2 || (mix == 1 && rand_r(&seed) & 64);
            long word = 0;
            double start = MPI_Wtime();
            MPI_Win_lock(exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, win);
            if (exclusive && transfers) {
                MPI_Get(&word, 1, MPI_LONG, target, 0, 1, MPI_LONG, win);
                MPI_Win_flush(target, win);
                word++;
                MPI_Put(&word, 1, MPI_LONG, target, 0, 1, MPI_LONG, win);
            }
            MPI_Win_unlock(target, win);
            own[i] = MPI_Wtime() - start;
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Gather(own, pairs, MPI_DOUBLE, all, pairs, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (rank) continue;
        qsort(all, ranks * pairs, sizeof *all, by_size);
        printf("%.0f%c", all[ranks * pairs / 2] * 1e9, mix < 2 ? ' ' : '\n');
    }
    MPI_Win_free(&win);
    MPI_Finalize();
}
