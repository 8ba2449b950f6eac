// A library that is opened at run time. It uses locks in its constructor, in a function, in a
// thread, and in its destructor. If it is compiled with -fopenmp, it uses OpenMP too.
#include "truth.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *argument) {
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    return argument;
}

__attribute__((constructor)) static void opened(void) { work(NULL); }

__attribute__((destructor)) static void closed(void) { work(NULL); }

// Returns how many critical sections of OpenMP it has entered; 0 without OpenMP. Stores the address
// of its own lock in `address`.
int plugin_run(void **address) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    work(NULL);
    pthread_join(thread, NULL);
    *address = &lock;
#ifdef _OPENMP
    static int count;
    count = 0;
#pragma omp parallel num_threads(3)
    for (int i = 0; i < 100; i++) {
#pragma omp critical(of_plugin)
        count++;
    }
    return count;
#else
    return 0;
#endif
}
