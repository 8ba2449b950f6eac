// Wake-ups after which a thread finds nothing to do, counted by each thread. In the herd, all
// threads are woken, but only one has something to do. There are also repeated waits for other
// reasons: two threads that take turns, waits that time out, and waits with work between them.
#include "truth.h"

enum { HERD = 8, TURNS = 400, PLAYS = 500, TIMEOUTS = 20, JOBS = 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static int turn = -1, waiting;
static unsigned long futile, waits;

static void *stand(void *argument) {
    int me = (int)(long)argument;
    for (int mine = me; mine < TURNS; mine += HERD) {
        pthread_mutex_lock(&lock);
        unsigned long here = 0;
        while (turn != mine) {
            waiting++;
            pthread_cond_wait(&moved, &lock);
            waiting--;
            here++;
        }
        // The last of these wake-ups was the one for this thread's turn.
        futile += here ? here - 1 : 0;
        waits += here;
        turn = -1;
        pthread_mutex_unlock(&lock);
    }
    return argument;
}

// Takes the lock when `wanted` threads are waiting. These are all threads whose turns are not over.
static void lock_when_waiting(int wanted) {
    for (;;) {
        pthread_mutex_lock(&lock);
        if (turn == -1 && waiting == wanted)
            return;
        pthread_mutex_unlock(&lock);
        usleep(50);
    }
}

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t passed[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
static int side;

static void *play(void *argument) {
    int me = (int)(long)argument;
    pthread_mutex_lock(&table);
    for (int i = 0; i < PLAYS; i++) {
        while (side != me)
            pthread_cond_wait(&passed[me], &table);
        side = !me;
        pthread_cond_signal(&passed[!me]);
    }
    pthread_mutex_unlock(&table);
    return argument;
}

static pthread_mutex_t desk = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t job = PTHREAD_COND_INITIALIZER, never = PTHREAD_COND_INITIALIZER;
static int jobs, done;

// Works while it holds the lock, and waits for the next job.
static void *work(void *argument) {
    pthread_mutex_lock(&desk);
    while (done < JOBS) {
        while (done == jobs)
            pthread_cond_wait(&job, &desk);
        for (double end = seconds() + 0.0005; seconds() < end;)
            continue;
        done++;
    }
    pthread_mutex_unlock(&desk);
    return argument;
}

static void run_out_of_time(void) {
    pthread_mutex_lock(&desk);
    for (int i = 0; i < TIMEOUTS; i++) {
        struct timespec soon = after(CLOCK_REALTIME, 0);
        REQUIRE(pthread_cond_timedwait(&never, &desk, &soon) == ETIMEDOUT);
    }
    pthread_mutex_unlock(&desk);
}

int main(void) {
    pthread_t threads[HERD];
    for (long i = 0; i < HERD; i++)
        REQUIRE(pthread_create(&threads[i], NULL, stand, (void *)i) == 0);
    for (int i = 0; i < TURNS; i++) {
        lock_when_waiting(TURNS - i < HERD ? TURNS - i : HERD);
        turn = i;
        pthread_cond_broadcast(&moved);
        pthread_mutex_unlock(&lock);
    }
    for (int i = 0; i < HERD; i++)
        pthread_join(threads[i], NULL);

    for (long i = 0; i < 2; i++)
        REQUIRE(pthread_create(&threads[i], NULL, play, (void *)i) == 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);

    REQUIRE(pthread_create(&threads[0], NULL, work, NULL) == 0);
    for (int i = 0; i < JOBS; i++) {
        sleep_ms(2);
        pthread_mutex_lock(&desk);
        jobs++;
        pthread_cond_signal(&job);
        pthread_mutex_unlock(&desk);
    }
    pthread_join(threads[0], NULL);
    run_out_of_time();

    say("done");
    say("@futile %lu", futile);
    say("@moved %p", (void *)&moved);
    say("@passed0 %p", (void *)&passed[0]);
    say("@passed1 %p", (void *)&passed[1]);
    say("@job %p", (void *)&job);
    say("@never %p", (void *)&never);
    expect("CondWait", &moved, waits);
    expect("CondBroadcast", &moved, TURNS);
    expect("CondTimedwait", &never, TIMEOUTS);
    expect("CondTimedwait.timeouts", &never, TIMEOUTS);
    return 0;
}
