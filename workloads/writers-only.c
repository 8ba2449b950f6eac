/* Accounts have reader-writer locks, in case a thread only wants to read a balance. But no thread
 * does: every booking reads the last bookings of its account and adds itself, so it takes the lock
 * as a writer, and pays for the lock's support of readers.
 *
 * Fixed: mutexes. */
#include "workload.h"

enum { ACCOUNTS = 256, HISTORY = 64 };
static const long BOOKINGS = 1200000, PREPARING = 100;

struct account {
    pthread_rwlock_t rwlock;
    pthread_mutex_t mutex;
    long balance;
    unsigned long booked;
    long refused;
    long history[HISTORY];
} __attribute__((aligned(2 * CACHE_LINE)));

static struct account accounts[ACCOUNTS];

enum { LIMIT = 100 };

static inline void add(struct account *account, long amount) {
    long recent = amount;
    for (int i = 0; i < HISTORY; i++) recent += account->history[i];
    if (recent > LIMIT) {
        account->refused++;
    } else {
        account->balance += amount;
        account->history[account->booked++ % HISTORY] = amount;
    }
}

static void book(struct account *account, long amount) {
    pthread_rwlock_wrlock(&account->rwlock); /* FINDING only-writers */
    add(account, amount);
    pthread_rwlock_unlock(&account->rwlock);
}

static void book_under_mutex(struct account *account, long amount) {
    pthread_mutex_lock(&account->mutex);
    add(account, amount);
    pthread_mutex_unlock(&account->mutex);
}

static void *keep_books(void *argument) {
    uint64_t state = seed_of((intptr_t)argument);
    for (long i = 0; i < scaled(BOOKINGS); i++) {
        state = work(state, PREPARING);
        struct account *account = &accounts[state % ACCOUNTS];
        if (fixed)
            book_under_mutex(account, 1);
        else
            book(account, 1);
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    for (int i = 0; i < ACCOUNTS; i++) {
        pthread_rwlock_init(&accounts[i].rwlock, NULL);
        pthread_mutex_init(&accounts[i].mutex, NULL);
    }
    run_threads(keep_books);
    long sum = 0;
    for (int i = 0; i < ACCOUNTS; i++) sum += accounts[i].balance + accounts[i].refused;
    require(sum == threads * scaled(BOOKINGS), "bookings that were made");
    return 0;
}
