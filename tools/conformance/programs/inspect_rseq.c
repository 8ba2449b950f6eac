// Restartable sequences in a critical section. They are begun in both possible ways: by taking the
// address of a descriptor, and with a store to the thread's area, which is where the C library
// keeps it. After each sequence, the section writes a word.
#include "truth.h"

#include <stdint.h>
#include <sys/mman.h>
#include <sys/rseq.h>

static pthread_mutex_t none = PTHREAD_MUTEX_INITIALIZER, taken = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t stored = PTHREAD_MUTEX_INITIALIZER;
static volatile uint64_t words[32] __attribute__((aligned(64)));

static void part(const char *name, volatile void *at) {
    say("@%s %lu", name, (unsigned long)(uintptr_t)at);
}

// The code is: mov %rdi, %fs:AT; ret. This function makes the code, in which the address is a
// constant.
static void (*store_to_area(void))(uint64_t) {
    unsigned char code[] = {0x64, 0x48, 0x89, 0x3c, 0x25, 0, 0, 0, 0, 0xc3};
    int32_t at = (int32_t)(__rseq_offset + offsetof(struct rseq, rseq_cs));
    memcpy(code + 5, &at, sizeof at);
    int access = PROT_READ | PROT_WRITE | PROT_EXEC;
    void *page = mmap(NULL, 4096, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        exit(1);
    }
    memcpy(page, code, sizeof code);
    return (void (*)(uint64_t))page;
}

int main(void) {
    part("words", words), part("none", &none), part("taken", &taken), part("stored", &stored);
    void (*store)(uint64_t) = store_to_area();
    volatile uint64_t *area =
        (uint64_t *)((char *)__builtin_thread_pointer() + __rseq_offset + offsetof(struct rseq, rseq_cs));

    // Data as long as a descriptor, but without the signature before its abort handler.
    pthread_mutex_lock(&none);
    __asm__ volatile(".pushsection .data.sequences, \"aw\"\n .balign 32\n"
                     "1: .quad 0, 2f, 3f - 2f, 4f\n .popsection\n"
                     "lea 1b(%%rip), %%rax\n 2: addq $1, (%0)\n 3: nop\n nop\n nop\n nop\n 4: nop\n"
                     : : "r"(words) : "rax", "memory");
    pthread_mutex_unlock(&none);

    pthread_mutex_lock(&taken);
    words[1] = 1;
    __asm__ volatile(".pushsection .data.sequences, \"aw\"\n .balign 32\n"
                     "1: .quad 0, 2f, 3f - 2f, 4f\n .popsection\n"
                     "5: lea 1b(%%rip), %%rax\n movq %%rax, (%1)\n"
                     "2: addq $1, (%0)\n 3: movq $0, (%1)\n jmp 6f\n"
                     ".long 0x53053053\n 4: jmp 5b\n 6:\n"
                     : : "r"(words + 2), "r"(area) : "rax", "memory");
    pthread_mutex_unlock(&taken);

    pthread_mutex_lock(&stored);
    words[3] = 1;
    store(0);
    words[4] = 1;
    pthread_mutex_unlock(&stored);
    say("done %lu %lu %lu", (long)words[0], (long)words[2], (long)words[4]);
    return 0;
}
