/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EDF-HSB: hard tasks partitioned on top, EDF on each CPU; below them global
 * EDF over servers, one for each soft task and some for best effort, which
 * serve whoever waits longest (Brandenburg and Anderson 2007; Kenna, Herman,
 * Brandenburg, Mills and Anderson 2011). Constraints, budgets: edf_hsb_admit.c.
 *
 *   hard task of this CPU > earliest server or slack > background
 *
 * A server's deadline is the end of its period. Nobody runs beyond its budget,
 * hard tasks neither, so that each class and each task is safe from all others.
 *
 * reclaim     What a server has left when its work is done is slack, and takes
 *             the server's place in the order. It goes to who is likely to be
 *             late, for the budget is used up; else to best effort; else to
 *             the earliest server, which keeps its own budget (M-CASH).
 * background  A CPU that has nothing to serve runs whoever is out of budget,
 *             at nobody's expense. Off, both: the paper's EDF-HSB-NS.
 *
 * Best effort's servers have 10 % of every CPU if nothing else is said, as in
 * the paper: that it is never starved sets this policy apart from the
 * others.
 *
 * Good: hard tasks are never late, soft ones by a bound (analysis/hsb.h) that
 * holds whatever others do, best effort always gets its servers' share. Bad:
 * work that comes early waits for its server's next period unless a CPU is
 * idle; a hard task waits for its CPU while others idle; best effort gets its
 * share even if a soft task without budget is late for it.
 *
 * Live mode: no frame is cut. Budgets are charged at the end of a frame and may
 * be overrun; the debt is paid out of the next periods. Any frame may block a
 * hard one for its length, which constraint 1 counts. Tardiness bounds do not
 * count it, slack waits for the next frame to begin, and renewals come as late
 * as ticks do, so that best effort can get a little less than its share.
 *
 * Errata of the paper: see analysis/hsb.c. It names servers' budgets and not
 * who gets the slack; the order above is ours.
 */
#include "schedulers/edf_hsb.h"
#include "schedulers/policies.h"

/* With nothing to renew, a CPU that may not take what waits for another looks
 * again then; what happens before wakes it. */
#define WATCH (10 * CR_MS)

const struct cr_opt hsb_options[] = {
	{ .name = "be-servers",
	  .help = "servers for best effort; 0: one a CPU",
	  .kind = CR_OPT_INT,
	  .offset = offsetof(struct hsb_opts, be_servers),
	  .min = 0,
	  .max = CR_MAX_CPUS,
	  .dflt = 0 },
	{ .name = "be-share",
	  .help = "budget of each, as a share of its period, which admission "
		  "keeps from calls even while there is no best effort; 0: no "
		  "servers, best effort runs in the background",
	  .kind = CR_OPT_PPM,
	  .offset = offsetof(struct hsb_opts, be_share),
	  .min = 0,
	  .max = CR_PPM,
	  .dflt = CR_PPM / 10 },
	{ .name = "be-period",
	  .help = "period of each",
	  .kind = CR_OPT_TIME,
	  .offset = offsetof(struct hsb_opts, be_period),
	  .min = 1000,
	  .max = 10 * CR_SEC,
	  .dflt = 50 * CR_MS },
	{ .name = "budget",
	  .help = "budget of a soft call over its mean cost; 0: the largest "
		  "that is feasible",
	  .kind = CR_OPT_PPM,
	  .offset = offsetof(struct hsb_opts, budget),
	  .min = 0,
	  .max = 100 * CR_PPM,
	  .dflt = 0 },
	{ .name = "epsilon",
	  .help = "the largest feasible one stays so far, in CPUs, below the "
		  "limit of bounded tardiness",
	  .kind = CR_OPT_PPM,
	  .offset = offsetof(struct hsb_opts, epsilon),
	  .min = 0,
	  .max = CR_PPM,
	  .dflt = 19000 },
	{ .name = "reclaim",
	  .help = "unused budget goes to others",
	  .kind = CR_OPT_BOOL,
	  .offset = offsetof(struct hsb_opts, reclaim),
	  .min = 0,
	  .max = 1,
	  .dflt = 1 },
	{ .name = "background",
	  .help = "idle CPUs run work without budget",
	  .kind = CR_OPT_BOOL,
	  .offset = offsetof(struct hsb_opts, background),
	  .min = 0,
	  .max = 1,
	  .dflt = 1 },
	{ .name = NULL },
};

static struct hsb_server *hsb_server_of(struct cr_task *t)
{
	return &CR_TASK(t, struct hsb_task)->server;
}

/* --- the mailbox --- */

static void hsb_arm(struct cr_rq *rq, cr_ns at)
{
	rq->next_tick = cr_ns_min(rq->next_tick, at);
}

/* Preemption is decided at the tick, when all that comes at @now is known. */
static void hsb_look_again(struct cr_rq *rq, cr_ns now)
{
	hsb_arm(rq, rq->sched->preemptible ? now : hsb_next_renewal(rq));
}

/* --- picking --- */

static struct hsb_server *first_allowed(const struct cr_rq *rq,
					struct hsb_queue *queue, unsigned cpu)
{
	struct hsb_server *s;

	RB_FOREACH (s, hsb_queue, queue)
		if (cr_may_run(rq, cr_task_of(s), cpu))
			return s;
	return NULL;
}

static struct cr_task *be_allowed(const struct cr_rq *rq, unsigned cpu)
{
	struct hsb_task *x;

	TAILQ_FOREACH (x, &hsb_rq_of(rq)->be, be)
		if (cr_may_run(rq, cr_task_of(x), cpu))
			return cr_task_of(x);
	return NULL;
}

static void unwait(struct cr_rq *rq, struct cr_task *t)
{
	struct hsb_rq *q = hsb_rq_of(rq);

	/* analyzer: there is a choice, so there is a task */
	if (t->cls != CR_BE) {
		hsb_unwait(rq, t);
		return;
	}
	TAILQ_REMOVE(&q->be, CR_TASK(t, struct hsb_task), be);
	q->nbe--;
}

/* The tasks that wait and may run on a CPU. */
struct choice {
	unsigned cpu;
	cr_ns now;
	struct hsb_server *own, *spent, *slack, *active;
	struct cr_task *be;
};

static struct choice hsb_choose(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct hsb_rq *q = hsb_rq_of(rq);
	struct choice c = { .cpu = cpu, .now = now };

	c.own = first_allowed(rq, &q->ready, cpu);
	c.spent = first_allowed(rq, &q->spent, cpu);
	c.be = be_allowed(rq, cpu);
	c.active = c.be ? RB_MIN(hsb_queue, &q->active) : NULL;
	c.slack = hsb_slack_first(rq);
	return c;
}

static struct cr_task *hsb_start(struct cr_rq *rq, const struct choice *c,
				 struct cr_task *t, enum hsb_mode mode,
				 struct hsb_server *charged)
{
	struct hsb_rq *q = hsb_rq_of(rq);
	struct hsb_cpu *cpu = &q->cpu[c->cpu];

	unwait(rq, t);
	cpu->mode = mode;
	cpu->charged = charged;
	q->nserving += mode != HSB_BACKGROUND;
	return t;
}

static struct cr_task *run_own(struct cr_rq *rq, const struct choice *c,
			       struct hsb_server *s, enum hsb_mode mode)
{
	struct cr_task *t = hsb_start(rq, c, cr_task_of(s), mode, s);

	hsb_rq_of(rq)->cpu[c->cpu].rank = s->rank;
	t->slice = s->left;
	return t;
}

static struct cr_task *run_be(struct cr_rq *rq, const struct choice *c)
{
	struct hsb_rq *q = hsb_rq_of(rq);
	struct cr_task *t = hsb_start(rq, c, c->be, HSB_BE, c->active);

	RB_REMOVE(hsb_queue, &q->active, c->active);
	q->nactive--;
	c->active->where = HSB_OUT;
	q->cpu[c->cpu].rank = c->active->deadline;
	/* analyzer: hsb_start() gives back c->be, which is there */
	t->slice = c->active->left;
	return t;
}

/* Give the slack that comes first to the task that needs it most. */
static struct cr_task *run_on_slack(struct cr_rq *rq, const struct choice *c)
{
	struct hsb_rq *q = hsb_rq_of(rq);
	struct hsb_server *s = c->slack, *user = c->spent ? c->spent : c->own;
	struct cr_task *t = user ? cr_task_of(user) : c->be;

	if (!c->spent && c->be)
		t = c->be;
	if (!t)
		return NULL;
	t->slice = cr_ns_min(s->slack, s->deadline - c->now);
	if (c->spent) /* its own budget comes then */
		t->slice = cr_ns_min(t->slice, c->spent->deadline - c->now);
	hsb_slack_take(rq, s);
	q->nbe_on_slack += t->cls == CR_BE;
	q->cpu[c->cpu].rank = s->deadline;
	return hsb_start(rq, c, t, HSB_SLACK, s);
}

static struct cr_task *run_background(struct cr_rq *rq, const struct choice *c)
{
	struct hsb_rq *q = hsb_rq_of(rq);
	bool on = hsb_opts_of(rq)->background;
	struct cr_task *t = NULL;
	cr_ns until = CR_NEVER; /* then there is budget again */

	if (c->spent && on) {
		t = cr_task_of(c->spent);
		until = c->spent->deadline;
	} else if (c->be && (on || !q->nserver)) {
		struct hsb_server *s = RB_MIN(hsb_queue, &q->rested);

		t = c->be;
		until = s ? s->deadline : CR_NEVER;
	}
	if (!t)
		return NULL;
	q->cpu[c->cpu].rank = CR_NEVER;
	t->slice = until == CR_NEVER ? CR_NEVER : cr_ns_max(until - c->now, 1);
	return hsb_start(rq, c, t, HSB_BACKGROUND, NULL);
}

static struct cr_task *run_server(struct cr_rq *rq, const struct choice *c)
{
	struct hsb_server *first = c->own;

	if (c->active && (!first || c->active->rank < first->rank))
		first = c->active;
	if (c->slack && (!first || c->slack->deadline <= first->rank)) {
		struct cr_task *t = run_on_slack(rq, c);

		if (t)
			return t;
	}
	if (!first)
		return NULL;
	return first->is_be ? run_be(rq, c) : run_own(rq, c, first, HSB_OWN);
}

static struct cr_task *hsb_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct hsb_rq *q = hsb_rq_of(rq);
	struct cr_task *t = NULL;
	struct choice c;

	hsb_settle(rq, now);
	hsb_match_be(rq, now);
	c = hsb_choose(rq, cpu, now);
	if (!RB_EMPTY(&q->cpu[cpu].hard))
		return run_own(rq, &c, RB_MIN(hsb_queue, &q->cpu[cpu].hard),
			       HSB_HARD);
	t = run_server(rq, &c);
	if (!t)
		t = run_background(rq, &c);
	if (!t) {
		hsb_arm(rq, hsb_next_renewal(rq));
		hsb_arm(rq, cr_ns_add(now, WATCH));
	}
	return t;
}

/* --- the rest of the contract --- */

static int hsb_rq_init(struct cr_rq *rq)
{
	struct hsb_rq *q = hsb_rq_of(rq);

	TAILQ_INIT(&q->be);
	hsb_servers_init(rq);
	return 0;
}

static void hsb_task_add(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	hsb_settle(rq, now);
	hsb_join(rq, t);
}

static void hsb_task_del(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	hsb_settle(rq, now);
	hsb_slack_drop(rq, hsb_server_of(t));
	hsb_leave(rq, t);
}

/* A turn ends at the tail, an interrupted one goes on where it was. */
static void hsb_wait_be(struct cr_rq *rq, struct cr_task *t, enum cr_enq why)
{
	struct hsb_rq *q = hsb_rq_of(rq);
	struct hsb_task *x = CR_TASK(t, struct hsb_task);

	if (why == CR_ENQ_REQUEUE && x->interrupted)
		TAILQ_INSERT_HEAD(&q->be, x, be);
	else
		TAILQ_INSERT_TAIL(&q->be, x, be);
	q->nbe++;
}

static void hsb_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			cr_ns now)
{
	hsb_settle(rq, now);
	if (t->cls == CR_BE)
		hsb_wait_be(rq, t, why);
	else
		hsb_wait(rq, t, why, now);
	hsb_look_again(rq, now);
}

static void hsb_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	hsb_settle(rq, now);
	unwait(rq, t);
}

static void charge_edf_hsb(struct cr_rq *rq, struct hsb_cpu *cpu, cr_ns ran,
			   cr_ns now)
{
	switch (cpu->mode) {
	case HSB_HARD:
	case HSB_OWN:
		hsb_charge(rq, cpu->charged, ran);
		break;
	case HSB_BE:
		hsb_be_served(rq, cpu->charged, ran, now);
		break;
	case HSB_SLACK:
		if (cpu->charged)
			hsb_slack_return(rq, cpu->charged, ran, now);
		break;
	case HSB_IDLE:
	case HSB_BACKGROUND:
		break;
	}
}

static void hsb_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		     cr_ns ran, enum cr_stop why, cr_ns now)
{
	struct hsb_rq *q = hsb_rq_of(rq);
	struct hsb_cpu *c = &q->cpu[cpu];
	bool over = why == CR_STOP_DONE || why == CR_STOP_DROP;

	hsb_settle(rq, now);
	charge_edf_hsb(rq, c, ran, now);
	q->nserving -= c->mode != HSB_BACKGROUND;
	q->nbe_on_slack -= c->mode == HSB_SLACK && t->cls == CR_BE;
	CR_TASK(t, struct hsb_task)->interrupted = why == CR_STOP_PREEMPT;
	*c = (struct hsb_cpu){ .hard = c->hard,
			       .windows = c->windows,
			       .load = c->load };
	if (over && t->cls == CR_SOFT)
		hsb_give_away(rq, hsb_server_of(t), now);
	hsb_look_again(rq, now);
}

/* --- preemption --- */

/*
 * The tasks that leave their CPUs, under edf-hsb. Decided once an instant, when
 * all that comes and goes is known: hard tasks take their CPUs, everybody else
 * is given a CPU of those that are left, in the global order. Policies for one
 * newcomer at a time would not see that a hard task has taken the idle CPU
 * which the newcomer before was to have.
 */

struct placing {
	struct cr_rq *rq;
	struct cr_cpus free;  /* will pick, and not a hard task */
	struct cr_cpus taken; /* by hard tasks                  */
};

/* @h, which waits for cpu[@c], is to have it. */
static bool hard_displaces(const struct cr_rq *rq, const struct hsb_server *h,
			   unsigned c)
{
	const struct hsb_cpu *cpu = &hsb_rq_of(rq)->cpu[c];
	const struct cr_task *r = rq->cpu[c].running;

	if (!h || !r || cpu->mode != HSB_HARD)
		return h;
	return h->rank != cpu->rank ? h->rank < cpu->rank : h->id < r->id;
}

static void look_at(struct placing *s, unsigned c)
{
	struct cr_rq *rq = s->rq;
	struct hsb_cpu *cpu = &hsb_rq_of(rq)->cpu[c];
	struct hsb_server *h = RB_MIN(hsb_queue, &cpu->hard);
	bool runs = rq->cpu[c].running;

	if (hard_displaces(rq, h, c))
		cr_cpus_add(&rq->kick, c);
	if (h || (runs && cpu->mode == HSB_HARD))
		cr_cpus_add(&s->taken, c);
	else if (!runs || cr_cpus_has(&rq->kick, c))
		cr_cpus_add(&s->free, c);
}

/* May the task that wants a CPU (NULL: none in particular) have this one? */
static bool hsb_fits(const struct placing *s, const struct cr_task *t,
		     unsigned c)
{
	return !t || cr_may_run(s->rq, t, c);
}

static bool place_on_free(struct placing *s, const struct cr_task *t)
{
	for (unsigned c = 0; c < s->rq->ncpu; c++)
		if (cr_cpus_has(&s->free, c) && hsb_fits(s, t, c)) {
			cr_cpus_del(&s->free, c);
			return true;
		}
	return false;
}

/* Find a CPU for a task of @rank that may not go on on its own, or comes from
 * the queues. False: there is none. */
static bool place_task(struct placing *s, const struct cr_task *t, cr_ns rank,
		       bool slack)
{
	struct cr_rq *rq = s->rq;
	struct hsb_rq *q = hsb_rq_of(rq);
	int worst = -1;

	if (place_on_free(s, t))
		return true;
	for (unsigned c = 0; c < rq->ncpu; c++)
		if (!cr_cpus_has(&s->taken, c) && !cr_cpus_has(&rq->kick, c) &&
		    hsb_fits(s, t, c) &&
		    (worst < 0 || q->cpu[c].rank > q->cpu[worst].rank))
			worst = (int)c;
	if (worst < 0 || rank >= q->cpu[worst].rank)
		return false;
	/* the background is idleness: that uses slack up as well */
	if (!slack || q->cpu[worst].rank != CR_NEVER)
		cr_cpus_add(&rq->kick, (unsigned)worst);
	return true;
}

/* Is there a CPU for a task after @rank? */
static bool some_worse_than(const struct placing *s, cr_ns rank)
{
	const struct hsb_rq *q = hsb_rq_of(s->rq);

	for (unsigned c = 0; c < s->rq->ncpu; c++)
		if (cr_cpus_has(&s->free, c) ||
		    (!cr_cpus_has(&s->taken, c) &&
		     !cr_cpus_has(&s->rq->kick, c) && q->cpu[c].rank > rank))
			return true;
	return false;
}

static void place_displaced(struct placing *s)
{
	struct hsb_rq *q = hsb_rq_of(s->rq);

	for (unsigned c = 0; c < s->rq->ncpu; c++) {
		const struct cr_task *r = s->rq->cpu[c].running;

		if (r && cr_cpus_has(&s->taken, c) &&
		    q->cpu[c].mode != HSB_HARD)
			(void)place_task(s, r, q->cpu[c].rank, false);
	}
}

/* The servers and the slack that wait, by deadline, until there is no room. */
static void place_waiting(struct placing *s)
{
	struct hsb_rq *q = hsb_rq_of(s->rq);
	struct hsb_server *own = RB_MIN(hsb_queue, &q->ready);
	struct hsb_server *be = RB_MIN(hsb_queue, &q->active);
	bool needy = q->nbe || !RB_EMPTY(&q->spent);
	struct hsb_server *slack = needy ? hsb_slack_first(s->rq) : NULL;
	unsigned nbe = q->nbe;

	while (own || (be && nbe) || slack) {
		cr_ns x = own ? own->rank : CR_NEVER;
		cr_ns y = be && nbe ? be->rank : CR_NEVER;
		cr_ns z = slack ? slack->deadline : CR_NEVER;

		if (slack && z <= x && z <= y) {
			if (!place_task(s, NULL, z, true))
				return;
			slack = RB_NEXT(hsb_slacks, NULL, slack);
		} else if (own && x <= y) {
			/* others may fit where its mask keeps it off */
			(void)place_task(s, cr_task_of(own), x, false);
			if (!some_worse_than(s, x))
				return;
			own = RB_NEXT(hsb_queue, NULL, own);
		} else {
			if (!place_task(s, NULL, y, false))
				return;
			be = RB_NEXT(hsb_queue, NULL, be);
			nbe--;
		}
	}
}

/* Kick the CPUs whose tasks are not to go on. */
static void hsb_preempt(struct cr_rq *rq)
{
	struct placing s = { .rq = rq };

	for (unsigned c = 0; c < rq->ncpu; c++)
		look_at(&s, c);
	place_displaced(&s);
	place_waiting(&s);
}

static void hsb_tick(struct cr_rq *rq, cr_ns now)
{
	hsb_settle(rq, now);
	hsb_match_be(rq, now);
	if (rq->sched->preemptible)
		hsb_preempt(rq);
	hsb_arm(rq, hsb_next_renewal(rq));
}

/* --- the policy --- */

/* --- reports --- */

static unsigned hsb_explain(const struct cr_task *t, struct cr_kv *kv,
			    unsigned max)
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

static void hsb_promise(const struct cr_task *t, struct cr_promise *p)
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

static bool hsb_check(const struct cr_rq *rq)
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

const struct cr_sched_ops cr_sched_edf_hsb = {
	.abi = CR_SCHED_ABI,
	.flags = CR_F_SLICED | CR_F_GUARANTEE | CR_F_IDLES,
	.name = HSB_POLICY,
	.help = "hard tasks first on their CPUs, then global EDF over budgets "
		"for soft tasks and best effort",
	.rq_size = sizeof(struct hsb_rq),
	.task_size = sizeof(struct hsb_task),
	.opts_size = sizeof(struct hsb_opts),
	.opts = hsb_options,
	.rq_init = hsb_rq_init,
	.admit = hsb_admit,
	.task_add = hsb_task_add,
	.task_del = hsb_task_del,
	.enqueue = hsb_enqueue,
	.dequeue = hsb_dequeue,
	.pick = hsb_pick,
	.stop = hsb_stop,
	.tick = hsb_tick,
	.explain = hsb_explain,
	.promise = hsb_promise,
	.check = hsb_check,
};
