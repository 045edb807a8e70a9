/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a node's configuration may change while it runs.
 */
#include <errno.h>

#include "node/node_impl.h"

void node_rules(struct core_config *to, const struct node_config *from)
{
	to->admission = from->admission;
	to->capacity_ppm = from->capacity_ppm;
	to->shed = from->shed;
	for (unsigned c = 0; c < CR_NCLASSES; c++) {
		to->max_age[c] = from->max_age;
		to->expired[c] = from->expired;
	}
}

static bool rules_are_same(const struct node_config *a,
			   const struct node_config *b)
{
	return a->admission == b->admission &&
	       a->capacity_ppm == b->capacity_ppm && a->max_age == b->max_age &&
	       a->expired == b->expired && a->shed.kind == b->shed.kind &&
	       a->shed.wait == b->shed.wait;
}

static int change_rules(struct node *n, const struct node_config *to,
			struct cr_err *e)
{
	struct core_config rules = { .ncpu = 0 };

	if (rules_are_same(&n->cfg, to))
		return 0;
	node_rules(&rules, to);
	if (live_set_rules(n->live, &rules))
		return cr_fail(e, -ENOTSUP,
			       "under %s, admission, capacity and what happens "
			       "to old frames stay until a restart",
			       live_scheduler(n->live));
	n->cfg.admission = to->admission;
	n->cfg.capacity_ppm = to->capacity_ppm;
	n->cfg.max_age = to->max_age;
	n->cfg.expired = to->expired;
	n->cfg.shed = to->shed;
	return 0;
}

static void change_conversions(struct node *n, const struct node_convert *to)
{
	const struct converter_config cfg = { .max = to->max,
					      .running = to->running,
					      .floor = to->floor };

	if (n->converter)
		converter_change(n->converter, &cfg);
}

int node_settings_change(struct node *n, const struct node_config *to,
			 struct cr_err *e)
{
	int err = change_rules(n, to, e);

	if (err)
		return err;
	n->cfg.ring_frames = to->ring_frames;
	n->cfg.rtcp_interval = to->rtcp_interval;
	n->cfg.max_calls = to->max_calls;
	n->cfg.memory_reserve = to->memory_reserve;
	change_conversions(n, &to->convert);
	return 0;
}
