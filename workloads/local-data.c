/* A function that formats numbers once had a static buffer, and so a lock. The buffer has since
 * moved to the stack; the lock stayed, and now protects data that no other thread can reach.
 *
 * Fixed: no lock. */
#include "workload.h"

enum { DIGITS = 48 };
static const long NUMBERS = 3000000;

static pthread_mutex_t format_lock = PTHREAD_MUTEX_INITIALIZER;
static long digits_sum[MOST_THREADS];

/* The sum of a number's digits in base 3, from the highest to the lowest. */
static inline unsigned sum_of_digits(uint64_t number) {
    char text[DIGITS];
    unsigned sum = 0;
    int count = 0;
    do {
        text[count++] = (char)('0' + number % 3);
        __asm__ volatile("" : : "r"(text) : "memory");
        number /= 3;
    } while (number > 0);
    for (int i = count - 1; i >= 0; i--) sum += (unsigned)(text[i] - '0');
    return sum;
}

/* In a larger program, many files would call this function. */
__attribute__((noinline)) static unsigned format(uint64_t number) {
    pthread_mutex_lock(&format_lock); /* FINDING local-data-only */
    unsigned sum = sum_of_digits(number);
    pthread_mutex_unlock(&format_lock);
    return sum;
}

static void *print(void *argument) {
    long own = (intptr_t)argument;
    uint64_t state = seed_of(own);
    long sum = 0;
    for (long i = 0; i < scaled(NUMBERS); i++) {
        state = work(state, 20);
        uint64_t number = state % 59049;
        sum += fixed ? sum_of_digits(number) : format(number);
    }
    digits_sum[own] = sum;
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    run_threads(print);
    require(format(59048) == 20, "ten digits of 2");
    for (int t = 0; t < threads; t++) require(digits_sum[t] > scaled(NUMBERS), "digits");
    return 0;
}
