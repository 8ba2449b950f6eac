// C11 threads and locks. For these, glibc does not call its functions pthread_*.
#include "truth.h"
#include <threads.h>

enum { THREADS = 4, ROUNDS = 20000, TURNS = 2000 };

static mtx_t plain, recursive, timed;
static cnd_t turned;
static unsigned long protected_count;
static int turn;
static tss_t key;
static once_flag once = ONCE_FLAG_INIT;

static void set_up(void) { say("once"); }

static void destroy(void *value) {
    mtx_lock(&recursive);
    *(int *)value = 1;
    mtx_unlock(&recursive);
}

static int work(void *argument) {
    call_once(&once, set_up);
    unsigned long tries = 0, refusals = 0;
    for (int i = 0; i < ROUNDS; i++) {
        REQUIRE(mtx_lock(&plain) == thrd_success);
        protected_count++;
        REQUIRE(mtx_unlock(&plain) == thrd_success);
        int got = mtx_trylock(&plain);
        REQUIRE(got == thrd_success || got == thrd_busy);
        if (got == thrd_success) {
            tries++;
            mtx_unlock(&plain);
        } else {
            refusals++;
        }
    }
    int me = thread_number();
    expect_of(me, "MutexLock", &plain, ROUNDS);
    expect_of(me, "MutexTrylock", &plain, tries);
    expect_of(me, "MutexTrylock.refused", &plain, refusals);
    return *(int *)argument;
}

static int play(void *argument) {
    int side = *(int *)argument;
    unsigned long waits = 0;
    mtx_lock(&timed);
    for (int i = 0; i < TURNS; i++) {
        while (turn != side) {
            REQUIRE(cnd_wait(&turned, &timed) == thrd_success);
            waits++;
        }
        turn = !side;
        i % 2 ? cnd_signal(&turned) : cnd_broadcast(&turned);
    }
    mtx_unlock(&timed);
    int me = thread_number();
    expect_of(me, "CondWait", &turned, waits);
    expect_of(me, "CondSignal", &turned, TURNS / 2);
    expect_of(me, "CondBroadcast", &turned, TURNS / 2);
    expect_of(me, "MutexLock", &timed, 1);
    return side;
}

// Called through a pointer; otherwise the compiler would warn that leave() never returns.
static void (*volatile quit)(int) = thrd_exit;

__attribute__((noinline)) static void leave(int depth, int result) {
    if (depth == 0)
        quit(result);
    else
        leave(depth - 1, result);
    __asm__ volatile("");
}

static int exits_within(void *argument) {
    tss_set(key, argument);
    leave(10, -12345);
    return 0;
}

static void run_two(int (*start)(void *), int count) {
    thrd_t threads[THREADS];
    int numbers[THREADS];
    for (int i = 0; i < count; i++) {
        numbers[i] = i;
        REQUIRE(thrd_create(&threads[i], start, &numbers[i]) == thrd_success);
    }
    for (int i = 0; i < count; i++) {
        int result;
        REQUIRE(thrd_join(threads[i], &result) == thrd_success);
        say("result %d", result);
    }
}

static void one_thread(void) {
    struct timespec past = {1, 0}, later = after(CLOCK_REALTIME, 100000);
    say("recursive: %d %d", mtx_lock(&recursive), mtx_lock(&recursive));
    say("unlock: %d %d", mtx_unlock(&recursive), mtx_unlock(&recursive));
    say("timedlock: %d", mtx_timedlock(&timed, &later));
    say("timedlock held: %d", mtx_timedlock(&timed, &past));
    say("timedwait: %d", cnd_timedwait(&turned, &timed, &past));
    say("unlock: %d", mtx_unlock(&timed));
    expect("MutexTimedlock", &timed, 1);
    expect("MutexTimedlock.timeouts", &timed, 1);
    expect("CondTimedwait", &turned, 1);
    expect("CondTimedwait.timeouts", &turned, 1);
}

int main(void) {
    REQUIRE(mtx_init(&plain, mtx_plain) == thrd_success);
    REQUIRE(mtx_init(&recursive, mtx_plain | mtx_recursive) == thrd_success);
    REQUIRE(mtx_init(&timed, mtx_timed) == thrd_success);
    REQUIRE(cnd_init(&turned) == thrd_success);
    REQUIRE(tss_create(&key, destroy) == thrd_success);
    one_thread();
    run_two(work, THREADS);
    run_two(play, 2);
    int destroyed = 0, result;
    thrd_t thread;
    REQUIRE(thrd_create(&thread, exits_within, &destroyed) == thrd_success);
    REQUIRE(thrd_join(thread, &result) == thrd_success);
    say("exit: result %d, destroyed %d", result, destroyed);
    say("%lu protected", protected_count);
    expect("MutexInit", &plain, 1);
    expect("MutexInit", &recursive, 1);
    expect("MutexInit", &timed, 1);
    expect("CondInit", &turned, 1);
    expect("MutexLock", &recursive, 3);
    expect_all("ThreadCreate", THREADS + 3);
    expect_all("ThreadJoin", THREADS + 3);
    mtx_destroy(&plain);
    return 0;
}
