/* What Syncline has for windows of MPI beyond the standard.
 *
 * The functions are there in a program that `syncline mpi` runs, or that is linked with
 * libsyncline_mpi.so in front of the MPI library. They are declared weak, so that a program runs
 * without both as well; it has to look then:
 *
 *     if (SL_Win_trylock) ...
 *
 * Windows have them all under the schemes full-support, best-effort, writer-precedence,
 * reader-precedence and fair, and hierarchical on one host. Under another scheme, and with the MPI
 * library's own locks, they are MPI_ERR_UNSUPPORTED_OPERATION. Errors reach the window's error handler,
 * as with MPI's own functions.
 */
#ifndef SYNCLINE_MPI_H
#define SYNCLINE_MPI_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* MPI_Win_lock, if that is possible at once. *taken is 1 if the lock is held then, else 0. */
__attribute__((weak)) int SL_Win_trylock(int lock_type, int rank, int assert, MPI_Win win, int *taken);

/* MPI_Win_lock, waiting at most until MPI_Wtime() is `deadline`. *taken is 1 if the lock is held then,
 * else 0. */
__attribute__((weak)) int SL_Win_lock_until(int lock_type, int rank, int assert, double deadline,
                                            MPI_Win win, int *taken);

/* The error class of MPI_Win_lock, SL_Win_trylock and SL_Win_lock_until where a rank has died that held
 * the exclusive lock. The lock is held all the same, *taken is 1, and what it protects may be half
 * done. Each next owner is told, until one says SL_Win_consistent. */
__attribute__((weak)) int SL_Err_owner_died(void);

/* The error class of MPI_Win_lock, and of whatever acquires a lock, where the part belongs to a rank on
 * another host that has died, or can't be reached any more. The lock is not held. */
__attribute__((weak)) int SL_Err_rank_gone(void);

/* Says that what the lock protects is as it should be. The exclusive lock is held: else it is
 * MPI_ERR_RMA_SYNC. */
__attribute__((weak)) int SL_Win_consistent(int rank, MPI_Win win);

#ifdef __cplusplus
}
#endif

#endif
