/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random task sets in the simulator: task_set.h meets sim_rig.h.
 */
#ifndef TESTS_TASK_SET_RIG_H
#define TESTS_TASK_SET_RIG_H

#include "sim_rig.h"
#include "task_set.h"

static inline void rig_dress(struct rig_task *r)
{
	const struct set_task *from = r->rig->user;
	struct cr_task *t = &r->st.core.task;

	t->cls = from->cls;
	t->rel_deadline = from->deadline;
}

/** Add the tasks of @set, all released at 0. Returns how many were admitted:
 * all of them unless cfg.core.admission is set. */
static inline unsigned rig_add_set(struct sim_rig *rig,
				   const struct task_set *set)
{
	unsigned before = rig->ntasks;

	for (unsigned i = 0; i < set->n; i++) {
		rig->user = &set->task[i];
		(void)rig_add_with(rig, set->task[i].period, set->task[i].cost,
				   rig_dress);
	}
	return rig->ntasks - before;
}

/** Jobs that were late up to @until, and those of them that are not done yet:
 * no later look changes the count. */
static inline uint64_t rig_late(struct sim_rig *rig, cr_ns until)
{
	uint64_t late;

	sim_run(rig->sim, until + 1);
	late = rig_misses(rig);
	for (unsigned i = 0; i < rig->ntasks; i++) {
		const struct rig_task *r = &rig->task[i];

		for (uint64_t k = r->done; k < r->arrived; k++)
			late += rig_job(r, k).deadline <= until;
	}
	return late;
}

#endif
