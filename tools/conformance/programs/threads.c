// Threads: create, join in all forms, detach, exit, results, attributes, errors. Also destructors
// of thread-specific data, which take locks after the thread's function has ended: threads ROUNDS.
// The destructors run in this many rounds; glibc makes at most four.
#include "truth.h"
#include <sched.h>
#include <semaphore.h>

enum { MANY = 50 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t first_key, second_key;
static unsigned long destroyed;
static sem_t detached;

static long rounds;

// Sets its own value again, so that it runs again in the next round. The value counts the rounds.
static void destroy_again(void *value) {
    REQUIRE(pthread_mutex_lock(&lock) == 0);
    destroyed++;
    REQUIRE(pthread_mutex_unlock(&lock) == 0);
    if ((long)value < rounds)
        pthread_setspecific(second_key, (char *)value + 1);
}

static void destroy(void *value) {
    (void)value;
    REQUIRE(pthread_mutex_lock(&lock) == 0);
    destroyed++;
    REQUIRE(pthread_mutex_unlock(&lock) == 0);
}

static void *with_data(void *argument) {
    pthread_setspecific(first_key, &lock);
    pthread_setspecific(second_key, (void *)1);
    if ((long)argument % 2)
        pthread_exit(argument);
    return argument;
}

static void *short_sleep(void *argument) {
    sleep_ms(20);
    return argument;
}

static void *post(void *argument) {
    sem_post(&detached);
    return argument;
}

static void *join_me(void *argument) {
    say("join itself: %s", error_name(pthread_join(pthread_self(), NULL)));
    return argument;
}

static void *say_stack(void *argument) {
    pthread_attr_t attributes;
    size_t size, guard;
    void *base;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &base, &size);
    pthread_attr_getguardsize(&attributes, &guard);
    say("stack %zu, guard %zu", size, guard);
    pthread_attr_destroy(&attributes);
    char name[16];
    pthread_getname_np(pthread_self(), name, sizeof name);
    say("name %s", name);
    return argument;
}

static void results(void) {
    pthread_t threads[MANY];
    for (long i = 0; i < MANY; i++)
        REQUIRE(pthread_create(&threads[i], NULL, with_data, (void *)i) == 0);
    for (long i = 0; i < MANY; i++) {
        void *result;
        REQUIRE(pthread_join(threads[i], &result) == 0);
        REQUIRE(result == (void *)i);
    }
    say("results right, %lu destructors ran", destroyed);
}

static void joins(void) {
    pthread_t thread;
    struct timespec soon, later;
    pthread_create(&thread, NULL, short_sleep, NULL);
    say("tryjoin %s", error_name(pthread_tryjoin_np(thread, NULL)));
    soon = after(CLOCK_REALTIME, 1);
    say("timedjoin soon %s", error_name(pthread_timedjoin_np(thread, NULL, &soon)));
    later = after(CLOCK_MONOTONIC, 10000);
    int error = pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &later);
    say("clockjoin later %s", error_name(error));
    pthread_create(&thread, NULL, join_me, NULL);
    REQUIRE(pthread_join(thread, NULL) == 0);
}

static void attributes(void) {
    pthread_t thread;
    pthread_attr_t a;
    pthread_attr_init(&a);
    pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
    REQUIRE(pthread_create(&thread, &a, post, NULL) == 0);
    REQUIRE(sem_wait(&detached) == 0);
    pthread_attr_setdetachstate(&a, PTHREAD_CREATE_JOINABLE);
    pthread_attr_setstacksize(&a, PTHREAD_STACK_MIN);
    REQUIRE(pthread_create(&thread, &a, with_data, NULL) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    pthread_attr_setstacksize(&a, 1 << 20);
    REQUIRE(pthread_create(&thread, &a, say_stack, NULL) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    // This size does not fit into any address space.
    pthread_attr_setstacksize(&a, 1UL << 50);
    say("too large: %s", error_name(pthread_create(&thread, &a, with_data, NULL)));
    pthread_attr_destroy(&a);
    REQUIRE(pthread_create(&thread, NULL, post, NULL) == 0);
    REQUIRE(pthread_detach(thread) == 0);
    REQUIRE(sem_wait(&detached) == 0);
}

int main(int count, char **arguments) {
    REQUIRE(count == 2);
    rounds = atoi(arguments[1]);
    sem_init(&detached, 0, 0);
    pthread_key_create(&first_key, destroy);
    pthread_key_create(&second_key, destroy_again);
    results();
    joins();
    attributes();
    say("%lu destructors ran", destroyed);
    say("@destroyed %lu", destroyed);
    say("@%d 0 MutexLock %p %lu%s", (int)getpid(), (void *)&lock, rounds < 4 ? destroyed : 0,
        rounds < 4 ? "" : "+");
    expect("SemPost", &detached, 2);
    expect("SemWait", &detached, 2);
    expect("SemInit", &detached, 1);
    expect_all("ThreadCreate", MANY + 6);
    pthread_exit(NULL);
}
