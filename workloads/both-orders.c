/* A transfer between two accounts locks the account that pays, then the one that is paid. Money
 * goes out during the day and comes back at night, so accounts are locked in both orders. Day and
 * night are separated by a barrier, so there is no deadlock; without it two threads could wait for
 * each other for ever.
 *
 * Fixed: the account with the lower number is locked first. */
#include "workload.h"

enum { ACCOUNTS = 16 };
static const long DAYS = 12, TRANSFERS = 20000, PREPARING = 600;

static struct {
    pthread_mutex_t lock;
    long balance;
} __attribute__((aligned(2 * CACHE_LINE))) accounts[ACCOUNTS];
static pthread_barrier_t end_of_day;

static void transfer(int from, int to, long amount) {
    int first = fixed && to < from ? to : from, second = first == from ? to : from;
    pthread_mutex_lock(&accounts[first].lock);
    pthread_mutex_lock(&accounts[second].lock); /* FINDING both-orders */
    accounts[from].balance -= amount;
    accounts[to].balance += amount;
    pthread_mutex_unlock(&accounts[second].lock);
    pthread_mutex_unlock(&accounts[first].lock);
}

static void *trade(void *argument) {
    for (long day = 0; day < scaled(DAYS); day++) {
        for (int night = 0; night < 2; night++) {
            uint64_t state = seed_of((intptr_t)argument);
            for (long i = 0; i < TRANSFERS; i++) {
                state = work(state, PREPARING);
                int low = (int)(state % (ACCOUNTS - 1));
                int high = low + 1 + (int)((state >> 32) % (unsigned)(ACCOUNTS - 1 - low));
                transfer(night ? high : low, night ? low : high, 1);
            }
            pthread_barrier_wait(&end_of_day);
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    pthread_barrier_init(&end_of_day, NULL, (unsigned)threads);
    for (int i = 0; i < ACCOUNTS; i++) pthread_mutex_init(&accounts[i].lock, NULL);
    run_threads(trade);
    for (int i = 0; i < ACCOUNTS; i++) require(accounts[i].balance == 0, "what went out came back");
    return 0;
}
