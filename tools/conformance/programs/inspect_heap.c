// Sections that touch blocks of the heap whose places in memory follow from how glibc's allocator cuts
// them from the top of its heap: blocks next to each other, blocks over what was freed, blocks that
// grow where they are. Each line says which block a section's word lies in:
//
//   @case NAME LOCK ADDRESS START SIZE    START 0: no block
#include "truth.h"

#include <stdint.h>

enum { CASES = 16 };

// Too large for the lists of freed blocks that are handed out again as they are.
enum { BLOCK = 2000, SMALL = 1104, HEADER = 16, PAGE = 4096 };

static pthread_mutex_t locks[CASES];
static int cases;

// An address: what becomes of the block behind it is the subject here.
typedef uintptr_t place;

__attribute__((noinline)) static place allocate(size_t size) {
    return (place)malloc(size);
}

__attribute__((noinline)) static place resize(place block, size_t size) {
    return (place)realloc((void *)block, size);
}

__attribute__((noinline)) static void release(place block) {
    free((void *)block);
}

static void touch(const char *name, place at, place start, size_t size) {
    pthread_mutex_t *lock = &locks[cases++];
    pthread_mutex_init(lock, NULL);
    pthread_mutex_lock(lock);
    *(volatile char *)at = 1;
    pthread_mutex_unlock(lock);
    say("@case %s %lu %lu %lu %zu", name, (unsigned long)(place)lock, at, start, start ? size : 0);
}

static void require(int is_so, const char *what) {
    if (!is_so) {
        say("the allocator is another one: %s", what);
        exit(1);
    }
}

int main(void) {
    // Memory that was freed and used again is another block.
    place once = allocate(64);
    touch("once", once + 8, once, 64);
    release(once);
    place again = allocate(64);
    require(again == once, "the same memory");
    touch("again", again + 8, again, 64);

    // Behind the last byte that was asked for, in what the allocator rounded it up to.
    place first = allocate(BLOCK);
    touch("behind", first + BLOCK, 0, 0);
    touch("last", first + BLOCK - 1, first, BLOCK);

    // A block over two that were freed, all in one page: the start of the second lies nearer.
    for (place filler = allocate(112); (filler + 128) % PAGE >= 256; filler = allocate(112)) {
    }
    place a = allocate(SMALL), b = allocate(SMALL);
    require(b == a + SMALL + HEADER && a / PAGE == (a + 2600) / PAGE, "neighbours in one page");
    release(b), release(a);
    place over = allocate(2600);
    require(over == a, "a block over both");
    touch("over", b + 8, over, 2600);
    // It can't be made that large, and stays.
    require(resize(over, PTRDIFF_MAX - PAGE) == 0, "too much memory");
    touch("kept", b + 8, over, 2600);

    // Several pages, and no start of a block in the page that is touched.
    place large = allocate(25 * PAGE);
    touch("large", large + 20 * PAGE, large, 25 * PAGE);
    release(large);
    // Freed, with a block over its start and another one in a page that it reached into.
    place shorter = allocate(BLOCK), longer = allocate(25 * PAGE);
    require(shorter == large && longer == shorter + BLOCK + HEADER, "behind a small one");
    release(longer), release(shorter);
    place cover = allocate(3 * PAGE), inside = allocate(6 * PAGE);
    require(cover == large && inside > longer && inside < longer + 25 * PAGE, "in the middle");
    touch("inside", inside + 8, inside, 6 * PAGE);

    // Grown where it is, over a page's end.
    place small = allocate(BLOCK);
    place grown = resize(small, 4 * PAGE);
    require(grown == small, "room behind the last one");
    touch("grown", grown + 3 * PAGE, grown, 4 * PAGE);
    say("done");
    return 0;
}
