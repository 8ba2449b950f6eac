// The example in the paper on Syncchar (Porter, Hofmann and Witchel, HotOS 2007): the binary tree
// of Figure 1 and the three critical sections of Table 1, at the paper's addresses. A node has its
// left pointer at 0x32 and its right pointer at 0x64. So the first section writes 0x3032, the
// second one writes 0x2032, and the third one writes 0x1032, which the other two read. (In the
// paper, the text of the third section has left and right the other way round than its address set.
// This program follows the set.)
#include "truth.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

struct __attribute__((packed)) node {
    char value[0x32];
    struct node *left;
    char between[0x64 - 0x32 - 8];
    struct node *right;
};

// The paper's addresses, moved to a range that a program may map.
#define BASE 0x10000000
#define NODE(at) ((struct node *)(uintptr_t)(BASE + (at)))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct node *volatile *root; // at 0x1000 of the paper

static void *first(void *unused) {
    pthread_mutex_lock(&lock);
    struct node *node = (*root)->right;
    node->left = (*root)->left->right;
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *second(void *unused) {
    pthread_mutex_lock(&lock);
    struct node *node = (*root)->left;
    node->left = (*root)->left->right;
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *third(void *unused) {
    pthread_mutex_lock(&lock);
    struct node *node = *root;
    node->left = node->right;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    int access = PROT_READ | PROT_WRITE, kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    if (mmap((void *)BASE, 1 << 16, access, kind, -1, 0) != (void *)BASE) {
        return 2;
    }
    root = (struct node *volatile *)(BASE + 0x1000);
    // The pointer to the root and the root's node have the same address.
    *root = NODE(0x1000);
    NODE(0x1000)->left = NODE(0x2000);
    NODE(0x1000)->right = NODE(0x3000);
    NODE(0x2000)->left = NODE(0x4000);
    NODE(0x2000)->right = NODE(0x5000);
    void *(*sections[])(void *) = {first, second, third};
    say("@base %u", BASE);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 3; i++) {
            pthread_t thread;
            pthread_create(&thread, NULL, sections[i], NULL);
            pthread_join(thread, NULL);
        }
        // Restores the tree.
        NODE(0x1000)->left = NODE(0x2000);
        NODE(0x2000)->left = NODE(0x4000);
    }
    say("done");
    return 0;
}
