/* A module whose critical sections are known to the byte: what they touch, how often each lock
 * is taken, and which sections conflict. It prints the addresses of its locks and data. */
#include <linux/completion.h>
#include <linux/kthread.h>
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
static DECLARE_COMPLETION(ended);

/* With these, the compiler may neither omit nor merge an access. */
#define GET(place) READ_ONCE(place)
#define SET(place, value) WRITE_ONCE(place, value)

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
	unsigned long n;

	for (n = 0; n < 2; n++)
		kthread_run(task, (void *)n, "truth/%lu", n);
	for (n = 0; n < 2; n++)
		wait_for_completion(&ended);
	pr_emerg("truth: own %px shared %px byte %px\n", own, &shared, byte);
	pr_emerg("truth: apart %px together %px irq %px rw %px mutex %px sem %px\n", &apart_lock,
		 &together_lock, &irq_lock, &rw_lock, &mutex_lock_, &sem_lock);
	return 0;
}
module_init(truth);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Critical sections that are known to the byte");
