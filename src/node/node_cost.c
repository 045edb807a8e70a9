/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What calls cost: the book, and those who wait until something is in it.
 */
#include <errno.h>

#include "node/node_impl.h"

unsigned node_cost_media(const struct call_cfg *cfg, struct pipeline_cfg *media)
{
	unsigned n = cfg->codecs ? cfg->codecs->n : 1;

	for (unsigned i = 0; i < n; i++) {
		media[i] = cfg->media;
		if (i)
			media[i].in = cfg->codecs->one[i];
	}
	return n;
}

int node_cost_of(struct node *n, const struct call_cfg *cfg,
		 struct cost_entry **out, struct cr_err *e)
{
	struct pipeline_cfg media[CALL_CODECS_MAX];
	unsigned count = node_cost_media(cfg, media), dearest = 0;
	struct cost_part missing;
	struct cost_entry *entry;
	cr_ns most = 0;
	int err = 0;

	for (unsigned i = 0; i < count && !err; i++) {
		err = costs_find(n->costs, &media[i], cfg->release.period,
				 &entry, &missing, e);
		if (err || entry->cost.mean <= most)
			continue;
		most = entry->cost.mean;
		dearest = i;
	}
	if (!err) /* the one found last need not be there any more */
		err = costs_find(n->costs, &media[dearest], cfg->release.period,
				 out, &missing, e);
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
