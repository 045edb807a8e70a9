/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the machine has room for a call, beside what the scheduler says, and
 * how a refusal reads.
 */
#include <errno.h>
#include <string.h>

#include "node/node_impl.h"

int64_t node_load_of(const struct call_cfg *cfg)
{
	return cfg->declared.cost.mean * CR_PPM / cfg->release.period;
}

int node_admit_measured(struct node *n, int64_t need, struct cr_verdict *v)
{
	struct live_load load;
	int64_t now = costs_load_ppm(n->costs);

	live_load(n->live, &load);
	if (!n->cfg.admission || need <= 0 || now + need <= load.bound_ppm)
		return 0;
	*v = (struct cr_verdict){ .need_ppm = need,
				  .free_ppm = load.bound_ppm - now,
				  .bound_ppm = load.bound_ppm,
				  .rule = "measured load" };
	return -ENOSPC;
}

int node_refuse(struct node *n, int err, const struct cr_verdict *v,
		struct cr_err *e)
{
	if (err == -ENOMEM)
		return cr_fail(e, err, "out of memory");
	if (err != -ENOSPC)
		return cr_fail(e, err,
			       "the %s scheduler does not take this "
			       "call (%s)",
			       live_scheduler(n->live),
			       v->rule ? v->rule : "its task model");
	return cr_fail(
		e, err,
		"no-capacity: need %.4f, free %.4f of %.2f under %s (%s)",
		(double)v->need_ppm / 1e6,
		(double)(v->free_ppm > 0 ? v->free_ppm : 0) / 1e6,
		(double)v->bound_ppm / 1e6, live_scheduler(n->live),
		v->rule ? v->rule : "load");
}
