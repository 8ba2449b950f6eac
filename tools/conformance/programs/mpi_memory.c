/* Scenes with names, in which ranks use the memory of windows. The results must be equal whether
 * puts and gets are performed as copies or by the MPI library.
 *
 *     mpi_memory SCENE [ROUNDS]
 *
 * With -DLIBRARY, this is a library that counts the puts and gets that reach the MPI library.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>

#ifdef LIBRARY

long passed_on;

#define COUNTED(NAME, ORIGIN)                                                                     \
    int PMPI_##NAME(ORIGIN origin, int count, MPI_Datatype kind, int target, MPI_Aint at,         \
                    int target_count, MPI_Datatype target_kind, MPI_Win win)                      \
    {                                                                                             \
        int (*real)(ORIGIN, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Win) =       \
            dlsym(RTLD_NEXT, "PMPI_" #NAME);                                                      \
        passed_on++;                                                                              \
        return real(origin, count, kind, target, at, target_count, target_kind, win);             \
    }
COUNTED(Put, const void *)
COUNTED(Get, void *)

#else

#include "mpi_scene.h"

static MPI_Win allocated(MPI_Info info, MPI_Aint size, int unit, void *base)
{
    MPI_Win win;
    MPI_Win_allocate(size, unit, info, MPI_COMM_WORLD, base, &win);
    memset(*(void **)base, 0, size);
    MPI_Barrier(MPI_COMM_WORLD);
    return win;
}

/* A window must have the attributes with which the program has made it. */
static void attributes(void)
{
    MPI_Aint *size;
    int *unit, *flavour, *model, found[5], unit_made = rank % 2 ? 4 : 8;
    void *base, *told;
    MPI_Win win = allocated(MPI_INFO_NULL, 100 + 8 * rank, unit_made, &base);
    MPI_Win_get_attr(win, MPI_WIN_BASE, &told, found);
    MPI_Win_get_attr(win, MPI_WIN_SIZE, &size, found + 1);
    MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, found + 2);
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavour, found + 3);
    MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, found + 4);
    require(found[0] && found[1] && found[2] && found[3] && found[4], "an attribute is missing");
    require(told == base, "another base");
    require((size_t)base % sizeof(long) == 0, "a part begins where no long may lie");
    require(*size == 100 + 8 * rank, "another size");
    require(*unit == unit_made, "another unit");
    require(*flavour == MPI_WIN_FLAVOR_ALLOCATE, "another flavour");
    require(*model == MPI_WIN_UNIFIED, "another model");
    MPI_Win_free(&win);
    MPI_Win_allocate_shared(256, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavour, found);
    require(*flavour == MPI_WIN_FLAVOR_SHARED, "a shared window has another flavour");
    MPI_Win_free(&win);
    if (!rank) printf("attributes\n");
}

/* Data of all types must arrive at the right places, in parts of different sizes and units. */
static void types(void)
{
    enum { BYTES = 512 };
    unsigned char *base, sent[BYTES], got[BYTES], expected[BYTES];
    int next = (rank + 1) % ranks, unit = rank % 2 ? 4 : 1, next_unit = next % 2 ? 4 : 1;
    MPI_Datatype kinds[] = {MPI_BYTE, MPI_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_DOUBLE,
                            MPI_LONG_DOUBLE, MPI_C_DOUBLE_COMPLEX, MPI_INT16_T, MPI_AINT,
                            MPI_DOUBLE_INT, MPI_2INT, MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    /* Types of every second int, and of two ints in reverse order. */
    MPI_Type_vector(3, 1, 2, MPI_INT, kinds + KINDS - 2);
    MPI_Type_indexed(2, (int[]){1, 1}, (int[]){1, 0}, MPI_INT, kinds + KINDS - 1);
    MPI_Type_commit(kinds + KINDS - 2);
    MPI_Type_commit(kinds + KINDS - 1);
    MPI_Win win = allocated(MPI_INFO_NULL, BYTES + 64 * rank, unit, &base);
    for (int i = 0; i < BYTES; i++) sent[i] = 7 * i + 1;
    for (int round = 0; round < 2 * KINDS; round++) {
        MPI_Datatype kind = kinds[round / 2];
        int count = round % 2 ? 3 : 1, bytes;
        MPI_Aint lower, extent, at = 16 * (round % 5);
        MPI_Type_size(kind, &bytes);
        MPI_Type_get_extent(kind, &lower, &extent);
        memset(expected, 0, sizeof expected);
        memset(got, 0, sizeof got);
        /* This data type at the origin, and bytes at the target, are compared with packed data. */
        int packed = 0;
        MPI_Pack(sent, count, kind, expected + at, BYTES - at, &packed, MPI_COMM_WORLD);
        require(packed == count * bytes, "packed in another way");
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
        MPI_Put(sent, count, kind, next, at / next_unit, count * bytes, MPI_BYTE, win);
        MPI_Win_flush(next, win);
        MPI_Get(got, BYTES, MPI_BYTE, next, 0, BYTES, MPI_BYTE, win);
        MPI_Win_unlock(next, win);
        require(!memcmp(got, expected, BYTES), "something else was put");
        /* This type on both sides. */
        memset(got, 0, sizeof got);
        memset(expected, 0, sizeof expected);
        MPI_Sendrecv(sent, count, kind, 0, 0, expected, count, kind, 0, 0, MPI_COMM_SELF,
                     MPI_STATUS_IGNORE);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
        MPI_Put(sent, count, kind, next, at / next_unit, count, kind, win);
        MPI_Put(sent, 0, kind, next, 0, 0, kind, win);
        MPI_Put(sent, count, kind, MPI_PROC_NULL, 0, count, kind, win);
        MPI_Win_unlock(next, win);
        MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
        MPI_Get(got, count, kind, next, at / next_unit, count, kind, win);
        MPI_Win_unlock(next, win);
        require(!memcmp(got, expected, BYTES), "something else was got");
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
        memset(got, 0, sizeof got);
        MPI_Put(got, BYTES, MPI_BYTE, next, 0, BYTES, MPI_BYTE, win);
        MPI_Win_unlock(next, win);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    /* The end of a part that is longer than the part of this rank. */
    int longest = ranks - 1;
    long last = 4711 + rank, seen = 0;
    MPI_Aint end = (BYTES + 64 * longest - 8) / (longest % 2 ? 4 : 1);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, longest, 0, win);
    MPI_Put(&last, 1, MPI_LONG, longest, end, 1, MPI_LONG, win);
    MPI_Win_flush(longest, win);
    MPI_Get(&seen, 1, MPI_LONG, longest, end, 1, MPI_LONG, win);
    MPI_Win_unlock(longest, win);
    require(seen == last, "the end of a part is not what was put");
    MPI_Type_free(kinds + KINDS - 2);
    MPI_Type_free(kinds + KINDS - 1);
    MPI_Win_free(&win);
    if (!rank) printf("types\n");
}

/* Two ranks each set a flag, flush, and read the other's flag. At least one must see it set. */
static void flags(void)
{
    int other = !rank, neither = 0;
    long *base, up = 1, seen;
    MPI_Win win = allocated(MPI_INFO_NULL, 64 * sizeof *base * rounds, sizeof *base, &base);
    long *saw = calloc(rounds, sizeof *saw), *others = calloc(rounds, sizeof *others);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < rounds; i++) {
        /* Each waits for the other's last flag, so both begin at nearly the same time. */
        for (int looks = 0; i && looks < 1000; looks++) {
            MPI_Get(&seen, 1, MPI_LONG, rank, 64 * (i - 1), 1, MPI_LONG, win);
            MPI_Win_flush(rank, win);
            if (seen) break;
        }
        MPI_Put(&up, 1, MPI_LONG, other, 64 * i, 1, MPI_LONG, win);
        MPI_Win_flush(other, win);
        MPI_Get(saw + i, 1, MPI_LONG, rank, 64 * i, 1, MPI_LONG, win);
        MPI_Win_flush_local(rank, win);
    }
    MPI_Win_unlock_all(win);
    MPI_Sendrecv(saw, rounds, MPI_LONG, other, 0, others, rounds, MPI_LONG, other, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < rounds; i++) neither += !saw[i] && !others[i];
    if (!rank) printf("flags: %d times neither saw the other's\n", neither);
    MPI_Win_free(&win);
    free(saw);
    free(others);
}

/* Rank 1 gets a word again and again until rank 0 has put it. Before that, rank 0 sends a long
 * message to rank 1, for which rank 1 has to make progress. */
static void progress(void)
{
    enum { LONG = 1 << 20 };
    long *base, *message = calloc(LONG, sizeof *message), seen = 0, one = 1;
    MPI_Win win = allocated(MPI_INFO_NULL, 512, sizeof *base, &base);
    if (!rank) {
        MPI_Send(message, LONG, MPI_LONG, 1, 0, MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        MPI_Put(&one, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win);
        MPI_Win_unlock(1, win);
    } else if (rank == 1) {
        MPI_Request request;
        MPI_Irecv(message, LONG, MPI_LONG, 0, 0, MPI_COMM_WORLD, &request);
        while (!seen) {
            MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
            MPI_Get(&seen, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win);
            MPI_Win_unlock(1, win);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Win_free(&win);
    free(message);
    if (!rank) printf("progress\n");
}

/* All ranks accumulate at the same time, and each rank also puts and gets its own cell. */
static void atomic(void)
{
    long *base, one = 1, old, sum, mine = 0;
    MPI_Win win = allocated(MPI_INFO_NULL, 512, sizeof *base, &base);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < rounds; i++) {
        MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win);
        MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, win);
        MPI_Get(&mine, 1, MPI_LONG, 0, 1 + rank, 1, MPI_LONG, win);
        MPI_Win_flush(0, win);
        mine++;
        MPI_Put(&mine, 1, MPI_LONG, 0, 1 + rank, 1, MPI_LONG, win);
        MPI_Win_flush(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Get(&sum, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
    MPI_Get(&mine, 1, MPI_LONG, 0, 1 + rank, 1, MPI_LONG, win);
    MPI_Win_unlock_all(win);
    require(mine == rounds, "a put was lost");
    if (!rank) printf("atomic: %ld too few\n", 2L * rounds * ranks - sum);
    MPI_Win_free(&win);
}

/* Whether the memory of all ranks can be queried. KEYS has the hint of each rank. */
static void shared(void)
{
    long *base, mine = 0, count = 0;
    MPI_Info info = info_with("syncline_host_memory");
    MPI_Win win = allocated(info, 512, sizeof *base, &base);
    MPI_Info_free(&info);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    for (int i = 0; i < ranks; i++) {
        MPI_Aint size;
        int unit;
        void *at;
        mine += MPI_Win_shared_query(win, i, &size, &unit, &at) == MPI_SUCCESS;
    }
    MPI_Reduce(&mine, &count, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!rank) printf("shared: %ld of %d\n", count, ranks * ranks);
    MPI_Win_free(&win);
}

/* How many ranks can't make the window. KEYS has the hint of each rank. */
static void refused(void)
{
    long *base;
    int class, mine, count = 0;
    MPI_Win win;
    MPI_Info info = info_with("syncline_host_memory");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int code = MPI_Win_allocate(512, 8, info, MPI_COMM_WORLD, &base, &win);
    MPI_Info_free(&info);
    MPI_Error_class(code, &class);
    mine = class == MPI_ERR_INFO_VALUE;
    MPI_Reduce(&mine, &count, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!rank) printf("refused: %d\n", count);
}

/* How many puts and gets reach the MPI library: few of basic types, and all of other types. */
static void copies(void)
{
    long *passed_on = dlsym(RTLD_DEFAULT, "passed_on"), before, *base, word = rank;
    int number = 3;
    MPI_Datatype two;
    MPI_Type_contiguous(2, MPI_INT, &two);
    MPI_Type_commit(&two);
    require(passed_on != NULL, "nobody counts");
    MPI_Win win = allocated(MPI_INFO_NULL, 512, sizeof *base, &base);
    before = *passed_on;
    for (int i = 0; i < rounds; i++) {
        int target = (rank + i) % ranks;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
        MPI_Get(&word, 1, MPI_LONG, target, 0, 1, MPI_LONG, win);
        MPI_Put(&number, 1, MPI_INT, target, 3, 1, MPI_INT, win);
        MPI_Win_unlock(target, win);
    }
    long plain = *passed_on - before;
    before = *passed_on;
    for (int i = 0; i < rounds; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Get(&word, 1, two, 0, 0, 1, two, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (!rank) printf("passed on: %s, %s\n", plain <= 2 ? "two at most" : "more",
                      *passed_on - before == rounds ? "all" : "not all");
    MPI_Type_free(&two);
    MPI_Win_free(&win);
}

int main(int count, char **words)
{
    static const struct scene scenes[] = {
        {"attributes", attributes}, {"types", types}, {"flags", flags}, {"progress", progress},
        {"atomic", atomic}, {"shared", shared}, {"refused", refused}, {"copies", copies},
    };
    MPI_Init(&count, &words);
    play(scenes, sizeof scenes / sizeof *scenes, count, words);
}

#endif
