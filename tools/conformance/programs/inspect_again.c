// Critical sections that access the same memory again and again: upwards, downwards, in part, a
// little further than before, on the heap and on the stack. Each access is made by one of several
// instructions, chosen at random. The program prints these lines:
//
//   @heap START END          the memory on the heap that is accessed; @stack: that on the stack
//   @outer LOCK              the lock whose sections each contain three of the sections below
//   @instruction N ADDRESS   the address of an instruction that accesses memory, and its number
//   @section LOCK            the next lines belong to the next section of this lock
//   @did N ADDRESS           instruction N accessed this address
#include "truth.h"

#include <pthread.h>
#include <stdint.h>

enum { INSTRUCTIONS = 6, BYTES = 4096, MOST = 2500, SECTIONS = 12, IN_ONE = 3 };

struct access {
    uint64_t instruction;
    char *at;
};

void walk(const struct access *list, uint64_t count);
extern char again_0[], again_1[], again_2[], again_3[], again_4[], again_5[];
__asm__(".text\n"
        "walk:\n"
        " mov (%rdi), %rcx\n mov 8(%rdi), %rax\n"
        " cmp $1, %rcx\n je 1f\n cmp $2, %rcx\n je 2f\n cmp $3, %rcx\n je 3f\n"
        " cmp $4, %rcx\n je 4f\n cmp $5, %rcx\n je 5f\n"
        "again_0: movl (%rax), %edx\n jmp 6f\n"
        "1:\nagain_1: movq %rdx, (%rax)\n jmp 6f\n"
        "2:\nagain_2: movups (%rax), %xmm0\n jmp 6f\n"
        "3:\nagain_3: incw (%rax)\n jmp 6f\n"
        // Two accesses relative to one address: the second one writes 4 bytes, 24 bytes after it.
        "4: movq (%rax), %rdx\nagain_4: movl %edx, 24(%rax)\n jmp 6f\n"
        "5:\nagain_5: movb %dl, (%rax)\n"
        "6: add $16, %rdi\n dec %rsi\n jnz walk\n ret\n");

static uint64_t state = 1;

static unsigned below(unsigned n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % n;
}

static struct access lists[IN_ONE][MOST];
static unsigned counts[IN_ONE];

// Plans a walk over a part of the memory, and repeats it a few times. Each time, the walk may begin
// or end one step earlier or later.
static unsigned plan(struct access *list, char *memory, unsigned count) {
    static const int STEPS[] = {1, 2, 4, 8, 8, 16, 24, -4, -8, -8, -16};
    int step = STEPS[below(sizeof STEPS / sizeof *STEPS)];
    int length = 2 + (int)below(60), first = 1600 + (int)below(400);
    unsigned one = below(INSTRUCTIONS), other = below(2) ? one : below(INSTRUCTIONS);
    for (unsigned pass = 1 + below(8); pass > 0; pass--) {
        for (int i = 0; i < length && count < MOST; i++)
            list[count++] = (struct access){below(2) ? one : other, memory + first + i * step};
        length += (int)below(3) - 1;
        first += below(4) ? 0 : step * ((int)below(3) - 1);
    }
    return count;
}

static void section(int n, pthread_mutex_t *lock, char *heap, char *stack) {
    unsigned count = 0;
    while (count < MOST) count = plan(lists[n], below(4) ? heap : stack, count);
    counts[n] = count;
    pthread_mutex_lock(lock);
    walk(lists[n], count);
    pthread_mutex_unlock(lock);
}

int main(void) {
    static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER, outer = PTHREAD_MUTEX_INITIALIZER;
    char on_stack[BYTES] __attribute__((aligned(64))) = {0};
    char *on_heap = calloc(1, BYTES);
    char *places[] = {again_0, again_1, again_2, again_3, again_4, again_5};
    for (int i = 0; i < INSTRUCTIONS; i++) say("@instruction %d %p", i, (void *)places[i]);
    say("@heap %p %p", (void *)on_heap, (void *)(on_heap + BYTES));
    say("@stack %p %p", (void *)on_stack, (void *)(on_stack + BYTES));
    say("@outer %p", (void *)&outer);
    for (int i = 0; i < SECTIONS; i += IN_ONE) {
        pthread_mutex_lock(&outer);
        for (int n = 0; n < IN_ONE; n++) section(n, &inner, on_heap, on_stack);
        pthread_mutex_unlock(&outer);
        for (int n = 0; n < IN_ONE; n++) {
            say("@section %p", (void *)&inner);
            for (unsigned k = 0; k < counts[n]; k++)
                say("@did %u %p", (unsigned)lists[n][k].instruction, (void *)lists[n][k].at);
        }
    }
    free(on_heap);
    return 0;
}
