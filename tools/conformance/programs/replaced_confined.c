// A program that can't map memory, as in a sandbox, either from its start or after its first lock.
// Its locks must work. The first argument says what is refused, `mmap` or `more`. The second
// argument says from when, `first` or `later`.
#include "truth.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

enum { OBJECTS = 3000, THREADS = 3, ROUNDS = 12000 };
static pthread_mutex_t mutexes[OBJECTS];
static pthread_rwlock_t rwlocks[OBJECTS];
static pthread_spinlock_t spins[OBJECTS];
static long added[OBJECTS], written[OBJECTS], spun[OBJECTS];
static char stacks[THREADS][1 << 18] __attribute__((aligned(4096)));

static void *use(void *some) {
    for (int i = 0; i < ROUNDS; i++) {
        int one = i % (some ? OBJECTS : 10);
        REQUIRE(pthread_mutex_lock(&mutexes[one]) == 0);
        added[one]++;
        REQUIRE(pthread_mutex_unlock(&mutexes[one]) == 0);
        REQUIRE(pthread_rwlock_rdlock(&rwlocks[one]) == 0);
        long seen = written[one];
        REQUIRE(pthread_rwlock_unlock(&rwlocks[one]) == 0);
        REQUIRE(pthread_rwlock_wrlock(&rwlocks[one]) == 0);
        REQUIRE(written[one] >= seen);
        written[one]++;
        REQUIRE(pthread_rwlock_unlock(&rwlocks[one]) == 0);
        REQUIRE(pthread_spin_lock(&spins[one]) == 0);
        spun[one]++;
        REQUIRE(pthread_spin_unlock(&spins[one]) == 0);
    }
    return NULL;
}

#define REFUSE(number)                                                                             \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),                                             \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))

int main(int count, char **arguments) {
    REQUIRE(count == 3);
    struct sock_filter no_mmap[] = {NUMBER, REFUSE(SYS_mmap), ALLOW};
    struct sock_filter no_more[] = {NUMBER, REFUSE(SYS_mmap), REFUSE(SYS_mprotect), ALLOW};
    struct sock_fprog filter = {sizeof no_mmap / sizeof *no_mmap, no_mmap};
    if (arguments[1][1] == 'o')
        filter = (struct sock_fprog){sizeof no_more / sizeof *no_more, no_more};
    for (int i = 0; i < OBJECTS; i++)
        pthread_spin_init(&spins[i], PTHREAD_PROCESS_PRIVATE);
    if (arguments[2][0] == 'l')
        use(NULL);
    REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        REQUIRE(pthread_attr_setstack(&attributes, stacks[i], sizeof stacks[i]) == 0);
        REQUIRE(pthread_create(&threads[i], &attributes, use, &threads) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    long sums[3] = {0};
    for (int i = 0; i < OBJECTS; i++) {
        sums[0] += added[i];
        sums[1] += written[i];
        sums[2] += spun[i];
        REQUIRE(pthread_mutex_destroy(&mutexes[i]) == 0);
        REQUIRE(pthread_rwlock_destroy(&rwlocks[i]) == 0);
    }
    say("%ld %ld %ld", sums[0], sums[1], sums[2]);
    return 0;
}
