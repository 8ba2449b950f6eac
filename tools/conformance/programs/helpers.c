// Threads that the C library makes itself, for timers and for asynchronous input and output. They
// call functions of the program, which use locks.
#include "truth.h"
#include <aio.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>

enum { TICKS = 20, READS = 20 };

static pthread_mutex_t of_timer = PTHREAD_MUTEX_INITIALIZER, of_reads = PTHREAD_MUTEX_INITIALIZER;
static sem_t done;
static atomic_int ticks;
// The number of posts that have returned. It is needed because the C library's threads can't be
// joined.
static atomic_int posted;

static void post(void) {
    sem_post(&done);
    posted++;
}

static void on_tick(union sigval value) {
    (void)value;
    // A tick that was under way when the timer was stopped may still come later.
    if (++ticks > TICKS)
        return;
    pthread_mutex_lock(&of_timer);
    pthread_mutex_unlock(&of_timer);
    post();
}

static void on_read(union sigval value) {
    pthread_mutex_lock(&of_reads);
    (*(int *)value.sival_ptr)++;
    pthread_mutex_unlock(&of_reads);
    post();
}

static void await(int posts) {
    for (int i = 0; i < posts; i++)
        while (sem_wait(&done))
            continue;
}

static void timer(void) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_tick};
    struct itimerspec every = {{0, 2000000}, {0, 2000000}}, never = {{0, 0}, {0, 0}};
    timer_t timer;
    REQUIRE(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    REQUIRE(timer_settime(timer, 0, &every, NULL) == 0);
    await(TICKS);
    timer_settime(timer, 0, &never, NULL);
}

static void reads(void) {
    int file = open("/proc/self/exe", O_RDONLY), count = 0;
    static char buffers[READS][512];
    static struct aiocb requests[READS];
    for (int i = 0; i < READS; i++) {
        requests[i].aio_fildes = file;
        requests[i].aio_buf = buffers[i];
        requests[i].aio_nbytes = sizeof buffers[i];
        requests[i].aio_sigevent.sigev_notify = SIGEV_THREAD;
        requests[i].aio_sigevent.sigev_notify_function = on_read;
        requests[i].aio_sigevent.sigev_value.sival_ptr = &count;
        REQUIRE(aio_read(&requests[i]) == 0);
    }
    await(READS);
    say("%d reads", count);
    expect("MutexLock", &of_reads, READS);
}

int main(void) {
    sem_init(&done, 0, 0);
    timer();
    reads();
    while (posted < TICKS + READS)
        sleep_ms(1);
    expect("MutexLock", &of_timer, TICKS);
    expect("SemWait", &done, TICKS + READS);
    expect("SemPost", &done, TICKS + READS);
    expect("SemInit", &done, 1);
    _exit(0);
}
