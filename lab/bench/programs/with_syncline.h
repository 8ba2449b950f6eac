/* Builds a program that uses POSIX mutexes with Syncline's C interface instead: the names of
 * POSIX mutexes are defined as those of a Syncline lock. Included before the program's own text. */
#ifndef WITH_SYNCLINE_H
#define WITH_SYNCLINE_H

#define _GNU_SOURCE

#include <pthread.h>
#include <syncline.h>

static inline int make_free(syncline_gate_t *lock) {
    *lock = (syncline_gate_t)SYNCLINE_GATE_INIT;
    return 0;
}

#define pthread_mutex_t syncline_gate_t
#undef PTHREAD_MUTEX_INITIALIZER
#define PTHREAD_MUTEX_INITIALIZER SYNCLINE_GATE_INIT
#define pthread_mutex_init(lock, attributes) make_free(lock)
#define pthread_mutex_lock syncline_gate_lock
#define pthread_mutex_trylock syncline_gate_trylock
#define pthread_mutex_unlock syncline_gate_unlock

#endif
