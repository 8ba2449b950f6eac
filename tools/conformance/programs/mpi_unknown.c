/* An MPI library that Syncline does not know, and a program that calls it. */
#ifdef LIBRARY

int PMPI_Win_allocate(long size, int unit, void *info, void *comm, void *base, void **win)
{
    *win = info == comm ? base : info;
    return (int)size + unit;
}
int PMPI_Win_lock(int kind, int rank, int assert, void *win)
{
    return kind + rank + assert + (win != 0);
}
int PMPI_Put(void *origin, int count, void *kind, int target, long at, int target_count,
    void *target_kind, void *win)
{
    return count + target + (int)at + target_count + (origin == win) + (kind == target_kind);
}
int PMPI_Win_free(void **win) { return *win != 0; }
int MPI_Win_allocate(long size, int unit, void *info, void *comm, void *base, void **win)
{
    return PMPI_Win_allocate(size, unit, info, comm, base, win);
}
int MPI_Win_lock(int kind, int rank, int assert, void *win)
{
    return PMPI_Win_lock(kind, rank, assert, win);
}
int MPI_Put(void *origin, int count, void *kind, int target, long at, int target_count,
    void *target_kind, void *win)
{
    return PMPI_Put(origin, count, kind, target, at, target_count, target_kind, win);
}
int MPI_Win_free(void **win) { return PMPI_Win_free(win); }

#else

#include <stdio.h>

int MPI_Win_allocate(long, int, void *, void *, void *, void **);
int MPI_Win_lock(int, int, int, void *);
int MPI_Put(void *, int, void *, int, long, int, void *, void *);
int MPI_Win_free(void **);

int main(void)
{
    void *win, *here = &win;
    printf("%d ", MPI_Win_allocate(1000, 8, here, 0, 0, &win));
    printf("%d ", MPI_Win_lock(100, 20, 3, win));
    printf("%d ", MPI_Put(here, 5000, here, 600, 70, 1, here, win));
    printf("%d\n", MPI_Win_free(&win));
}

#endif
