! A Fortran program that uses the locks of windows through mpif.h, the module mpi (-DMODULE) or the
! module mpi_f08 (-DMPI_F08). It prints the scheme of its windows. All other output must be the same
! under every scheme.
#ifdef MPI_F08
#define WINDOW type(MPI_Win)
#define KEYS type(MPI_Info)
#define REQUEST type(MPI_Request)
#else
#define WINDOW integer
#define KEYS integer
#define REQUEST integer
#endif

program windows
#if defined(MPI_F08)
  use mpi_f08
#elif defined(MODULE)
  use mpi
#endif
  use, intrinsic :: iso_c_binding
  implicit none
#if !defined(MPI_F08) && !defined(MODULE)
  include 'mpif.h'
#endif
  integer, parameter :: cells = 64, rounds = 12
  integer, asynchronous :: own(cells)
  integer, pointer :: part(:)
  integer :: rank, ranks, next, i, error, mine, total, unit, kind
  integer(MPI_ADDRESS_KIND) :: bytes, flavor
  logical :: found
  type(c_ptr) :: base
  WINDOW :: made, allocated
  KEYS :: info
  character(len=64) :: scheme

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  next = mod(rank + 1, ranks)
  unit = 4
  bytes = cells * unit
  own = 0
  call MPI_Win_create(own, bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, made, error)
  call MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, base, allocated, error)
  call c_f_pointer(base, part, [cells])
  part = 0

  call MPI_Win_get_info(allocated, info, error)
  scheme = ' '
  call MPI_Info_get(info, 'passive_sync_mode', 64, scheme, found, error)
  if (rank == 0 .and. found) print '(a)', trim(scheme)
  call MPI_Info_set(info, 'passive_sync_mode', 'no-such-scheme', error)
  call MPI_Win_set_errhandler(allocated, MPI_ERRORS_RETURN, error)
  call MPI_Win_set_info(allocated, info, error)
  call MPI_Error_class(error, kind, error)
  if (kind /= MPI_ERR_INFO_VALUE) print '(a, i0)', 'the class of another error: ', kind
  call MPI_Win_set_errhandler(allocated, MPI_ERRORS_ARE_FATAL, error)
  call MPI_Info_free(info, error)

  call MPI_Win_get_attr(allocated, MPI_WIN_CREATE_FLAVOR, flavor, found, error)
  if (.not. found .or. flavor /= MPI_WIN_FLAVOR_ALLOCATE) print '(a)', 'another flavour'
  call MPI_Barrier(MPI_COMM_WORLD, error)
  do i = 1, rounds
    call add(made, mod(i, ranks))
    call add(allocated, mod(i, ranks))
  end do
  call say('created', made, own)
  call say('allocated', allocated, part)
  call fetch(made)
  call fetch(allocated)
  ! Between locks, there is an epoch of another kind.
  call MPI_Win_fence(0, made, error)
  call MPI_Put(rank, 1, MPI_INTEGER, next, 3_MPI_ADDRESS_KIND, 1, MPI_INTEGER, made, error)
  call MPI_Win_fence(MPI_MODE_NOSUCCEED, made, error)
  call MPI_Win_lock_all(0, made, error)
  call MPI_Get(mine, 1, MPI_INTEGER, next, 3_MPI_ADDRESS_KIND, 1, MPI_INTEGER, made, error)
  call MPI_Win_flush(next, made, error)
  call MPI_Win_unlock_all(made, error)
  if (mine /= rank) print '(a)', 'the fence did not put'
  call MPI_Win_free(allocated, error)
  call MPI_Win_free(made, error)
  call MPI_Finalize(error)

contains

  ! Adds one to a rank's first cell, under the exclusive lock.
  subroutine add(win, target)
    WINDOW, intent(in) :: win
    integer, intent(in) :: target
    integer, asynchronous :: value
    call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win, error)
    call MPI_Get(value, 1, MPI_INTEGER, target, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, error)
    call MPI_Win_flush(target, win, error)
    value = value + 1
    call MPI_Put(value, 1, MPI_INTEGER, target, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, error)
    call MPI_Win_unlock(target, win, error)
  end subroutine

  ! The sum over all ranks' first cells.
  subroutine say(name, win, cell)
    character(len=*), intent(in) :: name
    WINDOW, intent(in) :: win
    integer, volatile :: cell(:)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win, error)
    mine = cell(1)
    call MPI_Win_unlock(rank, win, error)
    call MPI_Reduce(mine, total, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
    if (rank == 0) print '(a, a, i0, a)', name, ': ', rounds * ranks - total, ' too few'
  end subroutine

  ! Atomic operations and a request, which an unlock completes.
  subroutine fetch(win)
    WINDOW, intent(in) :: win
    REQUEST :: request
    integer, asynchronous :: one, old
    integer(MPI_ADDRESS_KIND) :: at
    one = 1
    old = -1
    at = 1
    call MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win, error)
    call MPI_Accumulate(one, 1, MPI_INTEGER, 0, at, 1, MPI_INTEGER, MPI_SUM, win, error)
    call MPI_Win_unlock(0, win, error)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win, error)
    call MPI_Fetch_and_op(one, old, MPI_INTEGER, 0, at, MPI_NO_OP, win, error)
    call MPI_Win_flush_all(win, error)
    call MPI_Rput(one, 1, MPI_INTEGER, 0, at + 1, 1, MPI_INTEGER, win, request, error)
    call MPI_Win_unlock(0, win, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    if (old /= ranks) print '(a, i0)', 'fetched ', old
  end subroutine
end program
