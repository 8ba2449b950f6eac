// Condition variables. The output has the return codes and the bytes of the objects. The counts of
// waits, signals and broadcasts must be exact.
#include "truth.h"

enum { TURNS = 3000, WAITERS = 64, BROADCASTS = 20 };

static const int masked[] = {-1};

static void did(const char *what, pthread_cond_t *c, int result) {
    char label[64];
    sprintf(label, "  %s %s", what, error_name(result));
    say_bytes(label, c, sizeof *c, masked);
}

static void one_thread(void) {
    static pthread_cond_t constant = PTHREAD_COND_INITIALIZER, dynamic, monotonic;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    REQUIRE(pthread_cond_init(&dynamic, NULL) == 0);
    REQUIRE(pthread_cond_init(&monotonic, &attributes) == 0);
    pthread_cond_t *all[] = {&constant, &dynamic, &monotonic};
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&m);
    for (int i = 0; i < 3; i++) {
        pthread_cond_t *c = all[i];
        clockid_t clock = i == 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
        struct timespec past = {1, 0}, bad = {0, -1}, soon = after(clock, 3);
        struct timespec soon_too = after(CLOCK_MONOTONIC, 6);
        say("condition variable %d", i);
        did("signal", c, pthread_cond_signal(c));
        did("broadcast", c, pthread_cond_broadcast(c));
        did("timedwait past", c, pthread_cond_timedwait(c, &m, &past));
        did("timedwait bad", c, pthread_cond_timedwait(c, &m, &bad));
        did("timedwait soon", c, pthread_cond_timedwait(c, &m, &soon));
        did("clockwait soon", c, pthread_cond_clockwait(c, &m, CLOCK_MONOTONIC, &soon_too));
        did("clockwait cpu", c, pthread_cond_clockwait(c, &m, CLOCK_PROCESS_CPUTIME_ID, &soon));
        did("signal", c, pthread_cond_signal(c));
        did("destroy", c, pthread_cond_destroy(c));
        if (i)
            expect("CondInit", c, 1);
        expect("CondSignal", c, 2);
        expect("CondBroadcast", c, 1);
        // A wait that times out is counted as a wait as well.
        expect("CondTimedwait", c, 3);
        expect("CondTimedwait.timeouts", c, 3);
    }
    pthread_mutex_unlock(&m);
    expect("MutexLock", &m, 1);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
static int turn;

static void play(int side) {
    unsigned long waits = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < TURNS; i++) {
        while (turn != side) {
            REQUIRE(pthread_cond_wait(&turned[side], &lock) == 0);
            waits++;
        }
        turn = !side;
        pthread_cond_signal(&turned[!side]);
    }
    pthread_mutex_unlock(&lock);
    int me = thread_number();
    expect_of(me, "CondWait", &turned[side], waits);
    expect_of(me, "CondSignal", &turned[!side], TURNS);
    expect_of(me, "MutexLock", &lock, 1);
}

static void *second_player(void *argument) {
    play(1);
    return argument;
}

static void ping_pong(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, second_player, NULL);
    play(0);
    pthread_join(thread, NULL);
    say("%d turns", TURNS);
}

static pthread_mutex_t crowd = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER, gathered = PTHREAD_COND_INITIALIZER;
static int waiting, generation;
static unsigned long crowd_waits;

static void *stand(void *argument) {
    pthread_mutex_lock(&crowd);
    for (int seen = 0; seen < BROADCASTS; seen++) {
        if (++waiting == WAITERS)
            pthread_cond_signal(&gathered);
        while (generation == seen) {
            REQUIRE(pthread_cond_wait(&opened, &crowd) == 0);
            crowd_waits++;
        }
    }
    pthread_mutex_unlock(&crowd);
    return argument;
}

static void broadcast_to_many(void) {
    pthread_t threads[WAITERS];
    unsigned long waits = 0;
    for (int i = 0; i < WAITERS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, stand, NULL) == 0);
    pthread_mutex_lock(&crowd);
    for (int i = 0; i < BROADCASTS; i++) {
        while (waiting < WAITERS) {
            pthread_cond_wait(&gathered, &crowd);
            waits++;
        }
        waiting = 0;
        generation++;
        pthread_cond_broadcast(&opened);
    }
    pthread_mutex_unlock(&crowd);
    for (int i = 0; i < WAITERS; i++)
        pthread_join(threads[i], NULL);
    say("%d broadcasts to %d", BROADCASTS, WAITERS);
    expect("CondWait", &opened, crowd_waits);
    expect("CondBroadcast", &opened, BROADCASTS);
    expect("CondWait", &gathered, waits);
    expect("CondSignal", &gathered, BROADCASTS);
    expect("MutexLock", &crowd, WAITERS + 1);
}

int main(void) {
    one_thread();
    ping_pong();
    broadcast_to_many();
    return 0;
}
