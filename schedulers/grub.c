/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GRUB: constant-bandwidth servers that reclaim what others leave (Lipari and
 * Baruah 2000), by the rule for one CPU:
 *
 *	dq = -U dt	of the server that runs, U the bandwidth of the active
 *
 * A server is active while its task has a job, and from then on until its
 * virtual time d - q T / Q has come: as long as what it got is more than what
 * it would have had by then on a CPU of its own of speed Q / T.
 *
 *	      a job comes: q = Q, d = now + T
 *   INACTIVE -------------------------------> CONTENDING
 *	^				        |      ^
 *	| virtual time has come		  job done     | a job comes: q and d
 *	|				        v      | stay
 *	+--------------------------------- NON-CONTENDING
 *
 * All else is cbs's (cbs.c): budgets, deadlines, reserve=soft and hard, best
 * effort, and the isolation, for the virtual times of the active servers
 * together never gain on time by more than what the inactive leave. For the
 * same service nobody's deadline is later than under cbs, and who exceeds its
 * budget has earlier ones: what others leave is had for nothing, and not paid
 * back later. That shows most with reserve=hard, where cbs throttles and the
 * CPU idles.
 *
 * Good: as cbs, and a call whose frames are now and then above its budget is
 * rarely late while others are below theirs. Bad: the greedy one that runs has
 * all that is left, nobody shares it; time that is in no task's bandwidth is
 * given away only as fast as U is below 1.
 *
 * Run queues of one CPU only. Linux has GRUB for several, but with sums for
 * each CPU: dq = -max(Q / T, 1 - U_inactive - U_extra) dt, U_extra being the
 * bandwidth that nobody on that CPU has. With a run queue for each CPU, which
 * tasks do not leave, that is the rule above, but for the share of a CPU that
 * Linux keeps for other classes. One queue of several CPUs has no such sums.
 *
 * In the paper a job that waited already gets the deadline of a new period
 * (d = virtual time + T, q = Q); here q and d stay, as in cbs and in Linux:
 * the virtual time is the same. Where the sum of bandwidths is above 1 (no
 * admission) the rate is 1, and this is cbs.
 *
 * Bandwidths are ppm, rounded up, and virtual times, too: budgets last a
 * little shorter for it, never longer.
 *
 * Live mode: no frame is cut, see cbs.c; a frame is charged by the bandwidths
 * that were active while it ran. A frame that begins with little budget left
 * and runs on to its end takes time that others' deadlines count on, for the
 * greedy rule leaves them no slack. So soft calls are promised nothing, and as
 * long as there is a hard one, nothing is reclaimed, and this is cbs.
 */
#include "cr/promise.h"
#include "schedulers/cbs.h"
#include "schedulers/policies.h"

static const char *const reserve_names[] = { CBS_RESERVE_NAMES };

static const struct cr_opt grub_options[] = {
	CBS_OPT_ROWS(reserve_names),
	{ .name = NULL },
};

enum grub_state { INACTIVE, CONTENDING, NON_CONTENDING };

struct grub_rq {
	struct cbs_rq servers;	  /* first: see cbs.h                        */
	struct key_queue leaving; /* NON_CONTENDING, by virtual time          */
	int64_t active;		  /* sum of the bandwidths of the active      */
	cr_ns settled;		  /* charged up to here                       */
	struct cr_task *runs;	  /* on its budget; NULL: nobody is           */
};

static struct grub_rq *grub_rq_of(const struct cr_rq *rq)
{
	return rq->priv;
}

static struct cbs_task *grub_server_of(struct cr_task *t)
{
	return CR_TASK(t, struct cbs_task);
}

/* Q / T in ppm, up to 1.0, as admission has it. */
static int64_t bandwidth_of(struct cr_task *t)
{
	int64_t density = grub_server_of(t)->admitted.util;

	return cr_ns_min(cr_ns_max(density, 1), CR_PPM);
}

/* --- who is active --- */

/* A loan where nothing is cut may not come back in time for a hard task.
 */
static int64_t grub_rate_of(const struct cr_rq *rq)
{
	const struct grub_rq *g = grub_rq_of(rq);

	if (!rq->sched->preemptible && g->servers.admitted.nhard)
		return CR_PPM;
	return cr_ns_min(g->active, CR_PPM);
}

static void retire(struct grub_rq *g, struct cr_task *t)
{
	struct cbs_task *x = grub_server_of(t);

	if (x->state == NON_CONTENDING)
		key_queue_remove(&g->leaving, t);
	if (x->state != INACTIVE)
		g->active -= bandwidth_of(t);
	x->state = INACTIVE;
}

/* It has a job again. */
static void contend(struct grub_rq *g, struct cr_task *t)
{
	struct cbs_task *x = grub_server_of(t);

	if (x->state == NON_CONTENDING)
		key_queue_remove(&g->leaving, t);
	else if (x->state == INACTIVE)
		g->active += bandwidth_of(t);
	x->state = CONTENDING;
}

/* d - q T / Q, rounded up; a debt lasts beyond the deadline. */
static cr_ns virtual_time(struct cr_task *t)
{
	const struct cbs_task *x = grub_server_of(t);
	int64_t bandwidth = bandwidth_of(t);

	if (x->left >= 0)
		return x->deadline - x->left / bandwidth;
	return cr_ns_add(x->deadline, -x->left / bandwidth + 1);
}

/* It has none. Its place is free to tell when it leaves. */
static void grub_rest(struct grub_rq *g, struct cr_task *t, cr_ns now)
{
	struct cbs_task *x = grub_server_of(t);

	if (virtual_time(t) <= now) {
		retire(g, t);
		return;
	}
	x->state = NON_CONTENDING;
	x->keyed.key = virtual_time(t);
	key_queue_insert(&g->leaving, t);
}

static void pass(struct cr_rq *rq, cr_ns until)
{
	struct grub_rq *g = grub_rq_of(rq);

	if (g->runs && until > g->settled)
		cbs_charge(g->runs, until - g->settled, grub_rate_of(rq));
	g->settled = until;
}

/* Time has come to @now. First in every callback. */
static void grub_settle(struct cr_rq *rq, cr_ns now)
{
	struct grub_rq *g = grub_rq_of(rq);
	struct keyed *x;

	while ((x = RB_MIN(key_queue, &g->leaving)) && x->key <= now) {
		pass(rq, x->key);
		retire(g, cr_task_of(x));
	}
	pass(rq, now);
}

/* Is less left than a ns takes? The rest is added to the next budget, unless
 * the server waits for that: it never has more than its own, not by a ns. */
static bool is_used_up(const struct cr_rq *rq, struct cr_task *t)
{
	return grub_server_of(t)->left < grub_rate_of(rq);
}

/* A running task stops when its budget is used up: now, because others have
 * become active, or later, unless others go. */
static void watch(struct cr_rq *rq, cr_ns now)
{
	const struct grub_rq *g = grub_rq_of(rq);

	if (!g->runs || !rq->sched->preemptible)
		return;
	if (is_used_up(rq, g->runs))
		cr_cpus_add(&rq->kick, (unsigned)g->runs->cpu);
	else
		cbs_arm(rq, cr_ns_add(now, grub_server_of(g->runs)->left /
						   grub_rate_of(rq)));
}

/* --- the callbacks --- */

static void grub_task_add(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	grub_settle(rq, now);
	cbs_task_add(rq, t, now);
}

static void grub_task_del(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	grub_settle(rq, now);
	retire(grub_rq_of(rq), t);
	cbs_task_del(rq, t, now);
	watch(rq, now);
}

static void grub_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			 cr_ns now)
{
	struct grub_rq *g = grub_rq_of(rq);
	bool comes = why == CR_ENQ_RELEASE || why == CR_ENQ_MIGRATE;

	grub_settle(rq, now);
	if (!grub_server_of(t)->be) {
		if (comes && grub_server_of(t)->state == INACTIVE)
			cbs_renew(t, now);
		contend(g, t);
	}
	cbs_wait(rq, t, why, grub_rate_of(rq), now);
	watch(rq, now);
}

static void grub_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	struct grub_rq *g = grub_rq_of(rq);

	grub_settle(rq, now);
	cbs_dequeue(rq, t, now);
	if (!grub_server_of(t)->be)
		grub_rest(g, t, now);
	watch(rq, now);
}

static struct cr_task *grub_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct grub_rq *g = grub_rq_of(rq);
	struct cr_task *t;

	grub_settle(rq, now);
	while ((t = cbs_take(rq, cpu)) && !grub_server_of(t)->be &&
	       is_used_up(rq, t))
		cbs_wait(rq, t, CR_ENQ_REQUEUE, grub_rate_of(rq), now);
	g->runs = t && !grub_server_of(t)->be ? t : NULL;
	watch(rq, now);
	return t;
}

static void grub_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		      cr_ns ran, enum cr_stop why, cr_ns now)
{
	struct grub_rq *g = grub_rq_of(rq);

	(void)cpu, (void)ran;
	grub_settle(rq, now);
	g->runs = NULL;
	if (grub_server_of(t)->be)
		cbs_stop_be(t, why);
	else if (why == CR_STOP_DONE || why == CR_STOP_DROP)
		grub_rest(g, t, now);
}

static void grub_tick(struct cr_rq *rq, cr_ns now)
{
	grub_settle(rq, now);
	cbs_tick(rq, now);
	watch(rq, now);
}

static void grub_promise(const struct cr_task *t, struct cr_promise *p)
{
	if (t->cls == CR_SOFT && !t->rq->sched->preemptible)
		p->rule = "frames are not cut: what others reclaim may make "
			  "it late; class hard has a bound";
	else
		cbs_promise(t, p);
}

static unsigned grub_explain(const struct cr_task *t, struct cr_kv *kv,
			     unsigned max)
{
	const struct cbs_task *x = CR_TASK_CONST(t, struct cbs_task);
	const struct cr_kv own[] = {
		{ "active", x->state != INACTIVE, CR_KV_COUNT },
		{ "active_sum", grub_rq_of(t->rq)->active, CR_KV_PPM },
	};
	unsigned n = CR_KV_COPY(kv, max, own);

	return n + cbs_explain(t, kv + n, max - n);
}

/* The bandwidths of a queue whose tasks are all in @state; -1: one is not. */
static int64_t grub_sum_of(struct key_queue *queue, enum grub_state state)
{
	struct keyed *x;
	int64_t sum = 0;

	RB_FOREACH (x, key_queue, queue) {
		struct cr_task *t = cr_task_of(x);

		if (grub_server_of(t)->be)
			continue;
		if (grub_server_of(t)->state != state)
			return -1;
		sum += bandwidth_of(t);
	}
	return sum;
}

/* Active are those that wait, that leave, and one that runs or is about to be
 * queued again. */
static bool grub_check(const struct cr_rq *rq)
{
	struct grub_rq *g = grub_rq_of(rq);
	int64_t ready = grub_sum_of(&g->servers.ready, CONTENDING);
	int64_t throttled = grub_sum_of(&g->servers.throttled, CONTENDING);
	int64_t leaving = grub_sum_of(&g->leaving, NON_CONTENDING);

	return ready >= 0 && throttled >= 0 && leaving >= 0 &&
	       ready + throttled + leaving +
			       (g->runs ? bandwidth_of(g->runs) : 0) <=
		       g->active &&
	       cbs_check(rq);
}

const struct cr_sched_ops cr_sched_grub = {
	.abi = CR_SCHED_ABI,
	.flags = CR_F_GUARANTEE | CR_F_IDLES | CR_F_ONE_CPU,
	.name = "grub",
	.help = "cbs, where a call beyond its budget has what others leave",
	.rq_size = sizeof(struct grub_rq),
	.task_size = sizeof(struct cbs_task),
	.opts_size = sizeof(struct cbs_opts),
	.opts = grub_options,
	.rq_init = cbs_rq_init,
	.admit = deadline_admit,
	.task_add = grub_task_add,
	.task_del = grub_task_del,
	.enqueue = grub_enqueue,
	.dequeue = grub_dequeue,
	.pick = grub_pick,
	.stop = grub_stop,
	.tick = grub_tick,
	.explain = grub_explain,
	.promise = grub_promise,
	.check = grub_check,
};
