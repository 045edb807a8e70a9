/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a policy says about a task, to whoever asks.
 */
#include "engine/core.h"

void core_promise(const struct core_task *t, struct cr_promise *p)
{
	const struct cr_sched_ops *ops = t->task.rq->sched->ops;

	*p = (struct cr_promise){ .kind = CR_PROMISE_NOTHING };
	if (t->task.cls == CR_BE) {
		p->rule = "best effort has no deadline";
		return;
	}
	if (ops->promise)
		ops->promise(&t->task, p);
	else
		p->rule = "this scheduler promises nothing";
	if (!p->rule)
		p->rule = "it does not say why";
}

unsigned core_explain(const struct core_task *t, struct cr_kv *kv, unsigned max)
{
	const struct cr_sched_ops *ops = t->task.rq->sched->ops;
	unsigned n = ops->explain ? ops->explain(&t->task, kv, max) : 0;
	struct cr_promise p;

	if (n >= max)
		return max;
	if (!ops->promise)
		return n;
	core_promise(t, &p);
	kv[n++] = (struct cr_kv){ "in_time", p.kind == CR_PROMISE_LATENESS &&
						     p.bound == 0 };
	return n;
}
