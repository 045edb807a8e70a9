/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Servers of cbs and grub: budgets and deadlines, and the queues over them.
 */
#include "schedulers/cbs.h"

#include "schedulers/admission.h"

/* One turn counts at most 73 minutes, and a debt at most two of them: with a
 * rate of 1.0 that fits into 63 bits. */
#define LONGEST_TURN (INT64_C(1) << 42)
#define LARGEST_DEBT (-LONGEST_TURN * CR_PPM)

static struct cbs_rq *cbs_rq_of(const struct cr_rq *rq)
{
	return rq->priv;
}

static struct cbs_task *cbs_server_of(struct cr_task *t)
{
	return CR_TASK(t, struct cbs_task);
}

static bool is_hard(const struct cr_rq *rq)
{
	return CR_OPTS(rq, struct cbs_opts)->reserve == CBS_HARD;
}

/* --- joining and leaving --- */

/* Where frames are not cut, an overrun is over before the server can react. */
int cbs_rq_init(struct cr_rq *rq)
{
	struct deadline_rq *d = &cbs_rq_of(rq)->admitted;

	d->margin = CR_OPTS(rq, struct cbs_opts)->margin;
	d->isolated = rq->sched->preemptible;
	return 0;
}

void cbs_task_add(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	struct cbs_task *x = cbs_server_of(t);
	cr_ns budget = deadline_budget(&cbs_rq_of(rq)->admitted, t);

	deadline_add(&cbs_rq_of(rq)->admitted, t, &x->admitted);
	x->be = t->cls == CR_BE;
	if (x->be)
		return;
	x->period = cr_ns_min(t->period, t->rel_deadline);
	x->budget = cr_ns_max(cr_ns_min(budget, x->period), 1);
	cbs_renew(t, now);
}

void cbs_task_del(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	deadline_del(&cbs_rq_of(rq)->admitted, t, &cbs_server_of(t)->admitted);
}

/* --- budgets --- */

void cbs_renew(struct cr_task *t, cr_ns now)
{
	struct cbs_task *x = cbs_server_of(t);

	x->left = x->budget * CR_PPM;
	x->deadline = cr_ns_add(now, x->period);
}

void cbs_charge(struct cr_task *t, cr_ns ran, int64_t rate)
{
	struct cbs_task *x = cbs_server_of(t);

	if (x->left > LARGEST_DEBT)
		x->left -= cr_ns_min(ran, LONGEST_TURN) * rate;
}

/* Less than @least is left, or a debt: as many periods as it takes. Returns
 * when the last of them begins. A deadline that has passed nevertheless is a
 * sign of overload: the server begins anew, as in Linux. By the rule alone the
 * deadlines of those who are always busy would fall behind the time ever more,
 * and who slept once would wait for all of them. */
static cr_ns postpone(struct cr_task *t, int64_t least, cr_ns now)
{
	struct cbs_task *x = cbs_server_of(t);
	int64_t full = x->budget * CR_PPM, n = 0;
	cr_ns begin;

	if (x->left < 0) {
		n = -x->left / full;
		x->left %= full;
	}
	x->left += full;
	if (x->left < least) {
		x->left += full;
		n++;
	}
	begin = cr_ns_add(x->deadline, times(n, x->period));
	x->deadline = cr_ns_add(begin, x->period);
	if (x->deadline <= now)
		cbs_renew(t, now);
	return begin;
}

/* --- the queues --- */

static void make_ready(struct cbs_rq *q, struct cr_task *t)
{
	struct cbs_task *x = cbs_server_of(t);

	x->keyed.key = cr_ns_min(x->deadline, CBS_BEHIND - 1);
	key_queue_insert(&q->ready, t);
}

/* It waits with what was left, if that was less than a ns takes: in its next
 * period that would be more than its budget. */
static void throttle(struct cr_rq *rq, struct cr_task *t, cr_ns until)
{
	struct cbs_task *x = cbs_server_of(t);

	x->left = cr_ns_min(x->left, x->budget * CR_PPM);
	x->throttled = true;
	x->keyed.key = until;
	key_queue_insert(&cbs_rq_of(rq)->throttled, t);
	cbs_rq_of(rq)->nthrottled++;
	cbs_arm(rq, until);
}

static void unthrottle(struct cbs_rq *q, struct cr_task *t)
{
	key_queue_remove(&q->throttled, t);
	q->nthrottled--;
	cbs_server_of(t)->throttled = false;
}

/* As cr_kick_worst(), but no CPU is kept for the throttled. */
static void displace(struct cr_rq *rq, const struct cr_task *t, cr_ns now)
{
	unsigned waiting = rq->nqueued - cbs_rq_of(rq)->nthrottled, idle = 0;
	const struct cr_task *last = NULL;

	if (!rq->sched->preemptible)
		return;
	for (unsigned c = 0; c < rq->ncpu; c++) {
		const struct cr_task *r = rq->cpu[c].running;

		if (!cr_may_run(rq, t, c) || cr_cpus_has(&rq->kick, c))
			continue;
		if (!r && ++idle >= waiting)
			return;
		if (r && (!last || key_before(last, r, now)))
			last = r;
	}
	if (last && key_before(t, last, now))
		cr_cpus_add(&rq->kick, (unsigned)last->cpu);
}

static void cbs_wait_be(struct cbs_rq *q, struct cr_task *t, enum cr_enq why)
{
	struct cbs_task *x = cbs_server_of(t);

	if (why != CR_ENQ_REQUEUE)
		x->keyed.key = CBS_BEHIND + be_share_start(&q->share, &x->flow);
	key_queue_insert(&q->ready, t);
}

void cbs_wait(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
	      int64_t least, cr_ns now)
{
	struct cbs_rq *q = cbs_rq_of(rq);
	struct cbs_task *x = cbs_server_of(t);
	cr_ns begin = now;

	if (!x->be && x->left < least)
		begin = postpone(t, least, now);
	if (is_hard(rq) && begin > now) {
		throttle(rq, t, begin);
		return;
	}
	if (x->be)
		cbs_wait_be(q, t, why);
	else
		make_ready(q, t);
	if (why != CR_ENQ_REQUEUE)
		displace(rq, t, now);
}

void cbs_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	if (cbs_server_of(t)->throttled)
		unthrottle(cbs_rq_of(rq), t);
	else
		key_queue_remove(&cbs_rq_of(rq)->ready, t);
}

static void arm_renewal(struct cr_rq *rq)
{
	struct keyed *x = RB_MIN(key_queue, &cbs_rq_of(rq)->throttled);

	if (x)
		cbs_arm(rq, x->key);
}

void cbs_tick(struct cr_rq *rq, cr_ns now)
{
	struct cbs_rq *q = cbs_rq_of(rq);
	struct keyed *x;

	while ((x = RB_MIN(key_queue, &q->throttled)) && x->key <= now) {
		struct cr_task *t = cr_task_of(x);

		unthrottle(q, t);
		make_ready(q, t);
		displace(rq, t, now);
	}
	arm_renewal(rq);
}

struct cr_task *cbs_take(struct cr_rq *rq, unsigned cpu)
{
	struct cbs_rq *q = cbs_rq_of(rq);
	struct cr_task *t = key_queue_pick(rq, &q->ready, cpu);

	if (!t) {
		arm_renewal(rq);
		return NULL;
	}
	if (cbs_server_of(t)->be)
		be_share_serve(&q->share, &cbs_server_of(t)->flow);
	t->slice = CR_NEVER;
	return t;
}

void cbs_stop_be(struct cr_task *t, enum cr_stop why)
{
	if (why == CR_STOP_DONE || why == CR_STOP_DROP)
		be_share_done(&cbs_server_of(t)->flow, t->weight, t->job.ran);
}

/* --- reports --- */

unsigned cbs_explain(const struct cr_task *t, struct cr_kv *kv, unsigned max)
{
	const struct cbs_task *x = CR_TASK_CONST(t, struct cbs_task);
	const struct cr_kv share[] = {
		{ "start", x->be ? x->flow.start : 0, CR_KV_COUNT },
	};
	const struct cr_kv server[] = {
		{ "server_deadline", x->deadline, CR_KV_CLOCK_NS },
		{ "server_period", x->period, CR_KV_NS },
		{ "budget", x->budget, CR_KV_NS },
		{ "budget_left", x->left / CR_PPM, CR_KV_NS },
		{ "throttled", x->throttled, CR_KV_COUNT },
		{ "density", x->admitted.util, CR_KV_PPM },
	};

	return x->be ? CR_KV_COPY(kv, max, share) : CR_KV_COPY(kv, max, server);
}

/* Others may do what they like where frames are cut; but a job beyond its
 * budget is late by its own fault, and so is the one after it. */
void cbs_promise(const struct cr_task *t, struct cr_promise *p)
{
	const struct cbs_task *x = CR_TASK_CONST(t, struct cbs_task);

	if (x->budget >= cr_task_worst(t))
		deadline_promise(t, p);
	else
		p->rule = "its budget is below its worst case: a margin or "
			  "class hard gives it a bound";
}

/* Members of @queue; -1: something is wrong there. */
static int cbs_count(struct key_queue *queue, bool throttled)
{
	struct keyed *x;
	int n = 0;

	RB_FOREACH (x, key_queue, queue) {
		struct cbs_task *s = cbs_server_of(cr_task_of(x));

		if (s->throttled != throttled || (!s->be && s->left <= 0))
			return -1;
		n++;
	}
	return n;
}

bool cbs_check(const struct cr_rq *rq)
{
	struct cbs_rq *q = cbs_rq_of(rq);
	int ready = cbs_count(&q->ready, false);
	int throttled = cbs_count(&q->throttled, true);

	return ready >= 0 && throttled == (int)q->nthrottled &&
	       (unsigned)(ready + throttled) == rq->nqueued &&
	       key_queue_check(&q->ready, (unsigned)ready) &&
	       key_queue_check(&q->throttled, (unsigned)throttled);
}
