// Critical sections whose accesses a second tracer (valgrind) sees too. The program is linked to
// fixed addresses. All its data is in one object and all code of the critical sections is in one
// section of the file, so addresses distinguish both from the C library's. There is one thread,
// because valgrind runs only one thread at a time.
#include "truth.h"

#define GUARDED __attribute__((section("guarded"), noinline))
extern char __start_guarded[], __stop_guarded[];

enum { SLOTS = 64, ENTRIES = 256, VALUE = 48, NODES = 200, SIDE = 12, TEXT = 300 };

struct entry {
    struct entry *next;
    unsigned key, hits;
    char value[VALUE];
};

struct node {
    struct node *left, *right;
    short key;
    unsigned char seen;
};

static struct {
    struct entry *slots[SLOTS], entries[ENTRIES];
    struct node nodes[NODES], *root;
    int used;
    double a[SIDE][SIDE], b[SIDE][SIDE], c[SIDE][SIDE];
    char text[TEXT], copy[TEXT];
    unsigned long sum;
} data __attribute__((aligned(64)));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long state = 88172645463325252;

static unsigned random_number(unsigned below) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (unsigned)(state >> 11) % below;
}

// A hash table with chains: it follows pointers, and copies values.
GUARDED static void table(unsigned key, char *value) {
    pthread_mutex_lock(&lock);
    struct entry *entry = data.slots[key % SLOTS];
    while (entry && entry->key != key) entry = entry->next;
    if (!entry) {
        entry = &data.entries[data.used++];
        entry->key = key;
        entry->next = data.slots[key % SLOTS];
        data.slots[key % SLOTS] = entry;
        memcpy(entry->value, value, VALUE);
    }
    entry->hits++;
    memcpy(value, entry->value, VALUE);
    pthread_mutex_unlock(&lock);
}

// A binary tree: it has recursion, and fields of several sizes.
GUARDED static struct node *insert(struct node *node, short key) {
    if (!node) {
        node = &data.nodes[data.used++];
        node->key = key;
    } else if (key < node->key)
        node->left = insert(node->left, key);
    else if (key > node->key)
        node->right = insert(node->right, key);
    node->seen++;
    return node;
}

GUARDED static void tree(short key) {
    pthread_mutex_lock(&lock);
    data.root = insert(data.root, key);
    pthread_mutex_unlock(&lock);
}

// Vectors, string instructions, an atomic addition, and a compare-and-swap that fails.
GUARDED static void numbers(unsigned row, unsigned length) {
    pthread_mutex_lock(&lock);
    for (int column = 0; column < SIDE; column++) {
        double sum = 0;
        for (int i = 0; i < SIDE; i++) sum += data.a[row][i] * data.b[i][column];
        data.c[row][column] = sum;
    }
    char *to = data.copy, *from = data.text;
    unsigned long count = length;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count)::"memory");
    to = data.text + length, count = (TEXT - length) / 8;
    __asm__ volatile("rep stosq" : "+D"(to), "+c"(count) : "a"(0x2020202020202020) : "memory");
    __atomic_fetch_add(&data.sum, length, __ATOMIC_SEQ_CST);
    unsigned long expected = ~0ul;
    __atomic_compare_exchange_n(&data.sum, &expected, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    __asm__ volatile("pushfq; pop %0" : "=r"(count));
    pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv) {
    char value[VALUE] = "a value";
    if (argc != 2) return 2;
    say("@data %lu", (unsigned long)&data);
    say("@data_end %lu", (unsigned long)(&data + 1));
    say("@lock %lu", (unsigned long)&lock);
    say("@code %lu", (unsigned long)__start_guarded);
    say("@code_end %lu", (unsigned long)__stop_guarded);
    for (int section = 0; section < 150; section++) {
        if (strcmp(argv[1], "table") == 0)
            table(random_number(ENTRIES), value);
        else if (strcmp(argv[1], "tree") == 0)
            tree((short)random_number(NODES));
        else
            numbers(random_number(SIDE), random_number(TEXT));
    }
    return 0;
}
