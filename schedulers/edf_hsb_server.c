/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Servers: budgets and their renewal, and what becomes of what is not used.
 *
 * A server is a sporadic task of the theory: a period begins not before the
 * one before has ended, when there is work; work that was there all the time
 * makes it begin just then, even if it is noticed later. A server out of
 * budget waits for the end of the period. An overrun (live: a frame is not
 * cut) pays back: whole budgets by whole periods, the rest out of the next.
 *
 * Slack: a server whose work is done gives its budget away, to be used with its
 * deadline and until then (Caccamo, Buttazzo, Sha 2000; M-CASH). It waits among
 * the servers by that deadline. A CPU that has nothing else to serve uses it up
 * by being idle, for otherwise it would be there for a burst when others come:
 * it stands for a job that would have run by now.
 */
#include "schedulers/edf_hsb.h"

/* --- slack --- */

/* A CPU that runs on it goes on, charged to nobody. */
static void detach(struct cr_rq *rq, const struct hsb_server *s)
{
	struct hsb_rq *q = hsb_rq_of(rq);

	for (unsigned c = 0; c < rq->ncpu; c++)
		if (q->cpu[c].mode == HSB_SLACK && q->cpu[c].charged == s)
			q->cpu[c].charged = NULL;
}

void hsb_slack_drop(struct cr_rq *rq, struct hsb_server *s)
{
	if (s->in_slack)
		RB_REMOVE(hsb_slacks, &hsb_rq_of(rq)->slack, s);
	else if (s->slack > 0)
		detach(rq, s);
	s->in_slack = false;
	s->slack = 0;
}

static void offer(struct cr_rq *rq, struct hsb_server *s, cr_ns now)
{
	if (s->slack <= 0 || s->deadline <= now) {
		s->slack = 0;
		return;
	}
	s->in_slack = true;
	RB_INSERT(hsb_slacks, &hsb_rq_of(rq)->slack, s);
}

void hsb_give_away(struct cr_rq *rq, struct hsb_server *s, cr_ns now)
{
	if (s->left <= 0 || !hsb_opts_of(rq)->reclaim)
		return;
	hsb_slack_drop(rq, s);
	s->slack = s->left;
	s->left = 0;
	offer(rq, s, now);
}

struct hsb_server *hsb_slack_first(const struct cr_rq *rq)
{
	return RB_MIN(hsb_slacks, &hsb_rq_of(rq)->slack);
}

void hsb_slack_take(struct cr_rq *rq, struct hsb_server *s)
{
	RB_REMOVE(hsb_slacks, &hsb_rq_of(rq)->slack, s);
	s->in_slack = false;
}

void hsb_slack_return(struct cr_rq *rq, struct hsb_server *s, cr_ns ran,
		      cr_ns now)
{
	s->slack -= cr_ns_min(ran, s->slack);
	offer(rq, s, now);
}

/* CPUs that served nobody used up the earliest slack, until @now at most. */
static void drain(struct cr_rq *rq, cr_ns now)
{
	struct hsb_rq *q = hsb_rq_of(rq);
	cr_ns idle = (now - q->settled) * (rq->ncpu - q->nserving);
	struct hsb_server *s;

	while ((s = hsb_slack_first(rq)) && (idle > 0 || s->deadline <= now)) {
		cr_ns used = cr_ns_min(idle, s->slack);

		idle -= used;
		s->slack -= used;
		if (s->slack == 0 || s->deadline <= now)
			hsb_slack_drop(rq, s);
	}
}

/* --- budgets --- */

/* A debt of whole budgets is paid by as many periods. */
static void pay_back(struct hsb_server *s, cr_ns budget, cr_ns period)
{
	int64_t n = -s->left / budget;

	if (n <= 0)
		return;
	s->left += n * budget;
	s->deadline = cr_ns_add(s->deadline, times(n, period));
}

static void hsb_renew(struct cr_rq *rq, struct hsb_server *s, cr_ns begin,
		      cr_ns budget, cr_ns period)
{
	hsb_slack_drop(rq, s);
	s->left = cr_ns_min(s->left, 0) + budget;
	s->deadline = cr_ns_add(begin, period);
}

void hsb_charge(struct cr_rq *rq, struct hsb_server *s, cr_ns ran)
{
	const struct cr_task *t = cr_task_of(s);

	s->left -= ran;
	if (s->left < 0)
		pay_back(s, hsb_budget_of(rq, t), t->period);
}

/* --- tasks that wait --- */

static void hsb_put(struct cr_rq *rq, struct cr_task *t)
{
	struct hsb_rq *q = hsb_rq_of(rq);
	struct hsb_task *x = CR_TASK(t, struct hsb_task);
	struct hsb_server *s = &x->server;

	if (s->left <= 0) {
		s->where = HSB_SPENT;
		s->rank = s->deadline;
		RB_INSERT(hsb_queue, &q->spent, s);
		return;
	}
	s->where = HSB_READY;
	if (t->cls != CR_HARD) {
		s->rank = s->deadline;
		RB_INSERT(hsb_queue, &q->ready, s);
		return;
	}
	s->rank = t->job.deadline;
	RB_INSERT(hsb_queue, &q->cpu[x->home].hard, s);
	if (!rq->sched->preemptible) /* of the idle, only this one will do */
		cr_cpus_add(&rq->kick, x->home);
}

/* Work that comes while the period's budget is gone, or given away, waits. */
void hsb_wait(struct cr_rq *rq, struct cr_task *t, enum cr_enq why, cr_ns now)
{
	struct hsb_task *x = CR_TASK(t, struct hsb_task);
	struct hsb_server *s = &x->server;
	bool slept = why == CR_ENQ_RELEASE || why == CR_ENQ_MIGRATE;

	if (why == CR_ENQ_NEXT && s->in_slack) { /* it has more work */
		s->left += s->slack;
		hsb_slack_drop(rq, s);
	}
	if (slept)
		s->left = cr_ns_min(s->left, 0);
	if (s->left <= 0 && s->deadline <= now)
		hsb_renew(rq, s, slept ? now : s->deadline,
			  hsb_budget_of(rq, t), t->period);
	hsb_put(rq, t);
}

void hsb_unwait(struct cr_rq *rq, struct cr_task *t)
{
	struct hsb_rq *q = hsb_rq_of(rq);
	struct hsb_task *x = CR_TASK(t, struct hsb_task);
	struct hsb_queue *from = &q->ready;

	if (x->server.where == HSB_SPENT)
		from = &q->spent;
	else if (t->cls == CR_HARD)
		from = &q->cpu[x->home].hard;
	RB_REMOVE(hsb_queue, from, &x->server);
	x->server.where = HSB_OUT;
}

static void renew_tasks(struct cr_rq *rq, cr_ns now)
{
	struct hsb_rq *q = hsb_rq_of(rq);
	struct hsb_server *s;

	while ((s = RB_MIN(hsb_queue, &q->spent)) && s->deadline <= now) {
		struct cr_task *t = cr_task_of(s);

		RB_REMOVE(hsb_queue, &q->spent, s);
		hsb_renew(rq, s, s->deadline, hsb_budget_of(rq, t), t->period);
		hsb_put(rq, t);
	}
}

/* --- best effort's servers --- */

void hsb_servers_init(struct cr_rq *rq)
{
	struct hsb_rq *q = hsb_rq_of(rq);
	const struct hsb_opts *o = hsb_opts_of(rq);

	q->nserver = hsb_be_servers(o, rq->ncpu);
	q->be_budget = o->be_period / CR_PPM * o->be_share +
		       o->be_period % CR_PPM * o->be_share / CR_PPM;
	q->be_budget = cr_ns_max(q->be_budget, 1);
	for (unsigned i = 0; i < q->nserver; i++) {
		q->server[i].is_be = true;
		q->server[i].id = i;
		q->server[i].spent_at = -1;
		RB_INSERT(hsb_queue, &q->rested, &q->server[i]);
	}
}

/* Best-effort tasks that have no server and could use one. Those in the
 * background ask when they are interrupted. */
static unsigned needed(const struct hsb_rq *q)
{
	return q->nbe + q->nbe_on_slack;
}

static void activate(struct hsb_rq *q, struct hsb_server *s)
{
	s->rank = s->deadline;
	s->where = HSB_READY;
	RB_INSERT(hsb_queue, &q->active, s);
	q->nactive++;
}

static void hsb_rest(struct hsb_rq *q, struct hsb_server *s)
{
	/* analyzer: a tree that is not empty has a parent */
	s->rank = s->deadline;
	s->where = HSB_SPENT;
	RB_INSERT(hsb_queue, &q->rested, s);
}

static void renew_be(struct cr_rq *rq, cr_ns now)
{
	struct hsb_rq *q = hsb_rq_of(rq);
	struct hsb_server *s;

	while (needed(q) > q->nactive && (s = RB_MIN(hsb_queue, &q->rested)) &&
	       s->deadline <= now) {
		/* it was busy up to now: its period ended long ago */
		cr_ns begin = s->spent_at == now ? s->deadline : now;

		RB_REMOVE(hsb_queue, &q->rested, s);
		hsb_renew(rq, s, begin, q->be_budget,
			  hsb_opts_of(rq)->be_period);
		activate(q, s);
	}
}

void hsb_match_be(struct cr_rq *rq, cr_ns now)
{
	struct hsb_rq *q = hsb_rq_of(rq);

	renew_be(rq, now);
	while (q->nactive > needed(q)) {
		struct hsb_server *s = RB_MAX(hsb_queue, &q->active);

		RB_REMOVE(hsb_queue, &q->active, s);
		q->nactive--;
		hsb_rest(q, s);
		hsb_give_away(rq, s, now);
		s->left = cr_ns_min(s->left, 0);
	}
}

void hsb_be_served(struct cr_rq *rq, struct hsb_server *s, cr_ns ran, cr_ns now)
{
	struct hsb_rq *q = hsb_rq_of(rq);

	s->left -= ran;
	if (s->left > 0) {
		activate(q, s);
		return;
	}
	pay_back(s, q->be_budget, hsb_opts_of(rq)->be_period);
	s->spent_at = now;
	hsb_rest(q, s);
}

/* --- time --- */

void hsb_settle(struct cr_rq *rq, cr_ns now)
{
	struct hsb_rq *q = hsb_rq_of(rq);

	if (now > q->settled) {
		drain(rq, now);
		hsb_match_be(rq, now); /* nobody else came at that instant */
		q->settled = now;
	}
	renew_tasks(rq, now);
	renew_be(rq, now);
}

cr_ns hsb_next_renewal(const struct cr_rq *rq)
{
	struct hsb_rq *q = hsb_rq_of(rq);
	struct hsb_server *s = RB_MIN(hsb_queue, &q->spent);
	cr_ns next = s ? s->deadline : CR_NEVER;

	s = RB_MIN(hsb_queue, &q->rested);
	if (s && needed(q) > q->nactive)
		next = cr_ns_min(next, s->deadline);
	return next;
}
