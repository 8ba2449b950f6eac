/* Scenes with names, in which ranks use the locks of MPI windows. Each scene prints its result,
 * which must be equal under all schemes. Only two Info keys in this program are Syncline's.
 *
 *     mpi_scenes SCENE [ROUNDS]
 */
#include "mpi_scene.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

/* The number of cells in a window. There are several, because in a window of 8 bytes MPICH 4.0.2
 * writes to rank 0 what is put to rank 1. */
enum { CELLS = 64 };

static MPI_Win allocated(MPI_Info info, int cells, long **base)
{
    MPI_Win win;
    if (cells < CELLS) cells = CELLS;
    MPI_Win_allocate(cells * sizeof(long), sizeof(long), info, MPI_COMM_WORLD, base, &win);
    memset(*base, 0, cells * sizeof(long));
    MPI_Barrier(MPI_COMM_WORLD);
    return win;
}

/* Adds one to a cell of a rank, under the exclusive lock. */
static void add(MPI_Win win, int target, MPI_Aint at)
{
    long value = -1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    MPI_Get(&value, 1, MPI_LONG, target, at, 1, MPI_LONG, win);
    MPI_Win_flush(target, win);
    value++;
    MPI_Put(&value, 1, MPI_LONG, target, at, 1, MPI_LONG, win);
    MPI_Win_unlock(target, win);
}

static long own_cell(MPI_Win win, const long *cell)
{
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    long value = *cell;
    MPI_Win_unlock(rank, win);
    return value;
}

/* Prints by how much the sum over the cells of all ranks is too small. */
static void print_sum(const char *name, MPI_Win win, const long *cell)
{
    long sum = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    long mine = own_cell(win, cell);
    MPI_Reduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!rank) printf("%s: %ld too few\n", name, (long)rounds * ranks - sum);
}

static void sum(void)
{
    long *base;
    MPI_Win win = allocated(MPI_INFO_NULL, 1, &base);
    for (int i = 0; i < rounds; i++) add(win, i % 3 ? 0 : i % ranks, 0);
    print_sum("allocate", win, base);
    MPI_Win_free(&win);
}

/* Makes windows in all other ways. */
static void kinds(void)
{
    MPI_Win win;
    long cells[CELLS] = {0}, *base = cells;
    MPI_Win_create(base, sizeof cells, sizeof *cells, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (int i = 0; i < rounds; i++) add(win, i % ranks, 0);
    print_sum("create", win, base);
    MPI_Win_free(&win);

    MPI_Win_allocate_shared(sizeof cells, sizeof *cells, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    *base = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < rounds; i++) add(win, i % ranks, 0);
    print_sum("allocate_shared", win, base);
    MPI_Win_free(&win);

    MPI_Aint at, first;
    *cells = 0;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, cells, sizeof cells);
    MPI_Get_address(cells, &at);
    first = at;
    MPI_Bcast(&first, 1, MPI_AINT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < rounds; i++) add(win, 0, first);
    print_sum("create_dynamic", win, cells);
    MPI_Win_detach(win, cells);
    MPI_Win_free(&win);
}

/* Readers hold the lock at the same time: each waits for the others while it holds it. */
static void together(void)
{
    long *base;
    MPI_Win win = allocated(MPI_INFO_NULL, 1, &base);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock(0, win);
    MPI_Win_lock_all(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(win);
    /* One rank holds the locks of all parts, and each other rank the lock of one part. */
    if (rank) MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    else MPI_Win_lock_all(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank) MPI_Win_unlock(rank, win);
    else MPI_Win_unlock_all(win);
    /* Locks of several targets at the same time. */
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock(rank, win);
    for (int i = 0; i < ranks; i++) MPI_Win_lock(MPI_LOCK_SHARED, i, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < ranks; i++) MPI_Win_unlock(i, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!rank) printf("together\n");
    MPI_Win_free(&win);
}

/* A writer makes two cells differ for a while, and no rank that holds a shared lock may see that.
 * `all` says whether these ranks lock all parts or only one. */
static void apart_from(int all)
{
    long *base, pair[2];
    MPI_Win win = allocated(MPI_INFO_NULL, 2, &base);
    for (int i = 0; i < rounds; i++) {
        if (rank == 1) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
            for (int cell = 0; cell < 2; cell++) {
                long value = i + 1;
                MPI_Put(&value, 1, MPI_LONG, 0, cell, 1, MPI_LONG, win);
                MPI_Win_flush(0, win);
                if (!cell) usleep(300);
            }
            MPI_Win_unlock(0, win);
        } else {
            if (all) MPI_Win_lock_all(0, win);
            else MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
            MPI_Get(pair, 2, MPI_LONG, 0, 0, 2, MPI_LONG, win);
            MPI_Win_flush(0, win);
            require(pair[0] == pair[1], "a writer was inside as well");
            if (all) MPI_Win_unlock_all(win);
            else MPI_Win_unlock(0, win);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (!rank) printf("apart\n");
    MPI_Win_free(&win);
}

static void apart(void) { apart_from(0); }
static void apart_all(void) { apart_from(1); }

/* Rank 0 holds the lock of rank 1's part and puts to it, while rank 1 waits for this lock. */
static void progress(void)
{
    enum { SENT = 1 << 16 };
    long *base, *sent = calloc(SENT, sizeof *sent);
    MPI_Win win = allocated(MPI_INFO_NULL, SENT, &base);
    for (int i = 0; i < SENT; i++) sent[i] = i;
    for (int i = 0; i < 3; i++) {
        if (!rank) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
            /* An MPI library may acquire the lock only at the first operation. */
            MPI_Put(sent, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win);
            MPI_Win_flush(1, win);
            MPI_Send(&i, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
            usleep(100000);
            MPI_Put(sent, SENT, MPI_LONG, 1, 0, SENT, MPI_LONG, win);
            MPI_Win_flush(1, win);
            MPI_Win_unlock(1, win);
        } else if (rank == 1) {
            int message;
            MPI_Recv(&message, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Win_lock(i == 1 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 1, 0, win);
            require(base[SENT - 1] == SENT - 1, "what the holder sent is not there");
            base[SENT - 1] = 0;
            MPI_Win_unlock(1, win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    /* Now rank 1 waits for the locks of all parts. */
    if (!rank) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        MPI_Put(sent, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win);
        MPI_Win_flush(1, win);
        MPI_Send(&rank, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        usleep(100000);
        MPI_Put(sent, SENT, MPI_LONG, 1, 0, SENT, MPI_LONG, win);
        MPI_Win_unlock(1, win);
    } else if (rank == 1) {
        int message;
        MPI_Recv(&message, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Win_lock_all(0, win);
        require(base[SENT - 1] == SENT - 1, "what the holder sent is not there");
        MPI_Win_unlock_all(win);
    }
    MPI_Win_free(&win);
    if (!rank) printf("progress\n");
    free(sent);
}

/* Epochs of other kinds between locks, requests, and operations of all kinds. */
static void others(void)
{
    long *base, one = 1, old = -1, zero = 0;
    int next = (rank + 1) % ranks;
    MPI_Win win = allocated(MPI_INFO_NULL, 4, &base);
    add(win, next, 0);
    MPI_Win_fence(0, win);
    MPI_Put(&one, 1, MPI_LONG, next, 1, 1, MPI_LONG, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    add(win, next, 0);

    MPI_Group world, group;
    int neighbours[2] = {next, (rank + ranks - 1) % ranks};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Group_incl(world, 1, neighbours + 1, &group);
    MPI_Win_post(group, 0, win);
    MPI_Group_free(&group);
    MPI_Group_incl(world, 1, neighbours, &group);
    MPI_Win_start(group, 0, win);
    MPI_Put(&one, 1, MPI_LONG, next, 2, 1, MPI_LONG, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    MPI_Barrier(MPI_COMM_WORLD);

    MPI_Request request;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
    MPI_Rput(&one, 1, MPI_LONG, next, 3, 1, MPI_LONG, win, &request);
    MPI_Win_unlock(next, win);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    MPI_Accumulate(&one, 1, MPI_LONG, next, 3, 1, MPI_LONG, MPI_SUM, win);
    MPI_Win_flush_local(next, win);
    MPI_Fetch_and_op(&one, &old, MPI_LONG, next, 3, MPI_SUM, win);
    MPI_Win_flush_all(win);
    require(old == 2, "fetched what was not there");
    MPI_Get_accumulate(&one, 1, MPI_LONG, &old, 1, MPI_LONG, next, 3, 1, MPI_LONG, MPI_SUM, win);
    MPI_Win_unlock(next, win);
    require(old == 3, "the unlock did not complete an operation");
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, MPI_MODE_NOCHECK, win);
    MPI_Put(&zero, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, win);
    MPI_Rget(&old, 1, MPI_LONG, next, 3, 1, MPI_LONG, win, &request);
    MPI_Win_flush_local_all(win);
    MPI_Win_unlock(next, win);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    require(old == 4, "a request was not complete");
    MPI_Barrier(MPI_COMM_WORLD);
    long cells[4];
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    memcpy(cells, base, sizeof cells);
    MPI_Win_unlock(rank, win);
    if (!rank) printf("%ld %ld %ld %ld\n", cells[0], cells[1], cells[2], cells[3]);
    MPI_Win_free(&win);
}

static const char *class_of(int code)
{
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
    return class == MPI_SUCCESS ? "none" : class == MPI_ERR_RMA_SYNC ? "RMA_SYNC"
        : class == MPI_ERR_RANK ? "RANK" : class == MPI_ERR_LOCKTYPE ? "LOCKTYPE"
        : class == MPI_ERR_INFO_VALUE ? "INFO_VALUE" : "another";
}

static int handled;
static void handler(MPI_Win *win, int *code, ...) { handled += *win != MPI_WIN_NULL && *code != 0; }

/* The errors that calls return if a lock is misused. An error handler counts them. */
static void errors(void)
{
    long *base, cell = 0;
    MPI_Errhandler counting;
    MPI_Win win = allocated(MPI_INFO_NULL, 1, &base);
    MPI_Win_create_errhandler(handler, &counting);
    MPI_Win_set_errhandler(win, counting);
#define SAY(what) do { int code = (what); if (!rank) printf("%s: %s\n", #what, class_of(code)); } while (0)
    SAY(MPI_Win_unlock(0, win));
    SAY(MPI_Win_unlock_all(win));
    SAY(MPI_Win_flush(0, win));
    SAY(MPI_Win_flush_all(win));
    SAY(MPI_Win_lock(MPI_LOCK_SHARED, ranks, 0, win));
    SAY(MPI_Win_lock(MPI_LOCK_SHARED, -77, 0, win));
    SAY(MPI_Win_lock(4711, 0, 0, win));
    SAY(MPI_Win_lock(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, win));
    SAY(MPI_Win_unlock(MPI_PROC_NULL, win));
    SAY(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    SAY(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    SAY(MPI_Win_lock_all(0, win));
    SAY(MPI_Win_fence(0, win));
    SAY(MPI_Put(&cell, 1, MPI_LONG, (rank + 1) % ranks, 0, 1, MPI_LONG, win));
    SAY(MPI_Win_flush((rank + 1) % ranks, win));
    SAY(MPI_Win_unlock(rank, win));
    SAY(MPI_Win_unlock(rank, win));
    SAY(MPI_Win_lock_all(0, win));
    SAY(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    SAY(MPI_Win_unlock_all(win));
    SAY(MPI_Win_unlock_all(win));
    if (!rank) printf("handled: %d\n", handled);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Errhandler_free(&counting);
    MPI_Win_free(&win);
}

/* Sets a hint at the ranks from `first` on, and prints the result at rank 0. */
static void set(MPI_Win win, MPI_Info info, int first, const char *hint, const char *value)
{
    if (rank >= first) MPI_Info_set(info, hint, value);
    int code = MPI_Win_set_info(win, info), codes[16];
    MPI_Gather(&code, 1, MPI_INT, codes, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank) return;
    printf("%s: ", value);
    for (int i = 0; i < ranks; i++) printf("%s ", class_of(codes[i]));
    printf("%s\n", used(win, hint));
}

/* The window's scheme, as a key requests it. KEYS has a word for each rank. */
static void key(void)
{
    long *base = NULL;
    MPI_Win win = MPI_WIN_NULL;
    MPI_Info info = info_with("passive_sync_mode");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int code = MPI_Win_allocate(CELLS * 8, 8, info, MPI_COMM_WORLD, &base, &win);
    int codes[16];
    MPI_Gather(&code, 1, MPI_INT, codes, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; !rank && i < (code == MPI_SUCCESS ? 1 : ranks); i++)
        printf("%d: %s\n", i, class_of(codes[i]));
    if (code == MPI_SUCCESS) {
        if (!rank) printf("%s\n", used(win, "passive_sync_mode"));
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        set(win, info, 0, "passive_sync_mode", "best-effort");
        set(win, info, 0, "syncline_host_memory", "false");
        set(win, info, ranks - 1, "syncline_host_memory", "no");
        set(win, info, 1, "passive_sync_mode", "no-such-scheme");
        *base = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < rounds; i++) add(win, i % ranks, 0);
        print_sum("key", win, base);
        MPI_Win_free(&win);
    }
    MPI_Info_free(&info);
}

/* Many windows at once, some under another scheme, after windows of other communicators. */
static void many(void)
{
    enum { MANY = 12 };
    MPI_Win wins[MANY];
    long *base[MANY];
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    /* The two halves make different numbers of windows. Then both take part in windows of all
     * ranks. */
    for (int turn = 0; turn < 2; turn++) {
        /* The halves take turns: Open MPI 4.1 uses one file name for the windows of both. */
        for (int i = 0; turn == rank % 2 && i < 3 + 5 * turn; i++) {
            MPI_Win win;
            MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, half, &win);
            MPI_Win_free(&win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Info info;
    MPI_Info_create(&info);
    for (int i = 0; i < MANY; i++) {
        MPI_Info_set(info, "passive_sync_mode", i % 3 ? "fair" : "library");
        MPI_Win_allocate(CELLS * 8, 8, i % 2 ? info : MPI_INFO_NULL, MPI_COMM_WORLD, base + i, wins + i);
        *base[i] = 0;
    }
    MPI_Info_free(&info);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < rounds; i++) add(wins[i * 7 % MANY], i % ranks, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    long mine = 0, all;
    for (int i = 0; i < MANY; i++) mine += own_cell(wins[i], base[i]);
    MPI_Reduce(&mine, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!rank) printf("many: %ld too few\n", (long)rounds * ranks - all);
    for (int i = 0; i < MANY; i++) MPI_Win_free(wins + i);
    MPI_Comm_free(&half);
}

/* In each rank, two threads hold locks of one window at the same time, of two targets. */
static MPI_Win of_threads;

static void *adding(void *part)
{
    for (int i = 0; i < rounds; i++) add(of_threads, (rank + (int)(long)part) % ranks, 0);
    return NULL;
}

static void threads(void)
{
    int level;
    long *base;
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE) {
        if (!rank) printf("no threads\n");
        return;
    }
    of_threads = allocated(MPI_INFO_NULL, 1, &base);
    pthread_t thread;
    pthread_create(&thread, NULL, adding, (void *)1);
    adding(NULL);
    pthread_join(thread, NULL);
    rounds *= 2;
    print_sum("threads", of_threads, base);
    MPI_Win_free(&of_threads);
}

/* Holds the locks of 2,000 windows at the same time. */
static void thousands(void)
{
    enum { WINDOWS = 2000 };
    static MPI_Win wins[WINDOWS];
    long cells[CELLS] = {0};
    for (int i = 0; i < WINDOWS; i++)
        MPI_Win_create(cells, sizeof cells, sizeof *cells, MPI_INFO_NULL, MPI_COMM_WORLD, wins + i);
    /* All ranks take them in one order, because otherwise two could wait for each other. */
    for (int i = 0; i < WINDOWS; i++) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, wins[i]);
    long value = -1;
    MPI_Get(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, wins[WINDOWS - 1]);
    MPI_Win_flush(0, wins[WINDOWS - 1]);
    value++;
    MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, wins[WINDOWS - 1]);
    for (int i = WINDOWS; i-- > 0;) MPI_Win_unlock(0, wins[i]);
    rounds = 1;
    print_sum("thousands", wins[0], cells);
    for (int i = 0; i < WINDOWS; i++) MPI_Win_free(wins + i);
}

/* A window whose key says that it is never locked. Epochs without locks must work. */
static void no_locks(void)
{
    long *base, one = rank + 1;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "true");
    MPI_Win win = allocated(info, 1, &base);
    MPI_Info_free(&info);
    MPI_Win_fence(0, win);
    MPI_Put(&one, 1, MPI_LONG, (rank + 1) % ranks, 0, 1, MPI_LONG, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    require(*base == (rank + ranks - 1) % ranks + 1, "the fence did not put");
    MPI_Win_free(&win);
    if (!rank) printf("no_locks\n");
}

/* The holder of a lock ends all ranks, including those that wait for the lock. */
static void aborting(void)
{
    long *base;
    MPI_Win win = allocated(MPI_INFO_NULL, 1, &base);
    if (!rank) add(win, 0, 0);
    if (!rank) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(100000);
    if (!rank) MPI_Abort(MPI_COMM_WORLD, 5);
    for (;;) add(win, 0, 0);
}

/* Fills /dev/shm, which only this job has, so that no file there can get any space. */
static void full(void)
{
    static char zeros[1 << 16];
    int file = open("/dev/shm/filler", O_CREAT | O_WRONLY | O_TRUNC, 0600);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!rank) while (write(file, zeros, sizeof zeros) > 0) {}
    if (!rank) while (write(file, zeros, 1) > 0) {}
    MPI_Barrier(MPI_COMM_WORLD);
    long cells[CELLS] = {0};
    MPI_Win win;
    MPI_Win_create(cells, sizeof cells, sizeof *cells, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (int i = 0; i < rounds; i++) add(win, i % ranks, 0);
    print_sum("full", win, cells);
    MPI_Win_free(&win);
    close(file);
}

int main(int count, char **words)
{
    static const struct scene scenes[] = {
        {"sum", sum}, {"kinds", kinds}, {"together", together}, {"apart", apart},
        {"apart_all", apart_all}, {"progress", progress}, {"others", others},
        {"errors", errors}, {"key", key}, {"many", many},
        {"threads", threads}, {"thousands", thousands}, {"no_locks", no_locks},
        {"aborting", aborting}, {"full", full},
    };
    int level = count > 1 && !strcmp(words[1], "threads") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    MPI_Init_thread(&count, &words, level, &level);
    play(scenes, sizeof scenes / sizeof *scenes, count, words);
}
