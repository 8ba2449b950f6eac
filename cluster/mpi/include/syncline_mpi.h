/* Syncline's functions for MPI windows beyond the standard.
 *
 * A program has these functions if `syncline mpi` runs it, or if it is linked with
 * libsyncline_mpi.so in front of the MPI library. The functions are declared weak, so a program
 * also runs without them, but must check whether they exist:
 *
 *     if (SL_Win_trylock) ...
 *
 * The Info key passive_sync_mode names a window's lock scheme. If the scheme does not exist, or is not
 * the same on all ranks, the call that creates the window returns MPI_ERR_INFO_VALUE.
 *
 * Windows support all these functions under the schemes full-support, best-effort, writer-precedence,
 * reader-precedence and fair, and under hierarchical if all ranks are on one host. Under other schemes
 * SL_Win_trylock and SL_Win_lock_until return MPI_ERR_UNSUPPORTED_OPERATION, unless MPI_MODE_NOCHECK is
 * given. If a window has the MPI library's own locks, all functions on it return this error. Errors
 * reach the window's error handler, as with MPI's own functions.
 */
#ifndef SYNCLINE_MPI_H
#define SYNCLINE_MPI_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Like MPI_Win_lock, but does not wait. *taken becomes 1 if the lock is held afterwards, else 0. */
__attribute__((weak)) int SL_Win_trylock(int lock_type, int rank, int assert, MPI_Win win, int *taken);

/* Like MPI_Win_lock, but waits at most until MPI_Wtime() is `deadline`. *taken becomes 1 if the lock is
 * held afterwards, else 0. */
__attribute__((weak)) int SL_Win_lock_until(int lock_type, int rank, int assert, double deadline,
                                            MPI_Win win, int *taken);

/* The error class of MPI_Win_lock, SL_Win_trylock and SL_Win_lock_until if a rank has died while it held
 * the exclusive lock. Even so, the caller now holds the lock, and *taken is 1. The data under the lock
 * may be half changed. Each later owner gets this error until one of them calls SL_Win_consistent. */
__attribute__((weak)) int SL_Err_owner_died(void);

/* The error class of all calls that acquire the lock of a part whose rank is on another host, if that
 * rank has died, can't be reached any more, or does not serve the window. The lock is not held. */
__attribute__((weak)) int SL_Err_rank_gone(void);

/* Declares that the data under the lock is consistent again. The caller must hold the exclusive lock;
 * otherwise the error is MPI_ERR_RMA_SYNC. */
__attribute__((weak)) int SL_Win_consistent(int rank, MPI_Win win);

#ifdef __cplusplus
}
#endif

#endif
