// The locks as classes; syncline.hpp says what they can do. This file is made from the
// catalogue of locks, and included by syncline.hpp only.

/// tas: one word, which every waiter tries to set again and again. Waiters get it in no
/// order. Rarely contended; otherwise a baseline to compare with. 24 bytes. Source: SSYNC
/// 4.1.
SYNCLINE_TIMED_LOCK(tas)

/// ttas: one word; waiters read it until it is free, losers back off. Waiters get it in
/// no order. Short sections with few waiters; the smallest lock. 24 bytes. Source:
/// Anderson 1990; SSYNC 4.1.
SYNCLINE_TIMED_LOCK(ttas)

/// ticket: waiters draw a number and watch the one that is served. Served in order, but
/// newcomers may overtake for a bounded time. Fair, small, and quick while few wait for
/// one lock. 32 bytes. Source: Mellor-Crummey and Scott 1991; SSYNC 4.1, 5.3.
SYNCLINE_TRY_LOCK(ticket)

/// ticket_prefetch: as the ticket lock; waiters fetch what they watch for writing. Served
/// in order, but newcomers may overtake for a bounded time. Fair, small, and quick while
/// few wait for one lock. 32 bytes. Source: Mellor-Crummey and Scott 1991; SSYNC 4.1,
/// 5.3.
SYNCLINE_TRY_LOCK(ticket_prefetch)

/// anderson: waiters draw a number, each watching a slot of its own. Served in order, but
/// newcomers may overtake for a bounded time. A few hot locks with many waiters; takes
/// two kilobytes. 2432 bytes. Source: Anderson 1990; SSYNC 4.1.
SYNCLINE_TRY_LOCK(anderson)

/// mcs: waiters form a queue, each watching its own node. Served in order, but newcomers
/// may overtake for a bounded time. Many waiters for one lock; a hand-over moves one
/// line. 40 bytes. Source: Mellor-Crummey and Scott 1991; SSYNC 4.1.
SYNCLINE_TRY_LOCK(mcs)

/// mcs_timed: as MCS; a waiter that gives up marks its node, and the holder skips it.
/// Served in order, but newcomers may overtake for a bounded time. Many waiters for one
/// lock, few of which give up. 48 bytes. Source: He, Scherer and Scott 2005.
SYNCLINE_TIMED_LOCK(mcs_timed)

/// clh: waiters form a queue, each watching the node before its own. Served in order, but
/// newcomers may overtake for a bounded time. Many waiters for one lock; the quickest
/// release of the queue locks. 40 bytes. Source: Craig 1993; Magnusson, Landin and
/// Hagersten 1994; SSYNC 4.1.
SYNCLINE_LOCK(clh)

/// clh_timed: as CLH; a waiter that gives up leaves a link to the node before its own.
/// Served in order, but newcomers may overtake for a bounded time. Many waiters for one
/// lock, some of which give up. 40 bytes. Source: Scott 2002; Scott and Scherer 2001.
SYNCLINE_TIMED_LOCK(clh_timed)

/// futex: one word of three states; waiters sleep in the kernel. Waiters get it in no
/// order. The blocking baseline; rarely contended locks of any length. 24 bytes. Source:
/// Drepper 2011.
SYNCLINE_TIMED_LOCK(futex)

/// gate: a word that any running thread may take, before a queue for the waiters. Served
/// in order, but newcomers may overtake for a bounded time. The default; the choice when
/// threads may outnumber processors. 40 bytes. Source: Dice 2017; Linux qspinlock.
SYNCLINE_TIMED_LOCK(gate)

/// hticket: a ticket lock for each socket, and one among the sockets. Served in order,
/// but newcomers may overtake for a bounded time. Keeps the lock among near processors.
/// Many waiters on several sockets; small for its kind. 896 bytes. Source: SSYNC 4.1;
/// Dice, Marathe and Shavit 2012.
SYNCLINE_TRY_LOCK(hticket)

/// cohort_mcs: an MCS lock for each socket, and one among the sockets. Served in order,
/// but newcomers may overtake for a bounded time. Keeps the lock among near processors.
/// Very many waiters on several sockets. 896 bytes. Source: Dice, Marathe and Shavit
/// 2012.
SYNCLINE_TRY_LOCK(cohort_mcs)

/// cohort_ttas_mcs: an MCS lock for each socket, and a spinlock among the sockets.
/// Waiters get it in no order. Keeps the lock among near processors. Very many waiters on
/// few sockets, when those need not take turns. 896 bytes. Source: Dice, Marathe and
/// Shavit 2012.
SYNCLINE_TRY_LOCK(cohort_ttas_mcs)

/// cohort_timed: as cohort_ttas_mcs; a waiter that gives up marks its node, and the
/// holder skips it. Waiters get it in no order. Keeps the lock among near processors.
/// Very many waiters on few sockets, some of which give up. 896 bytes. Source: Dice,
/// Marathe and Shavit 2012, 3.6; He, Scherer and Scott 2005.
SYNCLINE_TIMED_LOCK(cohort_timed)

/// hmcs: a tree of MCS queues; the lock goes to the nearest waiter. Served in order, but
/// newcomers may overtake for a bounded time. Keeps the lock among near processors. Very
/// many waiters on a machine of several levels. 2944 bytes. Source: Chabbi, Fagan and
/// Mellor-Crummey 2015.
SYNCLINE_TRY_LOCK(hmcs)

/// hmcs_timed: as HMCS; a waiter that gives up marks its node, and the next one climbs in
/// its place. Served in order, but newcomers may overtake for a bounded time. Keeps the
/// lock among near processors. As hmcs, when some waiters give up. 2944 bytes. Source:
/// Chabbi, Amer, Wen and Liu 2017.
SYNCLINE_TIMED_LOCK(hmcs_timed)

/// hclh: near waiters queue together, and are spliced into one queue. Served in order,
/// but newcomers may overtake for a bounded time. Keeps the lock among near processors.
/// Very many waiters on several sockets, for one lock. 896 bytes. Source: Luchangco,
/// Nussbaum and Shavit 2006; SSYNC 4.1.
SYNCLINE_LOCK(hclh)

/// rw_fair: readers and writers in one queue; neighbouring readers share. Served in
/// order, but newcomers may overtake for a bounded time. Long sections, when neither
/// readers nor writers may starve. 56 bytes. Source: Mellor-Crummey and Scott, PPoPP'91.
SYNCLINE_RWLOCK(rw_fair)

/// rw_readers: a count of readers, a list of those that wait, and a queue of writers.
/// Readers come before writers; a writer may starve. Many readers that must not wait
/// behind waiting writers. 56 bytes. Source: Mellor-Crummey and Scott, PPoPP'91.
SYNCLINE_TRY_RWLOCK(rw_readers)

/// rw_writers: a count of readers, a list of those that wait, and a queue of writers,
/// which go first. Writers come before readers; a reader may starve. Many readers and
/// rare writers whose updates should be seen soon. 56 bytes. Source: Mellor-Crummey and
/// Scott, PPoPP'91.
SYNCLINE_TRY_RWLOCK(rw_writers)

/// rw_flag: a writer's flag and a count of readers; each side looks at the other's word.
/// Waiters get it in no order; a writer comes before new readers. Sharing by threads that
/// each have a processor; never sleeps. 32 bytes. Source: common practice; Concurrency
/// Kit.
SYNCLINE_TIMED_RWLOCK(rw_flag)

/// rw_compact: one word counts the readers inside and the writers that wait. Writers come
/// before readers; a reader may starve. The default for sharing; a word, and sleepers
/// cost nothing. 24 bytes. Source: common practice.
SYNCLINE_TIMED_RWLOCK(rw_compact)

/// qd: the thread that gets the lock also runs the sections that others put in its queue.
/// Sections of different threads run in no order. Short sections on contended data, above
/// all those that no thread waits for. 1792 bytes. Source: Klaftenegger, Sagonas and
/// Winblad 2014, 2018; Argo 4.2.
SYNCLINE_DELEGATION(qd)

/// hqd: a queue delegation lock for each group of near processors, under a global lock.
/// Sections of different threads run in no order. Keeps the lock among near processors.
/// Short sections on contended data, from several sockets or machines. 4224 bytes.
/// Source: Argo 4.2; Klaftenegger, Sagonas and Winblad 2014.
SYNCLINE_DELEGATION(hqd)

/// cc_synch: waiters form a queue; the first runs the sections of those behind it.
/// Sections run in the order of their calls. A baseline to compare with; strict order of
/// arrival among sections. 1152 bytes. Source: Fatourou and Kallimanis 2012.
SYNCLINE_DELEGATION(cc_synch)
