/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost models.
 */
#include "sim/cost_model.h"

#include <errno.h>

cr_ns cost_model_draw(const struct cost_model *m, struct random *r)
{
	(void)r;
	return m->endless ? COST_MODEL_ENDLESS : m->cfg->mean;
}

int cost_model_open(struct cost_model *m, const struct campaign_flow *f,
		    struct cr_err *e)
{
	*m = (struct cost_model){ .cfg = &f->cost };
	m->endless = f->arrival.kind == ARRIVAL_LOOP;
	if (!m->endless && f->cost.kind != COST_CONSTANT)
		return cr_fail(e, -ENOTSUP,
			       "flow %s: only constant costs so far", f->name);
	if (f->arrival.kind == ARRIVAL_TRACE)
		return cr_fail(e, -ENOTSUP, "flow %s: no trace arrivals so far",
			       f->name);
	/* an endless job has no right to any share: it counts as nothing */
	m->estimate.mean = m->estimate.p99 = m->endless ? 1 : f->cost.mean;
	return 0;
}

void cost_model_close(struct cost_model *m)
{
	*m = (struct cost_model){ 0 };
}
