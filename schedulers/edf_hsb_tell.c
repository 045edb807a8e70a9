/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports of edf-hsb: numbers about a task, its promises, and whether its
 * invariants hold. Changes nothing.
 */
#include "schedulers/edf_hsb.h"

unsigned hsb_explain(const struct cr_task *t, struct cr_kv *kv, unsigned max)
{
	const struct hsb_task *x = CR_TASK_CONST(t, struct hsb_task);
	const struct cr_kv all[] = {
		{ "util", x->util, CR_KV_PPM },
		{ "server_deadline", x->server.deadline, CR_KV_CLOCK_NS },
		{ "budget", t->cls == CR_BE ? 0 : hsb_budget_of(t->rq, t),
		  CR_KV_NS },
		{ "budget_left", x->server.left, CR_KV_NS },
		{ "given_away", x->server.slack, CR_KV_NS },
		{ "home_cpu", t->cls == CR_HARD ? (int64_t)x->home : -1,
		  CR_KV_COUNT },
		{ "longest_frame", hsb_longest(t->rq), CR_KV_NS },
	};

	return CR_KV_COPY(kv, max, all);
}

void hsb_promise(const struct cr_task *t, struct cr_promise *p)
{
	const struct cr_rq *rq = t->rq;
	const struct hsb_opts *o = hsb_opts_of(rq);

	if (t->cls == CR_HARD) {
		promise_by_worst_case(t, hsb_in_time(t), p);
		return;
	}
	p->kind = CR_PROMISE_SERVERS;
	p->rule = "edf-hsb, Corollary 1: on average over its frames";
	p->servers = (struct cr_servers){
		.budget = hsb_budget_of(rq, t),
		.longest = hsb_longest(rq),
		.best_effort = hsb_be_servers(o, rq->ncpu),
		.be_share_ppm = o->be_share,
		.be_period = o->be_period,
	};
}

/* How many wait in @queue; -1: something is wrong there. */
static int hsb_count(const struct cr_rq *rq, struct hsb_queue *queue,
		     enum hsb_where where)
{
	struct hsb_server *s, *before = NULL;
	int n = 0;

	RB_FOREACH (s, hsb_queue, queue) {
		if (before && hsb_rank_cmp(before, s) >= 0)
			return -1;
		if (s->where != where || (where == HSB_READY) != (s->left > 0))
			return -1;
		if (!s->is_be && (cr_task_of(s)->state != CR_QUEUED ||
				  cr_task_of(s)->rq != rq))
			return -1;
		before = s;
		n++;
	}
	return n;
}

static bool slack_is_sound(const struct cr_rq *rq)
{
	struct hsb_server *s;

	RB_FOREACH (s, hsb_slacks, &hsb_rq_of(rq)->slack)
		if (!s->in_slack || s->slack <= 0 ||
		    s->deadline <= hsb_rq_of(rq)->settled)
			return false;
	return true;
}

bool hsb_check(const struct cr_rq *rq)
{
	struct hsb_rq *q = hsb_rq_of(rq);
	int ready = hsb_count(rq, &q->ready, HSB_READY);
	int spent = hsb_count(rq, &q->spent, HSB_SPENT);
	int active = hsb_count(rq, &q->active, HSB_READY);
	unsigned serving = 0, nbe = 0, hard = 0;
	struct hsb_task *x;

	for (unsigned c = 0; c < rq->ncpu; c++) {
		int n = hsb_count(rq, &q->cpu[c].hard, HSB_READY);

		if (n < 0)
			return false;
		hard += (unsigned)n;
		serving += q->cpu[c].mode != HSB_IDLE &&
			   q->cpu[c].mode != HSB_BACKGROUND;
	}
	TAILQ_FOREACH (x, &q->be, be)
		nbe++;
	return ready >= 0 && spent >= 0 && active == (int)q->nactive &&
	       serving == q->nserving && nbe == q->nbe &&
	       nbe + hard + (unsigned)(ready + spent) == rq->nqueued &&
	       slack_is_sound(rq);
}
