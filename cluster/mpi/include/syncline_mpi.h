/* Syncline's functions for MPI windows beyond the standard.
 *
 * A program has these functions if `syncline mpi` runs it, or if it is linked with
 * libsyncline_mpi.so in front of the MPI library. They are declared weak, so a program also runs
 * without either, but must then check whether they exist:
 *
 *     if (SL_Win_trylock) ...
 *
 * A window's scheme is its Info key passive_sync_mode. A scheme that does not exist, or that is not the
 * same on all ranks, is the error MPI_ERR_INFO_VALUE of the call that creates the window.
 *
 * Windows support all of them under the schemes full-support, best-effort, writer-precedence,
 * reader-precedence and fair, and under hierarchical on one host. Under another scheme SL_Win_trylock
 * and SL_Win_lock_until return MPI_ERR_UNSUPPORTED_OPERATION, unless MPI_MODE_NOCHECK is given. With the
 * MPI library's own locks all functions on windows return it. Errors reach the window's error handler,
 * as with MPI's own functions.
 */
#ifndef SYNCLINE_MPI_H
#define SYNCLINE_MPI_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* MPI_Win_lock, if the lock can be had at once. *taken is 1 if the lock is then held, else 0. */
__attribute__((weak)) int SL_Win_trylock(int lock_type, int rank, int assert, MPI_Win win, int *taken);

/* MPI_Win_lock, waiting at most until MPI_Wtime() is `deadline`. *taken is 1 if the lock is then held,
 * else 0. */
__attribute__((weak)) int SL_Win_lock_until(int lock_type, int rank, int assert, double deadline,
                                            MPI_Win win, int *taken);

/* The error class of MPI_Win_lock, SL_Win_trylock and SL_Win_lock_until after a rank has died that held
 * the exclusive lock. The lock is held nevertheless, *taken is 1, and its data may be half changed.
 * Each later owner gets this error until one calls SL_Win_consistent. */
__attribute__((weak)) int SL_Err_owner_died(void);

/* The error class of MPI_Win_lock, and of all calls that acquire a lock, if the part belongs to a rank
 * on another host that has died, can't be reached any more, or does not serve the window. The lock is
 * not held. */
__attribute__((weak)) int SL_Err_rank_gone(void);

/* Declares the data under the lock consistent. The caller must hold the exclusive lock; otherwise the
 * error is MPI_ERR_RMA_SYNC. */
__attribute__((weak)) int SL_Win_consistent(int rank, MPI_Win win);

#ifdef __cplusplus
}
#endif

#endif
