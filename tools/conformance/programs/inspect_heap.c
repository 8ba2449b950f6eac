// Critical sections that touch blocks of the heap. The addresses of the blocks follow from the way
// in which glibc's allocator cuts blocks from the top of its heap. There are blocks next to each
// other, blocks in freed memory, and blocks that are made larger without being moved. Each line of
// the output says which block contains the word that a section touches:
//
//   @case NAME LOCK ADDRESS START SIZE    START is 0 if no block contains it
#include "truth.h"

#include <stdint.h>

enum { CASES = 16 };

// These blocks are too large for the lists of freed blocks from which the allocator takes blocks
// unchanged.
enum { BLOCK = 2000, SMALL = 1104, HEADER = 16, PAGE = 4096 };

static pthread_mutex_t locks[CASES];
static int cases;

// This is an address and not a pointer, because the block there may have been freed.
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
    // A block that is freed and allocated again counts as another block.
    place once = allocate(64);
    touch("once", once + 8, once, 64);
    release(once);
    place again = allocate(64);
    require(again == once, "the same memory");
    touch("again", again + 8, again, 64);

    // The byte after the requested ones. The allocator rounds sizes up, so the byte is in the space
    // of this block.
    place first = allocate(BLOCK);
    touch("behind", first + BLOCK, 0, 0);
    touch("last", first + BLOCK - 1, first, BLOCK);

    // A block in the place of two freed ones, all in one page. The start of the second freed block
    // is nearer to the touched word.
    for (place filler = allocate(112); (filler + 128) % PAGE >= 256; filler = allocate(112)) {
    }
    place a = allocate(SMALL), b = allocate(SMALL);
    require(b == a + SMALL + HEADER && a / PAGE == (a + 2600) / PAGE, "neighbours in one page");
    release(b), release(a);
    place over = allocate(2600);
    require(over == a, "a block over both");
    touch("over", b + 8, over, 2600);
    // The block can't be made so large, and stays as it is.
    require(resize(over, PTRDIFF_MAX - PAGE) == 0, "too much memory");
    touch("kept", b + 8, over, 2600);

    // A block of several pages. No block starts in the page that is touched.
    place large = allocate(25 * PAGE);
    touch("large", large + 20 * PAGE, large, 25 * PAGE);
    release(large);
    // The large block was freed. Now one block begins where it began, and another block is in one
    // of its further pages.
    place shorter = allocate(BLOCK), longer = allocate(25 * PAGE);
    require(shorter == large && longer == shorter + BLOCK + HEADER, "behind a small one");
    release(longer), release(shorter);
    place cover = allocate(3 * PAGE), inside = allocate(6 * PAGE);
    require(cover == large && inside > longer && inside < longer + 25 * PAGE, "in the middle");
    touch("inside", inside + 8, inside, 6 * PAGE);

    // A block that is made larger without being moved, beyond the end of its page.
    place small = allocate(BLOCK);
    place grown = resize(small, 4 * PAGE);
    require(grown == small, "room behind the last one");
    touch("grown", grown + 3 * PAGE, grown, 4 * PAGE);
    say("done");
    return 0;
}
