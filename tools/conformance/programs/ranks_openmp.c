/* A program whose threads are those of OpenMP's runtime library, which has locks of its own. */
#include <stdio.h>
#include <unistd.h>

int main(void) {
    long sum = 0;
    for (int round = 0; round < 20; round++) {
#pragma omp parallel for num_threads(3) reduction(+ : sum)
        for (int i = 0; i < 30; i++) {
            if (i < 10) usleep(1000);
            sum += i;
        }
    }
    printf("%ld\n", sum);
    return 0;
}
