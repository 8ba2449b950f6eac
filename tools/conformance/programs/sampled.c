// Threads whose activity the recorder does not see: one waits in a loop, one sleeps in a read, one
// works in the kernel, and one works in its own code.
#include "truth.h"
#include <fcntl.h>
#include <sys/resource.h>

static int pipe_ends[2];
static volatile int go;
static volatile unsigned long result;

// The processor time of the calling thread, in microseconds.
static unsigned long cpu_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000ul + t.tv_nsec / 1000;
}

static void *spins(void *argument) {
    unsigned long before = cpu_us();
    while (!go)
        ;
    say("@spun_us %lu", cpu_us() - before);
    return argument;
}

static void *sleeps(void *argument) {
    char byte;
    double began = seconds();
    if (read(pipe_ends[0], &byte, 1) != 1)
        abort();
    say("@slept_us %lu", (unsigned long)((seconds() - began) * 1e6));
    return argument;
}

// Reads so many bytes at a time that most of the time is spent in the kernel.
static void *reads(void *argument) {
    static char bytes[1 << 16];
    int zeros = open("/dev/zero", O_RDONLY);
    if (zeros < 0)
        abort();
    while (!go)
        if (read(zeros, bytes, sizeof bytes) != sizeof bytes)
            abort();
    struct rusage used;
    getrusage(RUSAGE_THREAD, &used);
    say("@in_kernel_us %lu", used.ru_stime.tv_sec * 1000000ul + used.ru_stime.tv_usec);
    return argument;
}

static void works(void) {
    unsigned long before = cpu_us(), sum = 1;
    while (cpu_us() - before < 1000000)
        for (int i = 0; i < 100000; i++) {
            sum = sum * 3 + i;
            __asm__ volatile("" : "+r"(sum));
        }
    result = sum;
}

int main(void) {
    pthread_t threads[3];
    if (pipe(pipe_ends) != 0)
        return 1;
    pthread_create(&threads[0], NULL, spins, NULL);
    pthread_create(&threads[1], NULL, sleeps, NULL);
    pthread_create(&threads[2], NULL, reads, NULL);
    works();
    go = 1;
    if (write(pipe_ends[1], "", 1) != 1)
        return 1;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
