/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission by density and blocking, for the policies that order by deadlines
 * (edf, llf). Per run queue of M CPUs, in ppm and rounded against the task:
 *
 *     sum of C / W  +  B / Wmin  <=  M * bound
 *
 *   W     the window min(D, T); Wmin is the shortest of hard and soft tasks
 *   C     cr_task_demand(): hard tasks by the worst case, soft ones by the
 *         mean; best effort: 0
 *   B     the longest frame of anybody, 0 where frames are preempted
 *
 * For one CPU this is sufficient (Liu and Layland's sum by density, with the
 * blocking of non-preemptive jobs charged to the tightest window). On several
 * CPUs, soft tasks are late by at most a constant (Devi and Anderson).
 *
 * As soon as there is a hard task, soft ones count by the worst case too, for
 * nothing else keeps them from taking what was promised, and several CPUs need
 *
 *     sum of C / W  +  (M - 1) * umax  +  M * B / Wmin  <=  M
 *
 * umax being the largest C / W: Goossens, Funk and Baruah's bound, and its
 * non-preemptive form (Baruah 2006: windows are shorter by B, which makes each
 * density larger by at most Wmin / (Wmin - B)).
 *
 * A policy that serves hard tasks before soft ones (by_class) keeps that by
 * itself: the second sum is over hard tasks alone, with their own Wmin, and
 * soft ones stay with the first.
 *
 * A policy that gives each task a server (cbs, grub) has budgets in place of
 * C: cr_task_demand() and a margin. If nobody runs beyond its budget before
 * others that are due earlier (isolated: frames are cut), soft tasks count by
 * theirs in the second sum, too.
 *
 * Both bounds are about tasks that may run on every CPU of the run queue. So a
 * hard task must, and all who count in the second sum beside it. Others may
 * have any CPU mask: what is said of them is an average.
 *
 * Of the run queues where a task fits it joins the one whose CPUs have most
 * time left; a best-effort task that whose mean load is least.
 *
 * A policy embeds the structs below as the first members of its run queue's
 * and its options' memory; they start zeroed, the flags and the margin are set
 * by rq_init().
 */
#ifndef SCHEDULERS_DEADLINE_ADMIT_H
#define SCHEDULERS_DEADLINE_ADMIT_H

#include "cr/sched.h"
#include "schedulers/admission.h"

/** A task's part of the sums. */
struct deadline_task {
	struct extreme frame;	/**< longest frame               */
	struct extreme window;	/**< minus its window; best effort: its frame */
	struct extreme density; /**< C / that window, worst case */
	int64_t util;		/**< C / W, as its class counts  */
	bool bound;		/**< one of deadline_rq.nbound       */
};

/** The sums of a run queue. */
struct deadline_rq {
	struct extremes frames, densities;
	struct extremes windows[2]; /**< of CR_HARD, of CR_SOFT */
	struct extremes spare;	    /**< minus the frames of best effort */
	int64_t util, worst;
	unsigned nhard;
	unsigned nbound; /**< tasks in the second sum that may not run on every
			    CPU */
	bool to_start; /**< the policy orders by the latest start: windows are W
			  - C, except in the sum that is not by worst cases */
	bool by_class; /**< the policy serves hard tasks before soft ones */
	bool isolated; /**< who exceeds its budget delays nobody else     */
	int64_t margin; /**< of budgets over cr_task_demand(), ppm          */
};

struct deadline_opts {
	int64_t bound;
};

/** The row of an option table for deadline_opts. */
/* clang-format off */
#define DEADLINE_OPT_BOUND                                                     \
	{ .name = "bound",                                                     \
	  .help = "admit up to this share of every CPU",                       \
	  .kind = CR_OPT_PPM,                                                  \
	  .offset = offsetof(struct deadline_opts, bound),                     \
	  .min = 0,                                                            \
	  .max = CR_PPM,                                                       \
	  .dflt = CR_PPM }
/* clang-format on */

/** The table of a policy that has no other option. */
#define DEADLINE_OPTIONS                                                       \
	((const struct cr_opt[]){ DEADLINE_OPT_BOUND, { .name = NULL } })

/** The longest frame of any task, and the shortest of the tasks of best effort,
 * each by its worst case; 0: there are none. */
cr_ns deadline_longest(const struct deadline_rq *rq);
cr_ns deadline_shortest_be(const struct deadline_rq *rq);

/** The demand of @t: cr_task_demand() and the margin. */
cr_ns deadline_budget(const struct deadline_rq *rq, const struct cr_task *t);

/** A promise() callback: who is in time by the worst case of those that are
 * there now, whether this test has admitted them or not. */
void deadline_promise(const struct cr_task *t, struct cr_promise *p);

/** An admit() callback: worst fit. */
int deadline_admit(const struct cr_sched *s, const struct cr_task *t,
		   struct cr_verdict *v);

/** For task_add() and task_del(); @x is in @t's private memory. */
void deadline_add(struct deadline_rq *rq, const struct cr_task *t,
		  struct deadline_task *x);
void deadline_del(struct deadline_rq *rq, const struct cr_task *t,
		  struct deadline_task *x);

/** For steal(): @t leaves @from and joins @to; t->rq is still @from. */
void deadline_move(const struct cr_rq *from, const struct cr_rq *to,
		   const struct cr_task *t, struct deadline_task *x);

/** Would the test let @t join @rq now? */
bool deadline_fits(const struct cr_rq *rq, const struct cr_task *t);

/** Is there a hard task in @rq? */
static inline bool deadline_has_hard(const struct cr_rq *rq)
{
	return CR_RQ(rq, struct deadline_rq)->nhard > 0;
}

#endif
