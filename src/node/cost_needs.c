/* SPDX-License-Identifier: Apache-2.0 */
#include "node/cost_needs.h"

/* Wait for the next; @c has one more. */
static int wait_on(struct cost_needs *c, struct cr_err *e)
{
	const struct cost_need *need = &c->need[c->next++];

	c->wait.media = need->media;
	c->wait.period = need->period;
	return node_cost_wait(c->node, &c->wait, e);
}

static void known(void *arg, int err, const struct cr_err *why)
{
	struct cost_needs *c = arg;
	struct cr_err e = { "" };

	if (!err && c->next < c->n) {
		err = wait_on(c, &e);
		if (!err)
			return;
		why = &e;
	}
	c->done(c->arg, err, why);
}

/* All that @cfg needs. */
static void add(struct cost_needs *c, const struct call_cfg *cfg)
{
	struct pipeline_cfg media[CALL_CODECS_MAX];
	unsigned n = node_cost_media(cfg, media);

	for (unsigned i = 0; i < n; i++)
		c->need[c->n++] = (struct cost_need){
			.media = media[i],
			.period = cfg->release.period,
		};
}

int cost_needs_begin(struct cost_needs *c, const struct call_cfg *cfg,
		     unsigned n, struct cr_err *e)
{
	c->wait = (struct node_cost_wait){ .done = known, .arg = c };
	c->n = c->next = 0;
	for (unsigned i = 0; i < n; i++)
		add(c, &cfg[i]);
	return wait_on(c, e);
}

void cost_needs_forget(struct cost_needs *c)
{
	node_cost_forget(c->node, &c->wait);
}
