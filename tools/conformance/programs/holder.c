// One thread holds a lock for a long time, in slow_holder(). Another thread waits for it, in
// victim(). Both measure these times with their own clocks, around the calls that are recorded. A
// thread that waits on a condition variable holds nothing meanwhile, so the report must not blame
// sleepy().
#include "truth.h"

enum { ROUNDS = 12, HELD_MS = 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t with_cond = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t woken = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t start;
static double waited, longest, longest_held, in_cond;
static int wake;

__attribute__((noinline)) static void slow_holder(void) {
    pthread_mutex_lock(&lock);
    double began = seconds();
    pthread_barrier_wait(&start);
    sleep_ms(HELD_MS);
    double held = seconds() - began;
    longest_held = held > longest_held ? held : longest_held;
    pthread_mutex_unlock(&lock);
    __asm__ volatile("");
}

__attribute__((noinline)) static void victim(void) {
    pthread_barrier_wait(&start);
    double began = seconds();
    pthread_mutex_lock(&lock);
    double took = seconds() - began;
    waited += took;
    longest = took > longest ? took : longest;
    pthread_mutex_unlock(&lock);
    __asm__ volatile("");
}

static void *holder(void *argument) {
    for (int i = 0; i < ROUNDS; i++) {
        slow_holder();
        pthread_barrier_wait(&start);
    }
    return argument;
}

__attribute__((noinline)) static void sleepy(void) {
    pthread_mutex_lock(&with_cond);
    double began = seconds();
    while (!wake)
        pthread_cond_wait(&woken, &with_cond);
    in_cond = seconds() - began;
    pthread_mutex_unlock(&with_cond);
    __asm__ volatile("");
}

static void *sleeper(void *argument) {
    sleepy();
    return argument;
}

// Takes the mutex while sleepy() waits. The mutex is free each time.
static void beside_a_sleeper(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, sleeper, NULL);
    for (int i = 0; i < 20; i++) {
        sleep_ms(3);
        pthread_mutex_lock(&with_cond);
        pthread_mutex_unlock(&with_cond);
    }
    pthread_mutex_lock(&with_cond);
    wake = 1;
    pthread_cond_signal(&woken);
    pthread_mutex_unlock(&with_cond);
    pthread_join(thread, NULL);
}

int main(void) {
    pthread_t thread;
    pthread_barrier_init(&start, NULL, 2);
    pthread_create(&thread, NULL, holder, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        victim();
        pthread_barrier_wait(&start);
    }
    pthread_join(thread, NULL);
    beside_a_sleeper();
    say("done");
    say("@lock %lu", (unsigned long)&lock);
    say("@with_cond %lu", (unsigned long)&with_cond);
    say("@woken %lu", (unsigned long)&woken);
    say("@waited_us %.0f", waited * 1e6);
    say("@longest_us %.0f", longest * 1e6);
    say("@longest_held_us %.0f", longest_held * 1e6);
    say("@shortest_held_us %d", HELD_MS * 1000);
    say("@in_cond_us %.0f", in_cond * 1e6);
    say("@rounds %d", ROUNDS);
    expect("MutexLock", &lock, 2 * ROUNDS);
    expect("MutexLock", &with_cond, 22);
    return 0;
}
