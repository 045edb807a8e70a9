/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common part of edf and edf-steal: all but stealing.
 */
#ifndef SCHEDULERS_EDF_H
#define SCHEDULERS_EDF_H

#include "schedulers/be_share.h"
#include "schedulers/deadline_admit.h"
#include "schedulers/key_queue.h"

struct edf_task {
	struct keyed keyed;  /* first: see key_queue.h */
	unsigned lost;	     /* frames dropped since one was done */
	struct be_flow flow; /* best effort: what it has had */
	struct deadline_task admitted;
};

struct edf_rq {
	struct deadline_rq admitted; /* first: see deadline_admit.h */
	struct key_queue queue;
	struct be_share share;
};

void edf_task_add(struct cr_rq *rq, struct cr_task *t, cr_ns now);
void edf_task_del(struct cr_rq *rq, struct cr_task *t, cr_ns now);
void edf_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
		 cr_ns now);
void edf_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now);
struct cr_task *edf_pick(struct cr_rq *rq, unsigned cpu, cr_ns now);
void edf_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t, cr_ns ran,
	      enum cr_stop why, cr_ns now);
unsigned edf_explain(const struct cr_task *t, struct cr_kv *kv, unsigned max);
bool edf_check(const struct cr_rq *rq);

#define EDF_OPS                                                                \
	.abi = CR_SCHED_ABI, .flags = CR_F_GUARANTEE,                          \
	.rq_size = sizeof(struct edf_rq),                                      \
	.task_size = sizeof(struct edf_task),                                  \
	.opts_size = sizeof(struct deadline_opts), .opts = DEADLINE_OPTIONS,   \
	.admit = deadline_admit, .task_add = edf_task_add,                     \
	.task_del = edf_task_del, .enqueue = edf_enqueue,                      \
	.dequeue = edf_dequeue, .pick = edf_pick, .stop = edf_stop,            \
	.explain = edf_explain, .check = edf_check

#endif
