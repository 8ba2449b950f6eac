// Semaphores with and without names: return codes, the bytes of the objects, exact counts.
#include "truth.h"
#include <fcntl.h>
#include <semaphore.h>

enum { ITEMS = 20000 };

static const int masked[] = {-1};

// The functions sem_* report errors through errno.
static int did(const char *what, sem_t *s, int result) {
    int error = result ? errno : 0;
    char label[64];
    sprintf(label, "  %s %s", what, error_name(error));
    say_bytes(label, s, sizeof *s, masked);
    return result;
}

static void one_thread(sem_t *s) {
    struct timespec past = {1, 0}, bad = {0, -1};
    struct timespec later = after(CLOCK_REALTIME, 100000);
    struct timespec later_too = after(CLOCK_MONOTONIC, 100000), soon = after(CLOCK_MONOTONIC, 2);
    int value;
    did("trywait", s, sem_trywait(s));
    did("timedwait past", s, sem_timedwait(s, &past));
    did("timedwait bad", s, sem_timedwait(s, &bad));
    did("clockwait soon", s, sem_clockwait(s, CLOCK_MONOTONIC, &soon));
    did("clockwait cpu", s, sem_clockwait(s, CLOCK_PROCESS_CPUTIME_ID, &soon));
    for (int i = 0; i < 4; i++)
        did("post", s, sem_post(s));
    did("wait", s, sem_wait(s));
    did("trywait", s, sem_trywait(s));
    did("timedwait", s, sem_timedwait(s, &later));
    did("clockwait", s, sem_clockwait(s, CLOCK_MONOTONIC, &later_too));
    sem_getvalue(s, &value);
    say("  value %d", value);
    expect("SemPost", s, 4);
    expect("SemWait", s, 1);
    expect("SemTrywait", s, 1);
    expect("SemTrywait.refused", s, 1);
    expect("SemTimedwait", s, 2);
    expect("SemTimedwait.timeouts", s, 2);
}

static void overflow(void) {
    static sem_t s;
    say("init too much: %d", sem_init(&s, 0, (unsigned)INT_MAX + 1));
    REQUIRE(sem_init(&s, 0, INT_MAX) == 0);
    did("post too many", &s, sem_post(&s));
    expect("SemInit", &s, 1);
}

static sem_t filled, empty;

static void *consume(void *argument) {
    for (int i = 0; i < ITEMS; i++) {
        while (sem_wait(&filled))
            REQUIRE(errno == EINTR);
        REQUIRE(sem_post(&empty) == 0);
    }
    int me = thread_number();
    expect_of(me, "SemWait", &filled, ITEMS);
    expect_of(me, "SemPost", &empty, ITEMS);
    return argument;
}

static void producer_and_consumer(void) {
    REQUIRE(sem_init(&filled, 0, 0) == 0 && sem_init(&empty, 0, 4) == 0);
    pthread_t thread;
    pthread_create(&thread, NULL, consume, NULL);
    for (int i = 0; i < ITEMS; i++) {
        REQUIRE(sem_wait(&empty) == 0);
        REQUIRE(sem_post(&filled) == 0);
    }
    pthread_join(thread, NULL);
    int me = thread_number();
    expect_of(me, "SemWait", &empty, ITEMS);
    expect_of(me, "SemPost", &filled, ITEMS);
    expect("SemInit", &filled, 1);
    expect("SemInit", &empty, 1);
}

int main(void) {
    static sem_t unnamed;
    say("unnamed");
    did("init", &unnamed, sem_init(&unnamed, 0, 0));
    one_thread(&unnamed);
    expect("SemInit", &unnamed, 1);
    did("destroy", &unnamed, sem_destroy(&unnamed));

    char name[64];
    sprintf(name, "/syncline-test-%d", getpid());
    say("named");
    sem_t *named = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
    REQUIRE(named != SEM_FAILED);
    REQUIRE(sem_open(name, O_CREAT | O_EXCL, 0600, 0) == SEM_FAILED);
    say("again: %s", error_name(errno));
    say("same object: %d", sem_open(name, 0) == named);
    one_thread(named);
    REQUIRE(sem_unlink(name) == 0);
    say("close: %d", sem_close(named));

    overflow();
    producer_and_consumer();
    return 0;
}
