/* A table whose parts are in the ranks' windows. Ranks put under exclusive locks and get under shared
 * locks. At the end each rank locks all parts and reads them. The program does not depend on lock
 * schemes, and its output does not depend on the order of the ranks.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 256, KEYS = 24 };
typedef struct { long key, value; } Entry;

static MPI_Win win;
static int rank, ranks;

static unsigned long mix(unsigned long key)
{
    key = (key ^ (key >> 29)) * 0xbf58476d1ce4e5b9ul;
    return key ^ (key >> 32);
}

/* The slot of a key in its part, or a free slot for it. The part must be locked. */
static int find(long key, int part, Entry *entry)
{
    for (int i = 0, slot = mix(key) / ranks % SLOTS; i < SLOTS; i++, slot = (slot + 1) % SLOTS) {
        MPI_Get(entry, 2, MPI_LONG, part, 2 * slot, 2, MPI_LONG, win);
        MPI_Win_flush(part, win);
        if (entry->key == key || !entry->key) return slot;
    }
    MPI_Abort(MPI_COMM_WORLD, 2);
    return 0;
}

static void add(long key, long value)
{
    int part = mix(key) % ranks;
    Entry entry;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, part, 0, win);
    int slot = find(key, part, &entry);
    if (!entry.key) entry.value = 0;
    entry.key = key;
    entry.value += value;
    MPI_Put(&entry, 2, MPI_LONG, part, 2 * slot, 2, MPI_LONG, win);
    MPI_Win_unlock(part, win);
}

static long get(long key)
{
    int part = mix(key) % ranks;
    Entry entry;
    MPI_Win_lock(MPI_LOCK_SHARED, part, 0, win);
    find(key, part, &entry);
    MPI_Win_unlock(part, win);
    return entry.key ? entry.value : -1;
}

int main(int count, char **words)
{
    Entry *own, *part = malloc(SLOTS * sizeof *part);
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Win_allocate(SLOTS * sizeof *own, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &own, &win);
    for (int i = 0; i < SLOTS; i++) own[i] = (Entry){0, 0};
    MPI_Barrier(MPI_COMM_WORLD);

    for (int i = 1; i <= KEYS; i++) add(i, rank + i);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 1 + rank; i <= KEYS; i += ranks) {
        long found = get(i), expected = (long)i * ranks + ranks * (ranks - 1) / 2;
        if (found != expected) printf("rank %d: key %d has %ld, not %ld\n", rank, i, found, expected);
    }

    long sum = 0, entries = 0;
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < ranks; i++) {
        MPI_Get(part, 2 * SLOTS, MPI_LONG, i, 0, 2 * SLOTS, MPI_LONG, win);
        MPI_Win_flush(i, win);
        for (int slot = 0; slot < SLOTS; slot++) {
            entries += part[slot].key != 0;
            sum += part[slot].key * part[slot].value;
        }
    }
    MPI_Win_unlock_all(win);
    long all[2], mine[2] = {entries, sum};
    MPI_Reduce(mine, all, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!rank) printf("%ld entries, %ld\n", all[0] / ranks, all[1] / ranks);
    MPI_Win_free(&win);
    MPI_Finalize();
    free(part);
}
