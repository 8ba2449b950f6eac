// A program that has its own functions in place of the C library's: for the allocator, files,
// memory, the loader and destructors. Each of them takes the program's only lock. So if a lock
// function calls one of them while the thread takes this lock or holds it, the thread waits for
// ever.
//
// With the argument `strict`, each of these functions prints a message and ends the program if a
// lock function calls it. Compiled with LIBRARY, this is a library whose constructor takes the
// lock.
#include "truth.h"
#include <dlfcn.h>
#include <link.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <poll.h>

#ifdef LIBRARY
extern "C" void in_constructor(void);
__attribute__((constructor)) static void constructor(void) { in_constructor(); }
#else

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool strict;
static __thread int in_lock_function;

// A lock function of the C library. It must call none of this program's functions.
#define LOCKING(call) (in_lock_function++, REQUIRE_RAW((call) == 0), in_lock_function--)
#define REQUIRE_RAW(condition) ((condition) ? (void)0 : end(#condition))

static long raw(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10),
                     "r"(r8), "r"(r9) : "rcx", "r11", "memory");
    return result;
}

static void end(const char *why) {
    raw(SYS_write, 1, (long)why, strlen(why));
    raw(SYS_write, 1, (long)" failed or called from a lock function\n", 39);
    raw(SYS_exit_group, 1);
}

static void take_lock(const char *name) {
    if (strict && in_lock_function)
        end(name);
    LOCKING(pthread_mutex_lock(&lock));
    LOCKING(pthread_mutex_unlock(&lock));
}

static long checked(long result) {
    if (result < 0 && result > -4096) {
        errno = -result;
        return -1;
    }
    return result;
}

#define CALL(name, ...) (take_lock(#name), checked(raw(SYS_##name, __VA_ARGS__)))

extern "C" {
// The allocator. It never uses memory again.
static char arena[64 << 20] __attribute__((aligned(4096)));
static size_t used;

static void *take(size_t size, size_t alignment) {
    if (strict && in_lock_function)
        end("malloc");
    LOCKING(pthread_mutex_lock(&lock));
    size_t start = (used + 16 + alignment - 1) & ~(alignment - 1);
    used = start + size;
    REQUIRE_RAW(used <= sizeof arena);
    memcpy(arena + start - 8, &size, 8);
    LOCKING(pthread_mutex_unlock(&lock));
    return arena + start;
}

void *malloc(size_t size) { return take(size, 16); }
void free(void *block) { if (block) take_lock("free"); }
void *calloc(size_t count, size_t size) { return take(count * size, 16); }
void *memalign(size_t alignment, size_t size) { return take(size, alignment < 16 ? 16 : alignment); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **block, size_t alignment, size_t size) {
    *block = memalign(alignment, size);
    return 0;
}
void *realloc(void *old, size_t size) {
    void *block = take(size, 16);
    size_t before = 0;
    if (old)
        memcpy(&before, (char *)old - 8, 8);
    return memcpy(block, old ? old : block, before < size ? before : size);
}

// System calls.
int close(int fd) { return CALL(close, fd); }
int open(const char *path, int flags, ...) { return CALL(open, (long)path, flags, 0600); }
int open64(const char *path, int flags, ...) { return CALL(open, (long)path, flags, 0600); }
int openat(int at, const char *path, int flags, ...) { return CALL(openat, at, (long)path, flags, 0600); }
ssize_t read(int fd, void *to, size_t size) { return CALL(read, fd, (long)to, size); }
ssize_t write(int fd, const void *from, size_t size) { return CALL(write, fd, (long)from, size); }
ssize_t readlink(const char *path, char *to, size_t size) { return CALL(readlink, (long)path, (long)to, size); }
void *mmap(void *at, size_t size, int access, int flags, int fd, off_t offset) {
    return (void *)CALL(mmap, (long)at, size, access, flags, fd, offset);
}
void *mmap64(void *at, size_t size, int access, int flags, int fd, off_t offset) {
    return mmap(at, size, access, flags, fd, offset);
}
int munmap(void *at, size_t size) { return CALL(munmap, (long)at, size); }
int madvise(void *at, size_t size, int advice) { return CALL(madvise, (long)at, size, advice); }
int mprotect(void *at, size_t size, int access) { return CALL(mprotect, (long)at, size, access); }
int ftruncate(int fd, off_t size) { return CALL(ftruncate, fd, size); }
pid_t getpid(void) { return CALL(getpid, 0); }
pid_t gettid(void) { return CALL(gettid, 0); }
int getrlimit(__rlimit_resource_t what, struct rlimit *to) { return CALL(getrlimit, what, (long)to); }
ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long n, const struct iovec *from,
                         unsigned long m, unsigned long flags) {
    return CALL(process_vm_readv, pid, (long)to, n, (long)from, m, flags);
}
int pthread_sigmask(int how, const sigset_t *set, sigset_t *before) {
    return -CALL(rt_sigprocmask, how, (long)set, (long)before, 8);
}

// The environment, the loader and destructors.
char *getenv(const char *name) {
    take_lock("getenv");
    size_t length = strlen(name);
    for (char **entry = environ; entry && *entry; entry++)
        if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=')
            return *entry + length + 1;
    return NULL;
}

// The C library's function in whose place ours is called.
static void *behind(const char *name) {
    void *found = NULL;
    const char *versions[] = {"GLIBC_2.34", "GLIBC_2.18", "GLIBC_2.2.5"};
    for (const char *version : versions)
        found = found ? found : dlvsym(RTLD_NEXT, name, version);
    REQUIRE_RAW(found);
    return found;
}
#define BEHIND(name) (take_lock(#name), (decltype(&name))behind(#name))

void *dlsym(void *handle, const char *name) noexcept { return BEHIND(dlsym)(handle, name); }
void *dlopen(const char *path, int flags) noexcept { return BEHIND(dlopen)(path, flags); }
int dl_iterate_phdr(int (*each)(struct dl_phdr_info *, size_t, void *), void *argument) {
    return BEHIND(dl_iterate_phdr)(each, argument);
}
int pthread_key_create(pthread_key_t *key, void (*destructor)(void *)) noexcept {
    return BEHIND(pthread_key_create)(key, destructor);
}
int pthread_setspecific(pthread_key_t key, const void *value) noexcept {
    return BEHIND(pthread_setspecific)(key, value);
}
int __cxa_thread_atexit_impl(void (*)(void *), void *, void *);
int __cxa_thread_atexit(void (*destructor)(void *), void *object, void *library) noexcept {
    take_lock("__cxa_thread_atexit");
    return __cxa_thread_atexit_impl(destructor, object, library);
}
}

struct Local {
    Local() { take_lock("a constructor"); }
    ~Local() { take_lock("a destructor"); }
};
static thread_local Local local;
static pthread_key_t key;

static int visit(struct dl_phdr_info *, size_t, void *) {
    take_lock("a callback of the loader");
    return 0;
}

// A thread that uses functions that take the lock. Destructors use them too, at the thread's end.
static void *work(void *argument) {
    take_lock("a thread");
    (void)&local;
    REQUIRE(pthread_setspecific(key, arena) == 0);
    free(malloc(100));
    dl_iterate_phdr(visit, NULL);
    return argument;
}

static void thread(void *(*function)(void *)) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, function, NULL) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
}

// The first function that runs in a thread that the C library itself has made.
static volatile int fired;
static void fire(union sigval) {
    work(NULL);
    fired = 1;
}
static void timer(void) {
    struct sigevent event = {};
    event.sigev_notify = SIGEV_THREAD;
    event.sigev_notify_function = fire;
    timer_t timer;
    REQUIRE(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    struct itimerspec soon = {{0, 0}, {0, 1}};
    REQUIRE(timer_settime(timer, 0, &soon, NULL) == 0);
    while (!fired)
        sleep_ms(1);
}

// Forks while holding the lock, like a program that keeps its allocator consistent. The child
// begins to work before it releases the lock.
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static void before(void) { LOCKING(pthread_mutex_lock(&lock)); }
static void after_in_parent(void) { LOCKING(pthread_mutex_unlock(&lock)); }
static void after_in_child(void) {
    LOCKING(pthread_mutex_lock(&other));
    LOCKING(pthread_mutex_unlock(&other));
    LOCKING(pthread_mutex_unlock(&lock));
}
static void fork_and(void (*action)(void)) {
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        action();
        _exit(0);
    }
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
}
static void in_child(void) {
    thread(work);
    take_lock("a child");
}

// This thread holds the program's lock. Another thread holds the loader's lock and waits for the
// program's lock. Now this thread calls lock functions that were not called before.
static const char *library;
static volatile bool in_library, locked;
extern "C" void in_constructor(void) {
    in_library = true;
    while (!locked)
        sched_yield();
    take_lock("a library's constructor");
}
static void *open_library(void *argument) {
    REQUIRE(dlopen(library, RTLD_NOW));
    return argument;
}
static void for_the_first_time(void) {
    static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    pthread_spinlock_t spin;
    pthread_mutex_t mutex;
    sem_t semaphore;
    LOCKING(pthread_rwlock_rdlock(&rwlock));
    LOCKING(pthread_rwlock_unlock(&rwlock));
    LOCKING(pthread_rwlock_trywrlock(&rwlock));
    LOCKING(pthread_rwlock_unlock(&rwlock));
    LOCKING(pthread_spin_init(&spin, 0));
    LOCKING(pthread_spin_lock(&spin));
    LOCKING(pthread_spin_unlock(&spin));
    LOCKING(pthread_mutex_init(&mutex, NULL));
    LOCKING(pthread_mutex_trylock(&mutex));
    LOCKING(pthread_mutex_unlock(&mutex));
    LOCKING(sem_init(&semaphore, 0, 1));
    LOCKING(sem_wait(&semaphore));
    LOCKING(sem_post(&semaphore));
    LOCKING(pthread_cond_signal(&cond));
    LOCKING(pthread_cond_broadcast(&cond));
}
static void beside_the_loader(void) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, open_library, NULL) == 0);
    while (!in_library)
        sched_yield();
    LOCKING(pthread_mutex_lock(&lock));
    locked = true;
    for_the_first_time();
    LOCKING(pthread_mutex_unlock(&lock));
    REQUIRE(pthread_join(thread, NULL) == 0);
}

int main(int, char **arguments) {
    library = arguments[1];
    strict = arguments[2] && strcmp(arguments[2], "strict") == 0;
    REQUIRE(pthread_key_create(&key, [](void *) { take_lock("a key's destructor"); }) == 0);
    thread(work);
    timer();
    REQUIRE(pthread_atfork(before, after_in_parent, after_in_child) == 0);
    fork_and(in_child);
    beside_the_loader();
    fork_and(in_child);
    say("done");
}
#endif
