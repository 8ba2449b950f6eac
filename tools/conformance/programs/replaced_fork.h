// The locks that replaced_fork_library.c holds during each fork.
#pragma once
#include "truth.h"

extern pthread_mutex_t plain;
extern pthread_mutex_t recursive;
extern pthread_rwlock_t shelf;
extern pthread_spinlock_t pin;
