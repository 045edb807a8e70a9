/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EEVDF: earliest eligible virtual deadline first (Stoica and Abdel-Wahab,
 * "Earliest eligible virtual deadline first", 1995; Linux since 6.6).
 *
 * Calls that always have frames get CPU time in proportion to their weights
 * (those of cfs: nice_weight.h). A call asks for one slice of service after the
 * other. Its virtual runtime v is its service divided by its weight w, virtual
 * time V the mean of all v by weight, and w (V - v) its lag: the service that
 * it was not given. A request is eligible when its v has come, that is, when
 * nothing was given to it in advance, and its virtual deadline is v + slice /
 * w. Of the eligible the earliest deadline is served. Classes and deadlines of
 * frames are ignored.
 *
 * A call that sleeps leaves with its lag, two slices at most, and has it again
 * when it comes back, with a new request. So nobody gains by sleeping, where
 * cfs gives a bonus. (Linux also lets a call with a negative lag stay in the
 * queue until it is eligible: "delayed dequeue". Here the lag is kept however
 * long the sleep is.) It displaces a running call with a later deadline, if it
 * is eligible itself.
 *
 * Good: overload is shared, nobody starves, and the shares are closer than
 * those of cfs: with all calls there all the time, on one CPU with preemption,
 * nobody is ever ahead of its share or behind it by more than a slice, however
 * many there are (the paper's theorem 1). A short slice is served early. Bad:
 * no deadline of a frame is respected, and light calls need weights, or they
 * get what heavy codecs get.
 *
 * Several CPUs of one run queue share one order. A call heavier than one CPU
 * can serve would collect arrears for good, which the others would have in
 * advance: whoever comes back from a CPU has two slices and its turn of lag at
 * most. If nobody is eligible, the first that will be is served.
 *
 * Live mode: no frame is cut; a decision is made after each. A request may take
 * a frame more than a slice, and so may a call be ahead.
 *
 * Arithmetic: exact while calls are runnable. Virtual time is a uint64_t that
 * wraps and is compared by signed difference, as in cfs.c; weights and turns
 * are bounded as there. V is kept as a whole number and a rest, so that the sum
 * of w (v - V) is the rest, in [0, sum of w).
 */
#include "schedulers/eevdf_queue.h"
#include "schedulers/nice_weight.h"
#include "schedulers/policies.h"

#define LONGEST_TURN (INT64_C(1) << 42)

struct eevdf_rq {
	struct eevdf_tree queue;
	uint64_t now;	 /* virtual time */
	uint64_t rest;	 /* of its last division */
	uint64_t weight; /* of the active calls */
	unsigned served; /* calls that were picked, and not stopped since */
	/* Active calls that have left their CPUs and were not enqueued again
	 * yet. If they are not at this instant, they sleep. */
	struct cr_list stopped;
	cr_ns stopped_at;
};

struct eevdf_opts {
	int64_t slice;
};

static const struct cr_opt eevdf_options[] = {
	{ .name = "slice",
	  .help = "service that a call asks for at a time",
	  .kind = CR_OPT_TIME,
	  .offset = offsetof(struct eevdf_opts, slice),
	  .min = CR_US,
	  .max = 10 * CR_SEC,
	  .dflt = 750 * CR_US },
	{ .name = NULL },
};

static cr_ns eevdf_slice_of(const struct cr_rq *rq)
{
	return CR_OPTS(rq, struct eevdf_opts)->slice;
}

/* Rounded down; @b > 0. */
static int64_t eevdf_quotient(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* As eevdf_first(), with a CPU mask in the way; if nobody is eligible, the
 * first that will be; or NULL. */
static struct eevdf_task *eevdf_scan(const struct cr_rq *rq, unsigned cpu)
{
	struct eevdf_rq *e = CR_RQ(rq, struct eevdf_rq);
	struct eevdf_task *x, *first = NULL;

	RB_FOREACH (x, eevdf_tree, &e->queue) {
		if (!cr_may_run(rq, cr_task_of(x), cpu))
			continue;
		if (eevdf_is_eligible(x, e->now))
			return x;
		if (!first || eevdf_lead(x->eligible, first->eligible) < 0)
			first = x;
	}
	return first;
}

/* --- virtual time --- */

/* The sum of w (v - V) is @sum: let V be the mean. */
static void set_mean(struct eevdf_rq *e, int64_t sum)
{
	int64_t weight = (int64_t)e->weight, by = 0;

	if (weight)
		by = eevdf_quotient(sum, weight);
	e->now += (uint64_t)by;
	e->rest = (uint64_t)(sum - by * weight);
}

static int64_t lag_of(const struct eevdf_rq *e, const struct eevdf_task *x)
{
	return eevdf_lead(e->now, x->vruntime) * (int64_t)x->weight;
}

/* @ran more (or, corrected, less) for @x. */
static void eevdf_charge(struct eevdf_rq *e, struct eevdf_task *x, cr_ns ran)
{
	cr_ns service = cr_ns_max(cr_ns_min(ran, LONGEST_TURN), -LONGEST_TURN);
	int64_t sum = service * (int64_t)NEUTRAL + (int64_t)x->rest;
	int64_t weight = (int64_t)x->weight, by = eevdf_quotient(sum, weight);

	x->rest = (uint64_t)(sum - by * weight);
	x->vruntime += (uint64_t)by;
	set_mean(e, (int64_t)e->rest + by * weight);
}

/* Turns under way, as far as they have come. */
static void count_turns(struct cr_rq *rq, cr_ns now)
{
	struct eevdf_rq *e = CR_RQ(rq, struct eevdf_rq);

	for (unsigned c = 0; e->served && c < rq->ncpu; c++) {
		struct cr_task *r = rq->cpu[c].running;
		struct eevdf_task *x = r ? CR_TASK(r, struct eevdf_task) : NULL;
		cr_ns more;

		if (!x || !x->served)
			continue;
		more = now - rq->cpu[c].since - x->counted;
		if (more <= 0)
			continue;
		eevdf_charge(e, x, more);
		x->counted += more;
	}
}

static void eevdf_ask(const struct cr_rq *rq, struct eevdf_task *x)
{
	uint64_t service = (uint64_t)eevdf_slice_of(rq) * NEUTRAL;

	x->eligible = x->vruntime;
	x->deadline = x->vruntime + (service + x->weight - 1) / x->weight;
}

/* Others' virtual runtimes stay, so what @x was not given is theirs. */
static void fall_asleep(struct cr_rq *rq, struct eevdf_task *x)
{
	struct eevdf_rq *e = CR_RQ(rq, struct eevdf_rq);
	int64_t most = 2 * eevdf_slice_of(rq) * (int64_t)NEUTRAL;
	int64_t lag = lag_of(e, x);

	x->active = false;
	x->lag = cr_ns_max(cr_ns_min(lag, most), -most);
	e->weight -= x->weight;
	set_mean(e, (int64_t)e->rest + lag);
}

/* V goes back so far that all lags together stay 0, see fall_asleep(). An idle
 * CPU owes nothing. */
static void eevdf_wake(struct cr_rq *rq, struct eevdf_task *x)
{
	struct eevdf_rq *e = CR_RQ(rq, struct eevdf_rq);
	int64_t others = (int64_t)e->weight, back, own;

	x->active = true;
	x->rest = 0;
	e->weight += x->weight;
	if (!others) {
		x->vruntime = e->now;
		return;
	}
	back = eevdf_quotient(x->lag, others);
	own = eevdf_quotient(x->lag, (int64_t)x->weight);
	e->now -= (uint64_t)back;
	x->vruntime = e->now - (uint64_t)own;
	set_mean(e,
		 (int64_t)e->rest + others * back - (int64_t)x->weight * own);
}

/* Where calls can get less than their share for good. */
static void forgive(struct cr_rq *rq, struct eevdf_task *x)
{
	struct eevdf_rq *e = CR_RQ(rq, struct eevdf_rq);
	cr_ns most = 2 * eevdf_slice_of(rq) + cr_ns_min(x->turn, LONGEST_TURN);
	int64_t by = eevdf_lead(e->now, x->vruntime) -
		     (int64_t)((uint64_t)most * NEUTRAL / x->weight);

	if (rq->ncpu == 1 || by <= 0)
		return;
	x->vruntime += (uint64_t)by;
	x->eligible += (uint64_t)by;
	x->deadline += (uint64_t)by;
	set_mean(e, (int64_t)e->rest + by * (int64_t)x->weight);
}

static struct eevdf_task *of_node(struct cr_list_node *n)
{
	return (struct eevdf_task *)(void *)n;
}

/* The task that has stopped and was not enqueued again. */
static void let_sleep(struct cr_rq *rq)
{
	struct eevdf_rq *e = CR_RQ(rq, struct eevdf_rq);
	struct cr_list_node *n;

	while ((n = TAILQ_FIRST(&e->stopped))) {
		TAILQ_REMOVE(&e->stopped, n, link);
		fall_asleep(rq, of_node(n));
	}
}

/* --- the callbacks --- */

static int eevdf_rq_init(struct cr_rq *rq)
{
	TAILQ_INIT(&CR_RQ(rq, struct eevdf_rq)->stopped);
	return 0;
}

static void eevdf_task_add(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)rq, (void)now;
	CR_TASK(t, struct eevdf_task)->weight = nice_weight(t);
}

static void eevdf_task_del(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)t, (void)now;
	let_sleep(rq);
}

/* Only a call just enqueued and running ones are compared by this. */
static bool eevdf_before(const struct cr_task *a, const struct cr_task *b,
			 cr_ns now)
{
	const struct eevdf_task *x = CR_TASK_CONST(a, struct eevdf_task);
	const struct eevdf_task *y = CR_TASK_CONST(b, struct eevdf_task);
	int64_t d = eevdf_lead(x->deadline, y->deadline);

	(void)now;
	if (a->state == CR_QUEUED &&
	    !eevdf_is_eligible(x, CR_RQ(a->rq, struct eevdf_rq)->now))
		return false;
	return d ? d < 0 : a->id < b->id;
}

static void eevdf_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			  cr_ns now)
{
	struct eevdf_rq *e = CR_RQ(rq, struct eevdf_rq);
	struct eevdf_task *x = CR_TASK(t, struct eevdf_task);
	bool goes_on = why == CR_ENQ_NEXT || why == CR_ENQ_REQUEUE;

	if (goes_on && x->active) {
		TAILQ_REMOVE(&e->stopped, &x->stopped, link);
		forgive(rq, x);
		eevdf_insert(&e->queue, x);
		return;
	}
	let_sleep(rq);
	count_turns(rq, now);
	eevdf_wake(rq, x);
	eevdf_ask(rq, x);
	eevdf_insert(&e->queue, x);
	cr_kick_worst(rq, t, eevdf_before, now);
}

static void eevdf_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	struct eevdf_task *x = CR_TASK(t, struct eevdf_task);

	let_sleep(rq);
	count_turns(rq, now);
	eevdf_take_out(&CR_RQ(rq, struct eevdf_rq)->queue, x);
	fall_asleep(rq, x);
}

/* The rest of its request, at least a nanosecond. */
static cr_ns rest_of_slice(const struct eevdf_task *x)
{
	int64_t left =
		eevdf_lead(x->deadline, x->vruntime) * (int64_t)x->weight -
		(int64_t)x->rest;

	return cr_ns_max(eevdf_quotient(left - 1, (int64_t)NEUTRAL) + 1, 1);
}

static struct cr_task *eevdf_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct eevdf_rq *e = CR_RQ(rq, struct eevdf_rq);
	struct eevdf_task *x = RB_ROOT(&e->queue);

	let_sleep(rq);
	count_turns(rq, now);
	if (!x)
		return NULL;
	x = eevdf_first(x,
			eevdf_lead(x->least, e->now) > 0 ? x->least : e->now);
	if (!cr_may_run(rq, cr_task_of(x), cpu))
		x = eevdf_scan(rq, cpu);
	if (!x)
		return NULL;
	eevdf_take_out(&e->queue, x);
	x->served = true;
	e->served++;
	x->counted = 0;
	cr_task_of(x)->slice = rest_of_slice(x);
	return cr_task_of(x);
}

static void eevdf_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		       cr_ns ran, enum cr_stop why, cr_ns now)
{
	struct eevdf_rq *e = CR_RQ(rq, struct eevdf_rq);
	struct eevdf_task *x = CR_TASK(t, struct eevdf_task);

	(void)cpu, (void)why;
	if (now > e->stopped_at)
		let_sleep(rq);
	eevdf_charge(e, x, ran - x->counted);
	x->turn = ran;
	x->served = false;
	e->served--;
	if (eevdf_lead(x->vruntime, x->deadline) >= 0)
		eevdf_ask(rq, x);
	TAILQ_INSERT_TAIL(&e->stopped, &x->stopped, link);
	e->stopped_at = now;
}

static unsigned eevdf_explain(const struct cr_task *t, struct cr_kv *kv,
			      unsigned max)
{
	const struct eevdf_task *x = CR_TASK_CONST(t, struct eevdf_task);
	const struct eevdf_rq *e = CR_RQ(t->rq, struct eevdf_rq);
	int64_t lag = x->active ? lag_of(e, x) : x->lag;
	const struct cr_kv all[] = {
		{ "lag", eevdf_quotient(lag, (int64_t)NEUTRAL), CR_KV_NS },
		{ "eligible", x->active && eevdf_is_eligible(x, e->now),
		  CR_KV_COUNT },
		{ "weight", (int64_t)(x->weight >> 10), CR_KV_COUNT },
		{ "slice", t->slice, CR_KV_NS },
	};

	return CR_KV_COPY(kv, max, all);
}

/* --- check --- */

/* The terms of which virtual time is the mean. */
struct mean {
	uint64_t weight, sum;
};

static void add_to(struct mean *m, const struct eevdf_rq *e,
		   const struct eevdf_task *x)
{
	m->weight += x->weight;
	m->sum += x->weight * (x->vruntime - e->now);
}

static bool eevdf_queue_check(const struct cr_rq *rq, struct mean *m)
{
	struct eevdf_rq *e = CR_RQ(rq, struct eevdf_rq);
	struct eevdf_task *x, *before = NULL;
	unsigned n = 0;

	RB_FOREACH (x, eevdf_tree, &e->queue) {
		if (before && eevdf_cmp(before, x) >= 0)
			return false;
		if (cr_task_of(x)->state != CR_QUEUED || !x->active ||
		    x->served || x->least != eevdf_least_below(x) ||
		    eevdf_lead(x->deadline, x->vruntime) <= 0)
			return false;
		add_to(m, e, x);
		before = x;
		n++;
	}
	return n == rq->nqueued;
}

/* Sorted, complete, and virtual time is the mean. */
static bool eevdf_check(const struct cr_rq *rq)
{
	struct eevdf_rq *e = CR_RQ(rq, struct eevdf_rq);
	struct mean m = { 0, 0 };
	struct cr_list_node *n;

	if (!eevdf_queue_check(rq, &m))
		return false;
	TAILQ_FOREACH (n, &e->stopped, link)
		add_to(&m, e, of_node(n));
	/* as long as this policy takes over, running calls have others' memory
	 */
	for (unsigned c = 0; e->served && c < rq->ncpu; c++) {
		struct cr_task *r = rq->cpu[c].running;

		if (r && CR_TASK(r, struct eevdf_task)->served)
			add_to(&m, e, CR_TASK(r, struct eevdf_task));
	}
	return m.weight == e->weight && m.sum == e->rest &&
	       (e->rest < e->weight || !e->weight);
}

const struct cr_sched_ops cr_sched_eevdf = {
	.abi = CR_SCHED_ABI,
	.flags = CR_F_SLICED,
	.name = "eevdf",
	.help = "weighted fair shares: earliest eligible virtual deadline "
		"first",
	.rq_size = sizeof(struct eevdf_rq),
	.task_size = sizeof(struct eevdf_task),
	.opts_size = sizeof(struct eevdf_opts),
	.opts = eevdf_options,
	.rq_init = eevdf_rq_init,
	.task_add = eevdf_task_add,
	.task_del = eevdf_task_del,
	.enqueue = eevdf_enqueue,
	.dequeue = eevdf_dequeue,
	.pick = eevdf_pick,
	.stop = eevdf_stop,
	.explain = eevdf_explain,
	.check = eevdf_check,
};
