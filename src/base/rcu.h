/* SPDX-License-Identifier: Apache-2.0 */
/*
 * liburcu, with what ThreadSanitizer cannot see of it: the library is not
 * instrumented, so a grace period orders nothing for it. Two things are said to
 * it here, in no other place:
 *
 *   what a reader did until rcu_read_end() happened before   what is deferred
 *   what came before rcu_defer()          happened before   what is deferred
 *
 * Without the sanitizer this is liburcu and nothing else. Readers are threads
 * that are registered (rcu_register_thread()).
 *
 * Deferred work is done by a thread of ours, not by liburcu's, which would
 * be made at the first call_rcu(), and its failure be an abort().
 */
#ifndef BASE_RCU_H
#define BASE_RCU_H

#include <urcu.h>

#include "cr/error.h"

#if defined(__SANITIZE_THREAD__)
#define RCU_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RCU_TSAN 1
#endif
#endif

/** The order of all grace periods. */
extern char rcu_order;

#ifdef RCU_TSAN
#include <sanitizer/tsan_interface.h>

static inline void rcu_happened(void)
{
	__tsan_release(&rcu_order);
}

static inline void rcu_follows(void)
{
	__tsan_acquire(&rcu_order);
}
#else
static inline void rcu_happened(void)
{
}

static inline void rcu_follows(void)
{
}
#endif

/** Memory found until rcu_read_end() stays; as rcu_read_lock(). A reader. */
static inline void rcu_read_begin(void)
{
	rcu_read_lock();
}

/** As rcu_read_unlock(); the reader has what it found no more. */
static inline void rcu_read_end(void)
{
	rcu_happened();
	rcu_read_unlock();
}

/** In what is to be deferred. Its own until rcu_defer(). */
struct rcu_later {
	struct rcu_later *next;
	void (*then)(struct rcu_later *later);
};

/** Start the thread that does what is deferred; it runs already: nothing. 0, or
 * -errno with @e: no thread. Not beside rcu_stop(). */
int rcu_start(struct cr_err *e);

/** Call @then on that thread, which is registered, when the readers of this
 * moment have ended: in the order in which it was deferred, some 10 ms later
 * unless somebody waits for it. @then begins with rcu_deferred(). Any thread,
 * after rcu_start(); needs no memory and waits for nobody. */
void rcu_defer(struct rcu_later *later, void (*then)(struct rcu_later *later));

/** Wait until everything that was deferred before is done. No reader in its
 * section; not from what is deferred. */
void rcu_done(void);

/** End the thread when all is done; it may be started again. Nobody defers
 * meanwhile. */
void rcu_stop(void);

/** The first call of a function that was deferred. */
static inline void rcu_deferred(void)
{
	rcu_follows();
}

#endif
