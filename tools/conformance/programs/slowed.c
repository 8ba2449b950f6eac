// Call sites of which it is known how much a delay there delays the whole run.
//
//   slowed locks     Two threads share a lock, and one of them is always in its section. There are
//                    SECTIONS sections in all. A third thread takes its own lock, and ends long
//                    before the others.
//   slowed deep      like `locks`, but two functions take the locks for their callers
//   slowed try       a thread tries a lock again and again, as long as another thread holds it
//   slowed wait      two threads take turns TURNS times, so the end of each wait matters
//   slowed barrier   two threads meet TURNS times, and come at the same time
//   slowed fails     ends with status 3 if anything is delayed
//
// The program prints how long the run would have taken on an idle machine. For that, each thread
// has its own clock, which advances by the thread's processor time and by the time for which it was
// to sleep. A thread that releases a lock or wakes others stores its time in the lock, and the next
// thread's clock is set to at least this time. So other work on the machine changes nothing: the
// time for which a thread waits for a processor is not on its clock.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SECTIONS = 400, TURNS = 200 };

// For each microsecond that a thread really sleeps, its clock advances by this many microseconds.
// The length of the delays is chosen for the real run. So by these clocks, the delays are small
// compared with the run.
enum { SLOWER = 20 };

struct lock {
    pthread_mutex_t mutex;
    double time;
};

static struct lock shared = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static struct lock apart = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t meeting;
static int turn;
static double arrived[2];

// The clock of the calling thread in nanoseconds, and the thread's processor time when that clock
// was last read.
static __thread double clock_now, processor;

static double later(double one, double other) { return one > other ? one : other; }

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    double read = time.tv_sec * 1e9 + time.tv_nsec;
    clock_now += read - processor;
    processor = read;
    return clock_now;
}

static void nap(long microseconds, int times)
{
    struct timespec time = { 0, microseconds * 1000 };
    nanosleep(&time, NULL);
    clock_now += microseconds * 1000.0 * times;
}

// Called while the lock is held. Sets the clock to the time at which the last holder left the lock,
// plus the processor time that this thread has spent since `before`.
static void took(struct lock *lock, double before)
{
    double spent = now() - before;
    clock_now = later(before, lock->time) + spent;
}

static void leaves(struct lock *lock) { lock->time = now(); }

static void *in_turn(void *end)
{
    for (int i = 0; i < SECTIONS / 2; i++) {
        double before = now();
        pthread_mutex_lock(&shared.mutex); // shared
        took(&shared, before);
        nap(100, SLOWER);
        leaves(&shared);
        pthread_mutex_unlock(&shared.mutex);
    }
    *(double *)end = now();
    return NULL;
}

static void *alone(void *end)
{
    for (int i = 0; i < SECTIONS / 4; i++) {
        double before = now();
        pthread_mutex_lock(&apart.mutex); // apart
        took(&apart, before);
        nap(10, 1);
        leaves(&apart);
        pthread_mutex_unlock(&apart.mutex);
    }
    *(double *)end = now();
    return NULL;
}

__attribute__((noinline)) static int inner(struct lock *lock)
{
    volatile char room[40];
    room[0] = 1;
    return pthread_mutex_lock(&lock->mutex) + 1 - room[0];
}

__attribute__((noinline)) static int outer(struct lock *lock)
{
    volatile char room[200];
    room[0] = 0;
    return inner(lock) + room[0];
}

__attribute__((noinline)) static void leave(struct lock *lock)
{
    pthread_mutex_unlock(&lock->mutex);
}

static void *deep_in_turn(void *end)
{
    for (int i = 0; i < SECTIONS / 2; i++) {
        double before = now();
        outer(&shared); // deep shared
        took(&shared, before);
        nap(100, SLOWER);
        leaves(&shared);
        leave(&shared);
    }
    *(double *)end = now();
    return NULL;
}

static void *deep_alone(void *end)
{
    for (int i = 0; i < SECTIONS / 4; i++) {
        double before = now();
        outer(&apart); // deep apart
        took(&apart, before);
        nap(10, 1);
        leaves(&apart);
        leave(&apart);
    }
    *(double *)end = now();
    return NULL;
}

static void *holder(void *end)
{
    pthread_mutex_lock(&shared.mutex);
    pthread_barrier_wait(&meeting);
    nap(50000, SLOWER);
    leaves(&shared);
    pthread_mutex_unlock(&shared.mutex);
    *(double *)end = now();
    return NULL;
}

static void *poller(void *end)
{
    pthread_barrier_wait(&meeting);
    while (pthread_mutex_trylock(&shared.mutex) != 0) // polled
        nap(100, 1);
    pthread_mutex_unlock(&shared.mutex);
    *(double *)end = later(now(), shared.time);
    return NULL;
}

static void *player(void *end)
{
    int mine = *(double *)end != 0;
    pthread_mutex_lock(&shared.mutex);
    for (int i = 0; i < TURNS / 2; i++) {
        double before = now();
        while (turn % 2 != mine)
            pthread_cond_wait(&changed, &shared.mutex); // turn
        took(&shared, before);
        nap(100, SLOWER);
        turn++;
        leaves(&shared);
        pthread_cond_signal(&changed);
    }
    pthread_mutex_unlock(&shared.mutex);
    *(double *)end = now();
    return NULL;
}

static void *meets(void *end)
{
    int mine = *(double *)end != 0;
    for (int i = 0; i < TURNS; i++) {
        nap(100, SLOWER);
        double before = arrived[mine] = now();
        pthread_barrier_wait(&meeting); // meeting
        double spent = now() - before;
        clock_now = later(arrived[0], arrived[1]) + spent;
        pthread_barrier_wait(&meeting);
    }
    *(double *)end = now();
    return NULL;
}

static void run(void *(*first)(void *), void *(*second)(void *), void *(*third)(void *))
{
    pthread_t threads[3];
    double ends[3] = { 0, 1, 2 };
    int count = third != NULL ? 3 : 2;
    pthread_barrier_init(&meeting, NULL, 2);
    pthread_create(&threads[0], NULL, first, &ends[0]);
    pthread_create(&threads[1], NULL, second, &ends[1]);
    if (third != NULL)
        pthread_create(&threads[2], NULL, third, &ends[2]);
    double end = 0;
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        end = later(end, ends[i]);
    }
    printf("took %.0f ns\n", end);
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "locks";
    const char *delay = getenv("SYNCLINE_DELAY");
    if (strcmp(what, "fails") == 0 && delay != NULL && strncmp(delay, "0 ", 2) != 0)
        return 3;
    if (strcmp(what, "try") == 0)
        run(holder, poller, NULL);
    else if (strcmp(what, "wait") == 0)
        run(player, player, NULL);
    else if (strcmp(what, "barrier") == 0)
        run(meets, meets, NULL);
    else if (strcmp(what, "deep") == 0)
        run(deep_in_turn, deep_in_turn, deep_alone);
    else
        run(in_turn, in_turn, alone);
    return 0;
}
