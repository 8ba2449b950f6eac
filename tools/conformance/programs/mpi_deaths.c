/* One rank of a window is killed by SIGKILL, and the others continue. They share their state and
 * their verdict in a file, because MPI and its launcher may not work any more after a death.
 *
 *     mpi_deaths SCENE FILE [MICROSECONDS | reader]
 */
#include "../../../cluster/mpi/include/syncline_mpi.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

enum { VICTIM = 1, ROUNDS = 3000 };

/* The contents of the file, zero at first. */
static struct {
    volatile char verdict[MPI_MAX_ERROR_STRING + 32];
    volatile long owner, value, told, done, ready, victim;
} *file;

static int rank, ranks;
/* The longest permitted wait for a lock, in seconds. */
static double longest = 2;
static MPI_Win win;

/* The first verdict remains: what fails after it may only fail because its rank has exited. */
static void require(int good, const char *what)
{
    if (good) return;
    if (!*file->verdict)
        snprintf((char *)file->verdict, sizeof file->verdict, "rank %d: %s", rank, what);
    _exit(3);
}

static void die(int signal)
{
    (void)signal;
    file->ready = 1;
    kill(getpid(), SIGKILL);
}

static int died(int code)
{
    int class = MPI_SUCCESS, length;
    char text[MPI_MAX_ERROR_STRING] = "";
    if (code == MPI_SUCCESS) return 0;
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    require(class == SL_Err_owner_died(), text);
    return 1;
}

/* Takes the lock of part 0. If its last owner has died, makes the data consistent. */
static void take(void)
{
    double start = MPI_Wtime();
    int orphaned = died(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    require(MPI_Wtime() < start + longest, "waited for too long");
    if (orphaned) {
        __atomic_fetch_add(&file->told, 1, __ATOMIC_SEQ_CST);
        require(file->owner == VICTIM + 1 || !file->owner, "a living owner was said to have died");
        file->owner = 0;
        require(SL_Win_consistent(0, win) == MPI_SUCCESS, "not made consistent");
    }
    require(!file->owner, "two owners");
    file->owner = rank + 1;
}

static void give(void)
{
    require(file->owner == rank + 1, "two owners");
    file->owner = 0;
    MPI_Win_unlock(0, win);
}

/* Ends the ranks when all living ranks are done. Rank 0 then writes the verdict; it does not wait
 * for dead ranks. No rank ends before that, because a launcher may end all other ranks if a rank
 * ends without ending MPI. */
static void finish(const char *what)
{
    __atomic_fetch_add(&file->done, 1, __ATOMIC_SEQ_CST);
    while (file->done < ranks - 1) usleep(1000);
    if (!rank && !*file->verdict) strcpy((char *)file->verdict, what);
    while (!*file->verdict) usleep(1000);
    _exit(0);
}

/* After the death, each living rank takes the lock once, and waits until all have done so. */
static void go_on(void)
{
    while (!file->ready) usleep(1000);
    take();
    file->value++;
    give();
    while (file->value < ranks - 1) usleep(1000);
}

/* The holder dies. All other ranks get the lock, whether they wait already or come later, and one
 * of them gets the error. */
static void holder(void)
{
    if (rank == VICTIM) {
        take();
        file->ready = 1;
        usleep(50000);
        die(0);
    }
    go_on();
    require(file->told == 1, "not just one was told");
    /* The other ranks' releases may still be on their way. */
    int taken;
    int code = SL_Win_lock_until(MPI_LOCK_SHARED, 0, 0, MPI_Wtime() + longest, win, &taken);
    require(!died(code) && taken, "not shared");
    MPI_Win_unlock(0, win);
    finish("holder");
}

/* A rank dies while it waits between others, for an exclusive or a shared lock. */
static void middle(int reads)
{
    if (!rank) take();
    MPI_Barrier(MPI_COMM_WORLD);
    if (!rank) {
        usleep(100000 * ranks);
        kill(file->victim, SIGKILL);
        usleep(50000);
        give();
    } else {
        /* The ranks come one after another. */
        usleep(100000 * (rank - 1));
        if (rank == VICTIM && reads) MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        take();
        file->value++;
        give();
    }
    while (file->value < ranks - 2) usleep(1000);
    require(!file->told, "told of a rank that held nothing");
    take();
    give();
    finish("middle");
}

/* A reader of all parts dies. No data is half changed then. */
static void readers(void)
{
    if (rank == VICTIM) {
        MPI_Win_lock_all(0, win);
        die(0);
    }
    go_on();
    require(!file->told, "told of a reader");
    finish("readers");
}

/* Until a rank confirms that the data is consistent, each next owner gets the error too. */
static void told(void)
{
    int taken;
    if (rank == VICTIM) {
        take();
        die(0);
    }
    while (!file->ready) usleep(1000);
    if (rank) finish("");
    for (int i = 0; i < 3; i++) {
        double start = MPI_Wtime();
        int code = SL_Win_lock_until(i == 1 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, start + 60,
                                     win, &taken);
        require(taken && died(code), "not told");
        if (i == 1) require(SL_Win_consistent(0, win) != MPI_SUCCESS, "a reader made it consistent");
        if (i == 2) require(SL_Win_consistent(0, win) == MPI_SUCCESS, "not made consistent");
        MPI_Win_unlock(0, win);
    }
    require(!died(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win)), "told again");
    MPI_Win_unlock(0, win);
    finish("told");
}

/* A rank that only tries, and never waits, gets the lock of a dead rank too. */
static void tries(void)
{
    int taken = 0, told = 0;
    if (rank == VICTIM) {
        take();
        file->ready = 1;
        pause();
    }
    while (!file->ready) usleep(1000);
    if (!rank) {
        double start = MPI_Wtime();
        require(!died(SL_Win_trylock(MPI_LOCK_EXCLUSIVE, 0, 0, win, &taken)) && !taken, "two owners");
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        MPI_Win_unlock(1, win);
        int code = SL_Win_lock_until(MPI_LOCK_SHARED, 0, 0, start + 0.3, win, &taken);
        require(code == MPI_SUCCESS && !taken, "shared beside an owner");
        require(MPI_Wtime() >= start + 0.3, "gave up before the deadline");
        file->ready = 2;
    }
    while (file->ready < 2) usleep(1000);
    if (rank == 2) kill(file->victim, SIGKILL);
    while (!rank && !taken) told = died(SL_Win_trylock(MPI_LOCK_EXCLUSIVE, 0, 0, win, &taken));
    require(rank || told, "not told");
    finish("tries");
}

/* Tries and deadlines, and the errors if they are misused. No rank dies. */
static void limits(void)
{
    int taken = 7, class;
    int code = SL_Win_trylock(MPI_LOCK_SHARED, rank, 0, win, &taken);
    if (code != MPI_SUCCESS) {
        MPI_Error_class(code, &class);
        require(class == MPI_ERR_UNSUPPORTED_OPERATION && !taken, "another error");
        finish("unsupported");
    }
    require(taken == 1, "what is free was not taken");
    MPI_Error_class(SL_Win_trylock(MPI_LOCK_SHARED, rank, 0, win, &taken), &class);
    require(class == MPI_ERR_RMA_SYNC && !taken, "taken twice");
    MPI_Error_class(SL_Win_consistent(rank, win), &class);
    require(class == MPI_ERR_RMA_SYNC, "a reader made it consistent");
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == VICTIM) take();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != VICTIM) {
        double start = MPI_Wtime();
        SL_Win_trylock(MPI_LOCK_EXCLUSIVE, 0, 0, win, &taken);
        require(!taken, "two owners");
        SL_Win_lock_until(MPI_LOCK_SHARED, 0, 0, start + 0.2, win, &taken);
        require(!taken && MPI_Wtime() >= start + 0.2, "shared beside an owner");
        SL_Win_lock_until(MPI_LOCK_SHARED, 2, 0, start, win, &taken);
        require(taken, "what is free was not taken behind the deadline");
        MPI_Win_unlock(2, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == VICTIM) give();
    code = SL_Win_lock_until(MPI_LOCK_EXCLUSIVE, 0, 0, MPI_Wtime() + 60, win, &taken);
    require(code == MPI_SUCCESS && taken, "not taken in a minute");
    MPI_Win_unlock(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    finish("limits");
}

/* A rank dies at a random point: in a section, or while it waits, acquires or releases. */
static void anywhere(long microseconds)
{
    if (rank == VICTIM) {
        struct itimerval after = {.it_value = {.tv_usec = microseconds}};
        signal(SIGALRM, die);
        setitimer(ITIMER_REAL, &after, NULL);
    }
    unsigned seed = rank + microseconds;
    /* Other ranks use the lock all the time, and the machine may be busy. */
    longest = 30;
    /* Continues until the victim dies, and for ROUNDS rounds after that. */
    for (int left = ROUNDS; left; left -= rank != VICTIM && file->ready) {
        int kind = rand_r(&seed) % 4;
        if (kind < 2) {
            take();
            for (int pause = 0; pause < 200; pause++) __asm__ volatile("");
            file->value++;
            give();
        } else if (kind == 2) {
            int code = MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
            require(died(code) || !file->owner, "an owner beside a reader");
            MPI_Win_unlock(0, win);
        } else {
            MPI_Win_lock_all(0, win);
            require(!file->owner || file->owner == VICTIM + 1, "an owner beside a reader of all");
            MPI_Win_unlock_all(win);
        }
    }
    finish("anywhere");
}

int main(int count, char **words)
{
    void *base;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int opened = open(words[2], O_RDWR);
    file = mmap(NULL, sizeof *file, PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
    if (file == MAP_FAILED) return 1;
    if (rank == VICTIM) file->victim = getpid();
    MPI_Win_allocate(512, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    /* MPICH's launcher sends this signal to the other ranks when a rank has died. */
    signal(SIGUSR1, SIG_IGN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(words[1], "holder")) holder();
    if (!strcmp(words[1], "middle")) middle(!strcmp(words[3], "reader"));
    if (!strcmp(words[1], "readers")) readers();
    if (!strcmp(words[1], "told")) told();
    if (!strcmp(words[1], "tries")) tries();
    if (!strcmp(words[1], "limits")) limits();
    if (!strcmp(words[1], "anywhere")) anywhere(atol(words[3]));
    require(0, "no such scene");
}
