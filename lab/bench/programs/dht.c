/* A simple distributed hash table over MPI. Each rank has a window of slots. The hash of a key gives its
 * rank and its slot; if another key is in that slot, the next slots are tried. Each operation locks the
 * rank's window, shared for a read and exclusive for a write (Christgau and Schnor, 2019, Figure 2). Keys
 * and values have 8 bytes.
 *
 *     dht ENTRIES OPERATIONS PERCENT
 *
 * First fills between a quarter and a half of the slots. Then each rank makes OPERATIONS operations on
 * random keys; PERCENT of them are reads. Prints how many operations per second all ranks made together,
 * and how many reads found nothing.
 */
#include "common.h"

#include <mpi.h>

typedef struct {
    uint64_t taken, key, value;
} slot;

enum { WORDS = sizeof(slot) / 8 };

static int rank, ranks;
static uint64_t slots; /* the number of slots of each rank, a power of two */
static MPI_Win window;

static uint64_t hash(uint64_t x) {
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

static int home(uint64_t hashed) { return (int)((hashed >> 32) % (uint64_t)ranks); }

static void fetch(int target, uint64_t at, slot *into) {
    MPI_Get(into, WORDS, MPI_UINT64_T, target, (MPI_Aint)at, WORDS, MPI_UINT64_T, window);
    MPI_Win_flush(target, window);
}

/* Finds the slot of the key, or the first free one. Returns 0 if all slots have other keys. */
static int find(int target, uint64_t hashed, uint64_t key, uint64_t *at, slot *found) {
    for (uint64_t step = 0; step < slots; step++) {
        *at = (hashed + step) & (slots - 1);
        fetch(target, *at, found);
        if (!found->taken || found->key == key) return 1;
    }
    return 0;
}

static int get(uint64_t key, uint64_t *value) {
    uint64_t hashed = hash(key), at;
    int target = home(hashed);
    slot found;
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window);
    int is_there = find(target, hashed, key, &at, &found) && found.taken;
    MPI_Win_unlock(target, window);
    *value = found.value;
    return is_there;
}

static int put(uint64_t key, uint64_t value) {
    uint64_t hashed = hash(key), at;
    int target = home(hashed);
    slot found;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window);
    int has_room = find(target, hashed, key, &at, &found);
    if (has_room) {
        slot new = { 1, key, value };
        MPI_Put(&new, WORDS, MPI_UINT64_T, target, (MPI_Aint)at, WORDS, MPI_UINT64_T, window);
    }
    MPI_Win_unlock(target, window);
    return has_room;
}

int main(int count, char **words) {
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    require(count == 4, "usage: dht ENTRIES OPERATIONS PERCENT");
    uint64_t entries = (uint64_t)count_argument(words[1], 1);
    long operations = count_argument(words[2], 1), percent = count_argument(words[3], 0);
    for (slots = 1; slots * (uint64_t)ranks < 2 * entries;) slots *= 2;
    slot *base;
    MPI_Win_allocate((MPI_Aint)(slots * sizeof *base), sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD,
                     &base, &window);
    for (uint64_t at = 0; at < slots; at++) base[at].taken = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (uint64_t key = (uint64_t)rank; key < entries; key += (uint64_t)ranks)
        require(put(key, ~key), "a put found no room");
    uint64_t random = (uint64_t)rank + 1, value;
    long missing = 0, all = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    double began = now_ns();
    for (long i = 0; i < operations; i++) {
        uint64_t drawn = next_random(&random), key = drawn % entries;
        if ((long)(drawn >> 40) % 100 >= percent)
            require(put(key, ~key), "a put found no room");
        else if (!get(key, &value))
            missing++;
        else
            require(value == ~key, "a value is another key's");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = (now_ns() - began) / 1e9;
    MPI_Reduce(&missing, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!rank) printf("%.0f %ld\n", (double)operations * ranks / seconds, all);
    MPI_Win_free(&window);
    MPI_Finalize();
}
