/* One type for each lock whose holder runs the sections of others. syncline.h says what the
   functions do. This file is made from the catalogue of locks. */

#ifndef SYNCLINE_DELEGATION_H
#define SYNCLINE_DELEGATION_H

#ifndef SYNCLINE_H
#error "include syncline.h"
#endif

/* qd: the thread that gets the lock also runs the sections that others put in its queue.
   Sections of different threads run in no order. Short sections on contended data, above
   all those that no thread waits for. 1792 bytes. Source: Klaftenegger, Sagonas and Winblad
   2014, 2018; Argo 4.2. */
typedef struct syncline_qd { SYNCLINE_ALIGNED(128) uint64_t opaque[224]; } syncline_qd_t;
#define SYNCLINE_QD_INIT {{0}}
int syncline_qd_run(syncline_qd_t *lock, syncline_section_t section, void *argument);
int syncline_qd_delegate(syncline_qd_t *lock, syncline_section_t section, void *argument,
                         syncline_pending_t *pending);
int syncline_qd_destroy(syncline_qd_t *lock);

/* hqd: a queue delegation lock for each group of near processors, under a global lock.
   Sections of different threads run in no order. Keeps the lock among near processors.
   Short sections on contended data, from several sockets or machines. 4224 bytes. Source:
   Argo 4.2; Klaftenegger, Sagonas and Winblad 2014. */
typedef struct syncline_hqd { SYNCLINE_ALIGNED(128) uint64_t opaque[528]; } syncline_hqd_t;
#define SYNCLINE_HQD_INIT {{0}}
int syncline_hqd_run(syncline_hqd_t *lock, syncline_section_t section, void *argument);
int syncline_hqd_delegate(syncline_hqd_t *lock, syncline_section_t section, void *argument,
                          syncline_pending_t *pending);
int syncline_hqd_destroy(syncline_hqd_t *lock);

/* cc_synch: waiters form a queue; the first runs the sections of those behind it. Sections
   run in the order of their calls. A baseline to compare with; strict order of arrival
   among sections. 1152 bytes. Source: Fatourou and Kallimanis 2012. */
typedef struct syncline_cc_synch { SYNCLINE_ALIGNED(128) uint64_t opaque[144]; } syncline_cc_synch_t;
#define SYNCLINE_CC_SYNCH_INIT {{0}}
int syncline_cc_synch_run(syncline_cc_synch_t *lock, syncline_section_t section, void *argument);
int syncline_cc_synch_delegate(syncline_cc_synch_t *lock, syncline_section_t section,
                               void *argument, syncline_pending_t *pending);
int syncline_cc_synch_destroy(syncline_cc_synch_t *lock);

/* What the library was built with. */
SYNCLINE_LAYOUT(syncline_qd_t, 1792, 128);
SYNCLINE_LAYOUT(syncline_hqd_t, 4224, 128);
SYNCLINE_LAYOUT(syncline_cc_synch_t, 1152, 128);

#endif /* SYNCLINE_DELEGATION_H */
