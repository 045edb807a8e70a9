/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that change while they run.
 *
 * What control asks for (call.change) is admitted anew, or refused and nothing
 * has changed. What is more is reckoned by the costs of today: that frames have
 * turned out dearer since the call began is not what is asked for, and a change
 * that asks for no more is done, beyond the capacity or not.
 *
 * What the peer asks for is not for us to refuse: a CMR is obeyed by the worker
 * that reads it (RFC 4867, 4.3.1). Once a second the books follow: the call is
 * entered under the cost of its new mode and admitted by that, if need be
 * beyond the capacity. Then new calls find no room, the call counts it
 * (cmr_over), and the log says so. In the same round they follow relays that
 * have taken the packets of a call: from then on that costs nothing.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"
#include "node/call_check.h"
#include "node/node_impl.h"
#include "observe/log.h"

static const char *mode_name(const struct call_cfg *cfg)
{
	const struct pipeline_side *out = &cfg->media.out;

	return out->codec->modes[out->cfg.mode].name;
}

static void trace_change(const struct node_call *nc)
{
	const struct call_cfg *cfg = call_settings(nc->call);
	union cr_trace_record r = {
		.note = { .kind = CR_TRACE_NOTE,
			  .code = CR_NOTE_CHANGED,
			  .worker = 0xffff,
			  .count = cfg->id,
			  .at = clock_now() },
	};

	(void)snprintf(r.note.text, sizeof(r.note.text),
		       "class=%s deadline_us=%" PRId64
		       " mode=%s weight=%" PRIu32 " nice=%d",
		       call_class_names[cfg->terms.cls],
		       cfg->terms.deadline / CR_US, mode_name(cfg),
		       cfg->terms.weight, cfg->terms.nice);
	trace_put(trace_ring(nc->node->trace, node_ring_control(nc->node)), &r);
}

static void forget_cost(struct node_call *nc)
{
	if (!nc->cost)
		return;
	nc->cost->calls--;
	costs_release(nc->node->costs, nc->cost);
	nc->cost = NULL;
}

void node_call_take(struct node_call *nc, const struct call_cfg *to,
		    struct cost_entry *cost)
{
	node_learn(nc->node); /* what it took so far belongs to the old entry */
	cost->calls++;
	costs_hold(nc->node->costs, cost);
	forget_cost(nc);
	nc->cost = cost;
	call_set_terms(nc->call, to);
	trace_change(nc);
}

/* The book's entry for @to, which is settled by it. 0, or as node_cost_of(). */
static int settle(struct node *n, struct call_cfg *to, struct cost_entry **cost,
		  struct cr_err *e)
{
	int err = node_cost_of(n, to, cost, e);

	if (!err)
		call_settle(to, &(*cost)->cost);
	return err;
}

/* The call as it is, at what it costs by the book today. */
static struct call_cfg today(const struct node_call *nc)
{
	struct call_cfg cfg = *call_settings(nc->call);

	call_settle(&cfg, &nc->cost->cost);
	return cfg;
}

/* What @to takes beyond @was, or beyond what the book counts for it. */
static int64_t load_beyond(const struct node_call *nc,
			   const struct call_cfg *was,
			   const struct call_cfg *to)
{
	const struct cost_entry *book = nc->cost;
	int64_t counted = book->cost.mean * CR_PPM / book->period;

	return node_load_of(to) - cr_ns_max(node_load_of(was), counted);
}

/* Admit @nc as @to, whose cost is in the book. */
static int admit(struct node_call *nc, const struct call_cfg *to,
		 struct cr_err *e)
{
	struct node *n = nc->node;
	const struct call_cfg was = today(nc);
	unsigned flags = core_asks_for_more(&was.declared, &to->declared)
				 ? 0
				 : CORE_CHANGE_FORCE;
	struct cr_verdict v = { 0 };
	int err = node_admit_measured(n, load_beyond(nc, &was, to), &v);

	if (!err)
		err = live_change(n->live, &nc->call->lt, &to->declared, flags,
				  &v);
	return err < 0 ? node_refuse(n, err, &v, e) : 0;
}

/* What is sent is packed as @to says: into *@o, NULL if it is already. */
static int repack(const struct node_call *nc, const struct call_cfg *to,
		  struct pipeline_output **o, struct cr_err *e)
{
	const struct pipeline_side *now = &call_settings(nc->call)->media.out;

	*o = NULL;
	return pipeline_side_same(now, &to->media.out)
		       ? 0
		       : pipeline_output_new(o, &to->media.out, true, e);
}

int node_call_change(struct node_call *nc, const struct call_cfg *want,
		     bool set_mode, struct cr_err *e)
{
	struct pipeline_output *output;
	struct call_cfg to = *want;
	struct cost_entry *cost;
	int err;

	if (nc->relays)
		return cr_fail(e, -EINVAL,
			       "call %" PRIu32 " is relayed: it has no terms "
			       "and no codec",
			       nc->id);
	err = settle(nc->node, &to, &cost, e);
	if (!err)
		err = repack(nc, &to, &output, e);
	if (err)
		return err;
	err = admit(nc, &to, e);
	if (err) {
		pipeline_output_free(output);
		return err;
	}
	node_call_take(nc, &to, cost);
	if (output)
		pipeline_change(nc->call->pipeline, output);
	if (set_mode)
		pipeline_set_mode(nc->call->pipeline, to.media.out.cfg.mode);
	return 0;
}

/* --- calls that turned out cheaper --- */

/* For one call that has no room: all workers wait for each change. */
enum { LOOKS = 4096, CHANGES = 16 };

/* It is in the scheduler's books with what its codecs cost when it came: when
 * they had just been measured, or beside a busy neighbour. Is that more than an
 * eighth too much? Then as it is today: into *@to. */
static bool is_cheaper(const struct node_call *nc, struct call_cfg *to)
{
	if (nc->ending || nc->hung || nc->relays || !nc->cost)
		return false;
	*to = today(nc);
	return node_load_of(to) * 8 < node_load_of(call_settings(nc->call)) * 7;
}

/* What @nc gives back, ppm of a CPU; negative: nobody does. */
static int64_t give_back(struct node_call *nc, const struct call_cfg *to)
{
	int64_t was = node_load_of(call_settings(nc->call));
	struct cr_verdict v;

	if (live_change(nc->node->live, &nc->call->lt, &to->declared,
			CORE_CHANGE_FORCE, &v) < 0)
		return -1;
	call_set_terms(nc->call, to);
	return was - node_load_of(to);
}

bool node_give_back(struct node *n, int64_t wanted)
{
	unsigned looks = n->ncalls < LOOKS ? n->ncalls : LOOKS, changes = 0;
	int64_t given = 0;
	struct call_cfg to;

	if (n->gave_nothing)
		return false;
	for (; looks && changes < CHANGES && given < wanted; looks--) {
		struct node_call *nc = node_call_after(n, n->gave_back);
		int64_t one;

		if (!nc) /* round again */
			nc = RB_MIN(node_tree, &n->calls);
		n->gave_back = nc->id;
		if (!is_cheaper(nc, &to))
			continue;
		one = give_back(nc, &to);
		if (one < 0)
			break;
		given += one;
		changes++;
	}
	n->gave_nothing = given <= 0;
	return given > 0;
}

/* --- codec mode requests --- */

static void note_overload(struct node_call *nc, const struct call_cfg *to,
			  const struct cr_verdict *v)
{
	nc->cmr_over++;
	log_event(LOG_WARN, "cmr-over-capacity",
		  "call=%" PRIu32 " mode=%s need=%.4f free=%.4f rule=\"%s\"",
		  to->id, mode_name(to), (double)v->need_ppm / 1e6,
		  (double)v->free_ppm / 1e6, v->rule ? v->rule : "load");
}

static bool same_cost(const struct cr_cost *a, const struct cr_cost *b)
{
	return a->mean == b->mean && a->p99 == b->p99 &&
	       a->variance_ns2 == b->variance_ns2;
}

static void follow(struct node_call *nc, unsigned mode)
{
	struct call_cfg to = *call_settings(nc->call);
	const struct cr_cost *was = &call_settings(nc->call)->declared.cost;
	struct cost_entry *cost;
	struct cr_verdict v;
	int rc = 0;

	to.media.out.cfg.mode = mode;
	if (settle(nc->node, &to, &cost, NULL)) {
		node_cost_ask(nc->node, &to);
		return; /* at the next look */
	}
	/* what a contract declares holds in every mode */
	if (!same_cost(&to.declared.cost, was))
		rc = live_change(nc->node->live, &nc->call->lt, &to.declared,
				 CORE_CHANGE_FORCE, &v);
	if (rc == -EINVAL) /* the scheduler keeps it as it was */
		to.declared.cost = *was;
	else if (rc < 0)
		return;
	if (rc > 0)
		note_overload(nc, &to, &v);
	node_call_take(nc, &to, cost);
}

static void follow_mode(struct node_call *nc)
{
	unsigned mode = pipeline_mode(nc->call->pipeline);

	if (mode != call_settings(nc->call)->media.out.cfg.mode)
		follow(nc, mode);
}

/* --- relays that have taken over --- */

/* Nothing: a task that sleeps. */
static const struct cr_cost sleeping = { .mean = 1, .p99 = 1 };

/* The call of @nc sleeps. What it was sent before, it does not get any more:
 * nobody has reckoned with that. Where a scheduler keeps it as it was, its
 * share stays taken. */
static void rest(struct node_call *nc)
{
	struct call_cfg to = *call_settings(nc->call);
	struct core_terms *t = &to.declared;
	struct cr_verdict v;

	t->cost = sleeping;
	if (t->contract.largest)
		t->contract.largest = sleeping.p99;
	relay_want(nc->relay, RELAY_ALL);
	if (!relay_is_on(nc->relay)) { /* its party has turned meanwhile */
		relay_want(nc->relay, RELAY_SOME);
		return;
	}
	forget_cost(nc);
	if (live_change(nc->node->live, &nc->call->lt, t, CORE_CHANGE_FORCE,
			&v) >= 0)
		call_set_terms(nc->call, &to);
}

void node_follow(struct node *n)
{
	struct node_call *nc;

	RB_FOREACH (nc, node_tree, &n->calls) {
		if (nc->ending)
			continue;
		if (!nc->relays)
			follow_mode(nc);
		else if (nc->cost && relay_is_on(nc->relay))
			rest(nc);
	}
}
