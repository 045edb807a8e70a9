/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What calls cost: the book, and those who wait until something is in it.
 */
#include <errno.h>

#include "node/node_impl.h"

int node_cost_of(struct node *n, const struct call_cfg *cfg,
		 struct cost_entry **out, struct cr_err *e)
{
	struct cost_part missing;
	int err = costs_find(n->costs, &cfg->media, cfg->release.period, out,
			     &missing, e);

	return err == -EAGAIN
		       ? cr_fail(e, err, "its cost has to be measured first")
		       : err;
}

void node_cost_ask(struct node *n, const struct call_cfg *cfg)
{
	struct cost_part missing;
	struct cost_entry *entry;

	if (costs_find(n->costs, &cfg->media, cfg->release.period, &entry,
		       &missing, NULL) == -EAGAIN)
		(void)measuring_ask(n->measuring, &missing, NULL, NULL);
}

int node_cost_wait(struct node *n, struct node_cost_wait *w, struct cr_err *e)
{
	return measuring_begin(n->measuring, w, e);
}

void node_cost_forget(struct node *n, struct node_cost_wait *w)
{
	measuring_forget(n->measuring, w);
}
