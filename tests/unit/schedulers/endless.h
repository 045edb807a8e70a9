/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the tests of policies of processes: one that never sleeps, and a
 * look at the numbers that a policy shows.
 */
#ifndef TESTS_ENDLESS_H
#define TESTS_ENDLESS_H

#include "sim_rig.h"

/** A best-effort job without end from time 0; @change as in rig_add_with(). */
static inline struct rig_task *add_loop(struct sim_rig *rig,
					void (*change)(struct rig_task *))
{
	static const struct sim_job job = { 0, 1000000 * CR_SEC, CR_NEVER };
	struct rig_task *r = rig_add_with(rig, CR_SEC, 1, change);

	assert_non_null(r);
	r->job = &job;
	r->njobs = 1;
	return r;
}

/** The number that the policy of @r shows as @key. */
static inline int64_t shown(const struct rig_task *r, const char *key)
{
	const struct cr_task *t = &r->st.core.task;
	struct cr_kv kv[8];
	unsigned n = t->rq->sched->ops->explain(t, kv, 8);

	for (unsigned i = 0; i < n; i++)
		if (strcmp(kv[i].key, key) == 0)
			return kv[i].value;
	fail_msg("no number '%s'", key);
	return 0;
}

#endif
