/* A module whose critical sections are known to the byte: what they touch, how often each lock
 * is taken, and which sections conflict. It prints the addresses of its locks and data. */
#include <linux/bit_spinlock.h>
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/list_bl.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>

#define TIMES 200

/* Each task has its own words in its own cache line. All tasks use `shared`. */
static struct {
	unsigned long word[8];
} own[2] __aligned(64);
static unsigned long shared __aligned(64);
static unsigned char byte[8] __aligned(64);

static DEFINE_SPINLOCK(apart_lock);
static DEFINE_SPINLOCK(together_lock);
static DEFINE_RAW_SPINLOCK(irq_lock);
static DEFINE_RWLOCK(rw_lock);
static DEFINE_MUTEX(mutex_lock_);
static DECLARE_RWSEM(sem_lock);
/* Bit spinlocks: bit 9 of a word, the head of a chain, and one that a plain store releases. */
static unsigned long bits, stored;
static struct hlist_bl_head chain;
/* A bit that one task holds while the other wants it, and the words by which they meet. */
static unsigned long wanted, held, wants, passed;
/* A word whose bits are no locks. */
static unsigned long plain;
static DECLARE_COMPLETION(ended);

/* With these, the compiler may neither omit nor merge an access. */
#define GET(place) READ_ONCE(place)
#define SET(place, value) WRITE_ONCE(place, value)

/* The first task holds the bit until some time after the second one is about to take it, and
 * releases it by a store. */
static void meet(unsigned long me, unsigned long n)
{
	unsigned long pauses;

	if (me == 0) {
		bit_spin_lock(0, &wanted);
		SET(held, n + 1);
		while (GET(wants) != n + 1)
			cpu_relax();
		for (pauses = 0; pauses < 1000; pauses++)
			cpu_relax();
		smp_store_release(&wanted, 0UL);
		preempt_enable();
		while (GET(passed) != n + 1)
			cond_resched();
	} else {
		while (GET(held) != n + 1)
			cond_resched();
		SET(wants, n + 1);
		bit_spin_lock(0, &wanted);
		SET(own[1].word[6], n);
		bit_spin_unlock(0, &wanted);
		SET(passed, n + 1);
	}
}

static int task(void *data)
{
	unsigned long me = (unsigned long)data, flags, n;

	for (n = 0; n < TIMES; n++) {
		/* Sections that touch only words of their own task. */
		spin_lock(&apart_lock);
		SET(own[me].word[0], GET(own[me].word[1]));
		spin_unlock(&apart_lock);

		/* Sections that all write to one word. */
		spin_lock_bh(&together_lock);
		SET(shared, GET(shared) + 1);
		spin_unlock_bh(&together_lock);

		/* Sections that write a byte in the middle of a word. */
		raw_spin_lock_irqsave(&irq_lock, flags);
		SET(byte[3], (unsigned char)n);
		raw_spin_unlock_irqrestore(&irq_lock, flags);

		/* Sections that read a word to which no task writes. */
		read_lock(&rw_lock);
		GET(own[1 - me].word[2]);
		read_unlock(&rw_lock);

		mutex_lock(&mutex_lock_);
		SET(own[me].word[3], n);
		mutex_unlock(&mutex_lock_);

		/* A section that begins as a writer and continues as a reader. */
		down_write(&sem_lock);
		SET(own[0].word[4], n);
		downgrade_write(&sem_lock);
		GET(own[0].word[5]);
		up_read(&sem_lock);

		/* Another bit of the lock's word is data. */
		bit_spin_lock(9, &bits);
		SET(own[me].word[6], GET(own[me].word[7]));
		clear_bit(17, &bits);
		bit_spin_unlock(9, &bits);

		/* A store into a chain's head keeps the lock. */
		hlist_bl_lock(&chain);
		SET(chain.first, (void *)(n << 4 | LIST_BL_LOCKMASK));
		hlist_bl_unlock(&chain);

		/* As in rhashtable, the store of the chain's first entry is the release. */
		bit_spin_lock(0, &stored);
		SET(own[me].word[6], n);
		smp_store_release(&stored, n << 4);
		preempt_enable();

		/* A bit that nothing waits for is not a lock. */
		if (test_and_set_bit(me, &plain))
			pr_emerg("truth: a bit was taken twice\n");
		clear_bit(me, &plain);

		meet(me, n);

		/* An attempt that always fails, since the lock is held. */
		spin_lock(&apart_lock);
		if (spin_trylock(&apart_lock))
			pr_emerg("truth: a lock was taken twice\n");
		spin_unlock(&apart_lock);
		cond_resched();
	}
	complete(&ended);
	return 0;
}

static int __init truth(void)
{
	struct task_struct *made;
	unsigned long n;

	for (n = 0; n < 2; n++) {
		made = kthread_create(task, (void *)n, "truth/%lu", n);
		if (IS_ERR(made))
			return PTR_ERR(made);
		/* One waits for the other with preemption off, so each has a processor. */
		kthread_bind(made, n);
		wake_up_process(made);
	}
	for (n = 0; n < 2; n++)
		wait_for_completion(&ended);
	pr_emerg("truth: own %px shared %px byte %px\n", own, &shared, byte);
	pr_emerg("truth: apart %px together %px irq %px rw %px mutex %px sem %px\n", &apart_lock,
		 &together_lock, &irq_lock, &rw_lock, &mutex_lock_, &sem_lock);
	pr_emerg("truth: bit %px chain %px stored %px plain %px\n", (char *)&bits + 1, &chain,
		 &stored, &plain);
	pr_emerg("truth: wanted %px held %px wants %px\n", &wanted, &held, &wants);
	return 0;
}
module_init(truth);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Critical sections that are known to the byte");
