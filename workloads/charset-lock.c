/* A database compares strings by the tables of their character sets. A thread that needs a set
 * asks for it under one lock, which protects the state of all sets: whether they are loaded, and
 * how often each set and each letter was used. (Modelled on MySQL's
 * get_internal_charset.)
 *
 * Fixed: a lock for each set. */
#include "workload.h"

enum { SETS = 64, LETTERS = 256, TEXT = 2048 };
static const long QUERIES = 50000, COMPARING = 2000;

struct charset {
    pthread_mutex_t lock;
    bool loaded;
    unsigned char lower[LETTERS];
    unsigned recent[LETTERS];
    long uses;
} __attribute__((aligned(2 * CACHE_LINE)));

static pthread_mutex_t charset_lock = PTHREAD_MUTEX_INITIALIZER;
static struct charset charsets[SETS];

static void load(struct charset *set) {
    for (int letter = 0; letter < LETTERS; letter++)
        set->lower[letter] = (unsigned char)(letter >= 'A' && letter <= 'Z' ? letter + 32 : letter);
    set->loaded = true;
}

static unsigned compare(struct charset *set, uint64_t text) {
    unsigned weight = 0;
    pthread_mutex_t *lock = fixed ? &set->lock : &charset_lock;
    pthread_mutex_lock(lock); /* FINDING too-much-data */
    if (!set->loaded) load(set);
    for (int i = 0; i < TEXT; i++) {
        unsigned char letter = set->lower[(text >> i % 56) & 255];
        set->recent[letter]++;
        weight = weight * 31 + letter;
    }
    set->uses++;
    pthread_mutex_unlock(lock);
    return weight;
}

static void *query(void *argument) {
    uint64_t state = seed_of((intptr_t)argument);
    for (long i = 0; i < scaled(QUERIES); i++) {
        state = work(state, COMPARING);
        state += compare(&charsets[state % SETS], state) & 1;
    }
    return NULL;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    for (int i = 0; i < SETS; i++) pthread_mutex_init(&charsets[i].lock, NULL);
    run_threads(query);
    long uses = 0;
    for (int i = 0; i < SETS; i++) uses += charsets[i].uses;
    require(uses == threads * scaled(QUERIES), "queries that were answered");
    return 0;
}
