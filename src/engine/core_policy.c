/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core's memory and its policy: run queues over the CPUs, the policy's
 * options and private areas (everything is allocated here, nothing while jobs
 * run), admission, and replacement.
 *
 * May a task join, and where: the policy's own test, or the guard for policies
 * that have none (worst fit by load, bounded by the capacity of the CPUs; load
 * being cr_task_demand() / period).
 *
 * The policy is replaced under live tasks, all or nothing. A policy is pure, so
 * everything it knows lies in the private areas of tasks and run queues. Those
 * of the old policy are put aside byte by byte (their addresses stay, so
 * pointers between them stay good), the new policy takes over in their place,
 * and if it refuses, the bytes are put back.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "engine/core.h"
#include "engine/core_state.h"
#include "schedulers/registry.h"

static bool touches(const struct cr_rq *rq, const struct cr_task *t)
{
	for (unsigned i = 0; i < rq->ncpu; i++)
		if (cr_may_run(rq, t, i))
			return true;
	return false;
}

/* Of periods and deadlines, a day: what doors take is shorter, but a policy may
 * be asked about somebody who comes once in hours. */
#define LONGEST_PERIOD (24 * CR_TASK_LONGEST)

static bool sensible(cr_ns cost)
{
	return cost >= 0 && cost <= CR_TASK_LONGEST;
}

static bool sensible_time(cr_ns time)
{
	return time > 0 && time <= LONGEST_PERIOD;
}

/* What is wrong with the task's own numbers, or NULL. */
static const char *nonsense(const struct cr_task *t)
{
	if (!sensible_time(t->period))
		return "period > 0, up to a day";
	if (!sensible_time(t->rel_deadline))
		return "relative deadline > 0, up to a day";
	if (!sensible(t->cost.mean) || !sensible(t->cost.p99) ||
	    !sensible(t->contract.largest))
		return "costs from 0 to an hour";
	if (t->weight == 0)
		return "weight > 0";
	if (t->nice < -20 || t->nice > 19)
		return "nice from -20 to 19";
	return NULL;
}

/* Least loaded per CPU; the lower index when equal. -1: its mask fits none. */
static int worst_fit(const struct core *c, const struct cr_task *t)
{
	int best = -1;

	for (unsigned i = 0; i < c->sched.nrq; i++) {
		const struct cr_rq *rq = &c->rq[i];

		if (!touches(rq, t))
			continue;
		if (best < 0 || rq->load_ppm * c->rq[best].ncpu <
					c->rq[best].load_ppm * rq->ncpu)
			best = (int)i;
	}
	return best;
}

static int guard(const struct core *c, const struct cr_task *t,
		 struct cr_verdict *v)
{
	int i = worst_fit(c, t);

	v->need_ppm = core_load_of(t);
	if (i < 0) {
		v->rule = "its CPU mask has a CPU of a run queue";
		return -EINVAL;
	}
	v->bound_ppm = c->cfg.capacity_ppm * c->rq[i].ncpu;
	v->free_ppm = v->bound_ppm - c->rq[i].load_ppm;
	v->rule = "sum of cost / period <= capacity";
	return v->need_ppm <= v->free_ppm ? i : -ENOSPC;
}

int core_admit(const struct core *c, const struct cr_task *t,
	       struct cr_verdict *v)
{
	int rc;

	*v = (struct cr_verdict){ .rule = nonsense(t) };
	if (v->rule)
		return -EINVAL;
	/* its sums are gone where another stands in for it */
	rc = c->sched.ops->admit && !core_replaced(c)
		     ? c->sched.ops->admit(&c->sched, t, v)
		     : guard(c, t, v);
	if (rc == -ENOSPC && !c->cfg.admission)
		rc = worst_fit(c, t);
	if (rc >= 0 && (rc >= (int)c->sched.nrq || !touches(&c->rq[rc], t))) {
		v->rule = "a run queue to join: its admit() names none";
		return -EINVAL;
	}
	return rc < 0 && rc != -ENOSPC ? -EINVAL : rc;
}

/* "0.0035": @ppm rounded down to four digits. */
static const char *share(int64_t ppm, char *buf, size_t size)
{
	bool negative = ppm < 0;
	uint64_t digits = (uint64_t)(negative ? 99 - ppm : ppm) / 100;

	(void)snprintf(buf, size, "%s%llu.%04llu", negative ? "-" : "",
		       (unsigned long long)(digits / 10000),
		       (unsigned long long)(digits % 10000));
	return buf;
}

/* Need is rounded up, room down: a refusal never reads as if it fitted. */
void core_refusal_under(const char *scheduler, int code,
			const struct cr_verdict *v, char *buf, size_t size)
{
	char need[32], left[32];

	if (code == -ENOSPC)
		(void)snprintf(buf, size,
			       "no-capacity: need %s, free %s of %lld.%02lld "
			       "under %s (%s)",
			       share(v->need_ppm + 99, need, sizeof(need)),
			       share(v->free_ppm, left, sizeof(left)),
			       (long long)(v->bound_ppm / CR_PPM),
			       (long long)(v->bound_ppm % CR_PPM / 10000),
			       scheduler, v->rule ? v->rule : "?");
	else
		(void)snprintf(buf, size, "not a task for %s: needs %s",
			       scheduler, v->rule ? v->rule : "?");
}

void core_refusal(const struct core *c, int code, const struct cr_verdict *v,
		  char *buf, size_t size)
{
	core_refusal_under(c->sched.ops->name, code, v, buf, size);
}

/* It is never asked: a core without a policy releases no task. */
static const struct cr_sched_ops no_policy = { .name = "none" };

static size_t round_up(size_t size, size_t to)
{
	return (size + to - 1) / to * to;
}

/* Zeroed, on its own cache lines. */
static void *zalloc(size_t size)
{
	size_t bytes = round_up(size ? size : 1, 64);
	void *p = aligned_alloc(64, bytes);

	if (p)
		memset(p, 0, bytes);
	return p;
}

static void core_policy_fini(struct core_policy *p, unsigned nrq)
{
	for (unsigned i = 0; p->priv && i < nrq; i++)
		free(p->priv[i]);
	free(p->priv);
	free(p->opts);
	*p = (struct core_policy){ 0 };
}

static int alloc_policy(struct core_policy *p, unsigned nrq)
{
	p->priv = calloc(nrq, sizeof(*p->priv));
	if (p->ops->opts_size)
		p->opts = zalloc(p->ops->opts_size);
	if (!p->priv || (p->ops->opts_size && !p->opts))
		return -ENOMEM;
	for (unsigned i = 0; i < nrq; i++) {
		p->priv[i] = zalloc(p->ops->rq_size);
		if (!p->priv[i])
			return -ENOMEM;
	}
	return 0;
}

/* Parse options and allocate private memory. -EINVAL, -ENOMEM with @e. */
static int core_policy_init(struct core_policy *p, unsigned nrq,
			    const struct cr_sched_ops *ops, const char *opts,
			    struct cr_err *e)
{
	struct cr_err why;
	int rc;

	*p = (struct core_policy){ .ops = ops };
	rc = alloc_policy(p, nrq);
	if (rc) {
		core_policy_fini(p, nrq);
		return cr_fail(e, rc, "scheduler %s: out of memory", ops->name);
	}
	options_defaults(ops->opts, p->opts);
	rc = options_parse(ops->opts, p->opts, opts, &why);
	if (rc) {
		core_policy_fini(p, nrq);
		return cr_fail(e, rc, "scheduler %s: %s", ops->name, why.text);
	}
	return 0;
}

/*
 * Make @p the policy in use and call its rq_init(). 0, or with @e its -errno,
 * or -EINVAL: it is not for run queues like these.
 */
static int core_policy_start(struct core *c, const struct core_policy *p,
			     struct cr_err *e)
{
	int rc = 0;

	c->policy = *p;
	c->sched.ops = p->ops;
	c->sched.opts = p->opts;
	for (unsigned i = 0; i < c->sched.nrq; i++) {
		c->rq[i].sched = &c->sched;
		c->rq[i].priv = p->priv[i];
		c->rq[i].next_tick = CR_NEVER;
		c->rq[i].kick = (struct cr_cpus){ 0 };
	}
	/* rq_init() for all run queues, or what is wrong with p->ops there. */
	for (unsigned i = 0; i < c->sched.nrq && !rc; i++) {
		struct cr_rq *rq = &c->rq[i];

		if (p->ops->flags & CR_F_ONE_CPU && rq->ncpu > 1)
			return cr_fail(e, -EINVAL,
				       "scheduler %s is for run queues of one "
				       "CPU, not of %u: take as many run "
				       "queues as CPUs",
				       p->ops->name, rq->ncpu);
		if (p->ops->rq_init)
			rc = p->ops->rq_init(rq);
	}
	return rc ? cr_fail(e, rc,
			    "scheduler %s does not start on run queues of %u "
			    "CPUs: %s",
			    p->ops->name, c->rq[0].ncpu, strerror(-rc))
		  : 0;
}

/* Room for the CPUs of a run queue: whole cache lines, for what follows is
 * written under another lock. */
static size_t cpu_slots(unsigned per_rq)
{
	const size_t size = sizeof(struct cr_cpu);

	return round_up(per_rq * size, 64) / size;
}

/* Of run queue @i. */
static unsigned queue_cpus(const struct core_config *cfg, unsigned i)
{
	unsigned per_rq = cfg->cpus_per_rq ? cfg->cpus_per_rq : cfg->ncpu;
	unsigned left = cfg->ncpu - i * per_rq;

	if (cfg->rq_cpus)
		return cfg->rq_cpus[i];
	return left < per_rq ? left : per_rq;
}

static int check_config(const struct core_config *cfg, struct cr_err *e)
{
	unsigned sum = 0;

	if (cfg->ncpu < 1 || cfg->ncpu > CR_MAX_CPUS)
		return cr_fail(e, -EINVAL, "%u CPUs: give 1 to %u", cfg->ncpu,
			       CR_MAX_CPUS);
	if (cfg->cpus_per_rq > cfg->ncpu)
		return cr_fail(e, -EINVAL,
			       "%u CPUs per run queue, but there are only %u",
			       cfg->cpus_per_rq, cfg->ncpu);
	if (cfg->capacity_ppm < 0)
		return cr_fail(e, -EINVAL, "capacity is negative");
	if (!cfg->rq_cpus)
		return 0;
	for (unsigned i = 0; i < cfg->nrq; i++) {
		if (!cfg->rq_cpus[i])
			return cr_fail(e, -EINVAL, "run queue %u has no CPUs",
				       i);
		sum += cfg->rq_cpus[i];
	}
	if (sum != cfg->ncpu)
		return cr_fail(e, -EINVAL,
			       "run queues for %u CPUs, but there are %u", sum,
			       cfg->ncpu);
	return 0;
}

static int alloc_queues(struct core *c, cr_ns now)
{
	unsigned each = c->cfg.cpus_per_rq ? c->cfg.cpus_per_rq : c->cfg.ncpu;
	unsigned nrq =
		c->cfg.rq_cpus ? c->cfg.nrq : (c->cfg.ncpu + each - 1) / each;
	unsigned largest = 0, first = 0;

	for (unsigned i = 0; i < nrq; i++)
		if (queue_cpus(&c->cfg, i) > largest)
			largest = queue_cpus(&c->cfg, i);
	c->rq = zalloc(nrq * sizeof(*c->rq));
	c->aux = zalloc(nrq * sizeof(*c->aux));
	c->cpu = zalloc(nrq * cpu_slots(largest) * sizeof(*c->cpu));
	if (!c->rq || !c->aux || !c->cpu)
		return -ENOMEM;
	c->sched.rq = c->rq;
	c->sched.nrq = nrq;
	c->sched.preemptible = c->cfg.preemptible;
	for (unsigned i = 0; i < c->sched.nrq; i++) {
		c->rq[i].id = i;
		c->rq[i].first_cpu = first;
		c->rq[i].ncpu = queue_cpus(&c->cfg, i);
		c->rq[i].cpu = &c->cpu[i * cpu_slots(largest)];
		c->aux[i].now = now;
		TAILQ_INIT(&c->aux[i].tasks);
		first += c->rq[i].ncpu;
	}
	return 0;
}

static int start_policy(struct core *c, cr_ns now, struct cr_err *e)
{
	struct core_policy p;
	int rc = alloc_queues(c, now);

	if (rc)
		return cr_fail(e, rc, "out of memory for %u CPUs", c->cfg.ncpu);
	rc = core_policy_init(&c->spare_policy, c->sched.nrq, cr_sched_fallback,
			      NULL, e);
	if (rc)
		return rc;
	c->spare = c->sched;
	c->spare.ops = c->spare_policy.ops;
	c->spare.opts = c->spare_policy.opts;
	rc = core_policy_init(&p, c->sched.nrq, c->cfg.ops, c->cfg.opts, e);
	if (rc)
		return rc;
	return core_policy_start(c, &p, e);
}

void core_set_rules(struct core *c, const struct core_config *from)
{
	struct core_config *to = &c->cfg;

	to->admission = from->admission;
	to->capacity_ppm = from->capacity_ppm ? from->capacity_ppm : CR_PPM;
	memcpy(to->max_age, from->max_age, sizeof(to->max_age));
	memcpy(to->expired, from->expired, sizeof(to->expired));
	to->shed = from->shed;
}

int core_open(struct core **out, const struct core_config *cfg, cr_ns now,
	      struct cr_err *e)
{
	struct core *c;
	int rc = check_config(cfg, e);

	if (rc)
		return rc;
	c = calloc(1, sizeof(*c));
	if (!c)
		return cr_fail(e, -ENOMEM, "out of memory");
	c->cfg = *cfg;
	core_set_rules(c, cfg);
	if (!c->cfg.ops)
		c->cfg.ops = &no_policy;
	rc = start_policy(c, now, e);
	if (rc) {
		core_close(c);
		return rc;
	}
	c->cfg.opts = NULL;    /* the caller's string; parsed by now */
	c->cfg.rq_cpus = NULL; /* likewise                           */
	*out = c;
	return 0;
}

void core_close(struct core *c)
{
	if (!c)
		return;
	for (unsigned i = 0; c->aux && i < c->sched.nrq; i++)
		CR_ASSERT(TAILQ_EMPTY(&c->aux[i].tasks));
	core_policy_fini(&c->policy, c->sched.nrq);
	core_policy_fini(&c->spare_policy, c->sched.nrq);
	free(c->cpu);
	free(c->aux);
	free(c->rq);
	free(c);
}

unsigned core_nrq(const struct core *c)
{
	return c->sched.nrq;
}

struct cr_rq *core_rq(struct core *c, unsigned i)
{
	return &c->rq[i];
}

struct cr_rq *core_rq_of(struct core *c, unsigned cpu)
{
	struct cr_rq *rq = c->rq;

	while (cpu >= rq->first_cpu + rq->ncpu)
		rq++;
	return rq;
}

const struct cr_sched *core_sched(const struct core *c)
{
	return &c->sched;
}

struct core_counts core_counts(const struct core *c, const struct cr_rq *rq)
{
	return aux_of(c, rq)->counts;
}

unsigned core_ntasks(const struct core *c, const struct cr_rq *rq)
{
	return aux_of(c, rq)->ntasks;
}

int64_t core_bound_ppm(const struct core *c)
{
	return c->cfg.capacity_ppm * c->cfg.ncpu;
}

/* One task as the old policy left it. */
struct saved_task {
	struct core_task *t;
	struct cr_rq *rq;
	enum cr_state state;
	bool foreign, joined;
	cr_ns slice;
	alignas(max_align_t) unsigned char priv[CR_TASK_PRIV];
};

struct saved_rq {
	unsigned nqueued, fresh;
	cr_ns next_tick;
	struct cr_cpus kick, fresh_cpus;
	const struct cr_sched *sched; /* the policy's, or the fallback's */
	void *priv;
};

struct core_switch {
	struct core *core;
	struct core_policy policy; /* the new one; after success the old */
	struct core_policy old;
	struct saved_task *task;   /* [room] */
	struct saved_task **order; /* [room], sorted by before() */
	struct saved_rq *rq;	   /* [nrq] */
	unsigned room, ntasks;
};

int core_switch_prepare(struct core_switch **out, struct core *c, unsigned room,
			const struct cr_sched_ops *ops, const char *opts,
			struct cr_err *e)
{
	struct core_switch *sw = calloc(1, sizeof(*sw));
	int rc;

	if (!sw)
		return cr_fail(e, -ENOMEM, "out of memory");
	sw->core = c;
	sw->room = room;
	sw->task = calloc(room ? room : 1, sizeof(*sw->task));
	sw->order = calloc(room ? room : 1, sizeof(*sw->order));
	sw->rq = calloc(c->sched.nrq, sizeof(*sw->rq));
	rc = sw->task && sw->order && sw->rq
		     ? 0
		     : cr_fail(e, -ENOMEM, "out of memory for %u tasks", room);
	if (!rc)
		rc = core_policy_init(&sw->policy, c->sched.nrq, ops, opts, e);
	if (rc) {
		core_switch_finish(sw);
		return rc;
	}
	*out = sw;
	return 0;
}

static void save_rq(struct core_switch *sw, unsigned i)
{
	struct core *c = sw->core;
	struct core_task *t;

	sw->rq[i] = (struct saved_rq){
		.nqueued = c->rq[i].nqueued,
		.fresh = c->aux[i].fresh,
		.next_tick = c->rq[i].next_tick,
		.kick = c->rq[i].kick,
		.fresh_cpus = c->aux[i].fresh_cpus,
		.sched = c->rq[i].sched,
		.priv = c->rq[i].priv,
	};
	TAILQ_FOREACH (t, &c->aux[i].tasks, link) {
		struct saved_task *s = &sw->task[sw->ntasks++];

		s->t = t;
		s->rq = t->task.rq;
		s->state = t->task.state;
		s->foreign = t->foreign;
		s->slice = t->task.slice;
		memcpy(s->priv, t->task.priv, sizeof(s->priv));
	}
}

static void leave_rq(struct core *c, struct core_task *t)
{
	struct cr_rq *rq = t->task.rq;

	TAILQ_REMOVE(&c->aux[rq->id].tasks, t, link);
	c->aux[rq->id].ntasks--;
	rq->load_ppm -= t->load_ppm;
}

static void empty_queues(struct core_switch *sw)
{
	for (unsigned i = 0; i < sw->ntasks; i++) {
		struct core_task *t = sw->task[i].t;

		leave_rq(sw->core, t);
		if (t->task.state == CR_QUEUED)
			t->task.state = CR_IDLE;
	}
	for (unsigned i = 0; i < sw->core->sched.nrq; i++) {
		sw->core->rq[i].nqueued = 0;
		sw->core->aux[i].fresh = 0;
	}
}

static void put_back(struct core_switch *sw)
{
	struct core *c = sw->core;

	for (unsigned i = 0; i < sw->ntasks; i++) {
		struct saved_task *s = &sw->task[i];

		if (s->joined)
			leave_rq(c, s->t);
		s->t->task.rq = s->rq;
		atomic_store_explicit(&s->t->home, s->rq->id,
				      memory_order_relaxed);
		s->t->task.state = s->state;
		s->t->foreign = s->foreign;
		s->t->task.slice = s->slice;
		memcpy(s->t->task.priv, s->priv, sizeof(s->priv));
		TAILQ_INSERT_TAIL(&c->aux[s->rq->id].tasks, s->t, link);
		c->aux[s->rq->id].ntasks++;
		s->rq->load_ppm += s->t->load_ppm;
	}
	c->policy = sw->old;
	c->sched.ops = sw->old.ops;
	c->sched.opts = sw->old.opts;
	for (unsigned i = 0; i < c->sched.nrq; i++) {
		c->rq[i].sched = sw->rq[i].sched;
		c->rq[i].priv = sw->rq[i].priv;
		c->rq[i].nqueued = sw->rq[i].nqueued;
		c->rq[i].next_tick = sw->rq[i].next_tick;
		c->rq[i].kick = sw->rq[i].kick;
		c->aux[i].fresh = sw->rq[i].fresh;
		c->aux[i].fresh_cpus = sw->rq[i].fresh_cpus;
	}
}

/* Running tasks first (they cannot move to another run queue), then waiting
 * ones by their job's release, then the idle ones. */
static bool before(const struct saved_task *a, const struct saved_task *b)
{
	static const int rank[] = {
		[CR_RUNNING] = 0, [CR_QUEUED] = 1, [CR_IDLE] = 2
	};
	const struct cr_task *x = &a->t->task, *y = &b->t->task;

	if (a->state != b->state)
		return rank[a->state] < rank[b->state];
	if (a->state == CR_QUEUED && x->job.release != y->job.release)
		return x->job.release < y->job.release;
	return x->id < y->id;
}

static void sift_down(struct saved_task **heap, unsigned i, unsigned n)
{
	struct saved_task *moving = heap[i];

	for (unsigned child = 2 * i + 1; child < n; child = 2 * i + 1) {
		if (child + 1 < n && before(heap[child], heap[child + 1]))
			child++;
		if (!before(moving, heap[child]))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = moving;
}

/* Heap sort: all locks are held here, and the C library's qsort() may call
 * malloc(). */
static void sort_saved(struct core_switch *sw)
{
	struct saved_task **a = sw->order;
	unsigned n = sw->ntasks;

	for (unsigned i = 0; i < n; i++)
		a[i] = &sw->task[i];
	for (unsigned i = n / 2; i-- > 0;)
		sift_down(a, i, n);
	for (unsigned i = n; i-- > 1;) {
		struct saved_task *top = a[0];

		a[0] = a[i];
		a[i] = top;
		sift_down(a, 0, i);
	}
}

/* A task that runs stays where it is: that is where it must fit. */
static int admit_saved(const struct core *c, struct saved_task *s,
		       struct cr_verdict *v)
{
	struct cr_cpus all = s->t->task.cpus;
	int rc;

	if (s->state == CR_RUNNING)
		s->t->task.cpus = core_within(s->rq, &all);
	rc = core_admit(c, &s->t->task, v);
	s->t->task.cpus = all;
	return rc;
}

static int join_saved(struct core_switch *sw, struct saved_task *s, cr_ns now,
		      struct cr_err *e)
{
	struct core *c = sw->core;
	struct cr_verdict v;
	char why[256];
	int rc = (int)s->rq->id;

	/* the guard's sums do not change: nobody needs to move for it */
	if (c->sched.ops->admit)
		rc = admit_saved(c, s, &v);
	if (rc < 0) {
		core_refusal(c, rc, &v, why, sizeof(why));
		return cr_fail(e, rc, "task %u: %s", s->t->task.id, why);
	}
	s->t->foreign = s->state == CR_RUNNING;
	s->joined = true;
	core_join(c, s->t, &c->rq[rc], now);
	return 0;
}

static int take_over(struct core_switch *sw, cr_ns now, struct cr_err *e)
{
	struct core *c = sw->core;
	int rc = core_policy_start(c, &sw->policy, e);

	if (rc)
		return rc;
	for (unsigned i = 0; i < sw->ntasks && !rc; i++)
		rc = join_saved(sw, sw->order[i], now, e);
	for (unsigned i = 0; i < sw->ntasks && !rc; i++)
		if (sw->order[i]->state == CR_QUEUED)
			core_enqueue(c, sw->order[i]->t, CR_ENQ_MIGRATE, now);
	return rc;
}

int core_switch_commit(struct core_switch *sw, cr_ns now, struct cr_err *e)
{
	struct core *c = sw->core;
	unsigned n = 0;
	int rc;

	for (unsigned i = 0; i < c->sched.nrq; i++) {
		CR_ASSERT(now >= c->aux[i].now);
		n += c->aux[i].ntasks;
	}
	if (n > sw->room)
		return cr_fail(e, -EAGAIN,
			       "%u tasks have come since the switch began",
			       n - sw->room);
	for (unsigned i = 0; i < c->sched.nrq; i++) {
		c->aux[i].now = now;
		save_rq(sw, i);
	}
	sw->old = c->policy;
	sort_saved(sw);
	empty_queues(sw);
	rc = take_over(sw, now, e);
	if (rc)
		put_back(sw);
	else
		sw->policy = sw->old;
	return rc;
}

void core_switch_finish(struct core_switch *sw)
{
	if (!sw)
		return;
	core_policy_fini(&sw->policy, sw->core->sched.nrq);
	free(sw->order);
	free(sw->task);
	free(sw->rq);
	free(sw);
}
