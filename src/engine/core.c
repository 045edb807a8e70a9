/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core: its memory (all of it is allocated when it is opened, nothing while
 * jobs run), and the life cycle of a job, with its states checked:
 *
 *            release/again        pick: claim        stop
 *   IDLE -------------------> QUEUED -----> RUNNING ------> IDLE
 *     ^      oldest frame       ^              |
 *     |      becomes the job    +-- the frame is gone, too old, or given
 *     +-- nothing waits --------+-- up: stop(DROP), next frame
 *
 * Every callback of the policy is made here, or in core_change.c (other terms,
 * another policy). So its promises are verified here
 * (core_guard.c), and the counts come from here.
 */
#include "engine/core.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/field.h"
#include "cr/promise.h"
#include "engine/core_state.h"
#include "engine/cpus.h"
#include "schedulers/registry.h"

/* --- memory --- */

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

void core_policy_fini(struct core_policy *p, unsigned nrq)
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

int core_policy_init(struct core_policy *p, unsigned nrq,
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

int core_policy_start(struct core *c, const struct core_policy *p,
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

/* --- admission: may a task join, and where: the policy's own test, or the
 * guard for policies that have none (worst fit by load, bounded by the capacity
 * of the CPUs; load being cr_task_demand() / period) --- */

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

/* The fault in the task's own numbers, or NULL. */
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

void core_set_terms(struct cr_task *t, const struct core_terms *to)
{
	t->cls = to->cls;
	if (to->period)
		t->period = to->period;
	t->rel_deadline = to->rel_deadline;
	t->cost = to->cost;
	t->nice = to->nice;
	t->weight = to->weight;
	t->contract = to->contract;
}

/* --- the life of a job --- */

/* In place: a copy would read in wide words what peek() has just written in
 * narrow ones, and wait for the stores. */
bool core_fetch(struct core_task *t, cr_ns now)
{
	struct cr_job *job = &t->task.job;

	if (!t->backlog->peek(t, job))
		return false;
	if (t->task.cls == CR_BE)
		job->deadline = CR_NEVER;
	job->release = now;
	job->cost = t->task.cost.mean;
	job->ran = 0;
	t->claimed = false;
	t->expired = false;
	return true;
}

void core_enqueue(struct core *c, struct core_task *t, enum cr_enq why,
		  cr_ns now)
{
	struct cr_rq *rq = t->task.rq;
	struct core_rq *a;

	CR_ASSERT(t->task.state == CR_IDLE);
	t->task.state = CR_QUEUED;
	rq->nqueued++;
	rq->sched->ops->enqueue(rq, &t->task, why, now);
	a = aux_of(c, rq);
	a->fresh++;
	for (unsigned i = 0; i < CR_MAX_CPUS / 64; i++)
		a->fresh_cpus.word[i] |= t->task.cpus.word[i];
	core_check(c, rq);
}

void core_join(struct core *c, struct core_task *t, struct cr_rq *rq, cr_ns now)
{
	t->task.rq = rq;
	atomic_store_explicit(&t->home, rq->id, memory_order_relaxed);
	rq->load_ppm += t->load_ppm;
	TAILQ_INSERT_TAIL(&aux_of(c, rq)->tasks, t, link);
	aux_of(c, rq)->ntasks++;
	t->core = c;
	t->task.max_age =
		t->patient
			? CR_NEVER
			: core_age_limit(c->cfg.max_age[t->task.cls], &t->task);
	memset(t->task.priv, 0, rq->sched->ops->task_size);
	if (rq->sched->ops->task_add)
		rq->sched->ops->task_add(rq, &t->task, now);
	core_check(c, rq);
}

void core_part(struct core *c, struct core_task *t)
{
	struct cr_rq *rq = t->task.rq;

	rq->load_ppm -= t->load_ppm;
	TAILQ_REMOVE(&aux_of(c, rq)->tasks, t, link);
	aux_of(c, rq)->ntasks--;
}

void core_add(struct core *c, struct core_task *t, unsigned rq, cr_ns now)
{
	core_advance(c, &c->rq[rq], now);
	t->task.state = CR_IDLE;
	t->task.cpu = -1;
	t->task.lossless = t->patient;
	t->task.give_up = false;
	t->foreign = false;
	t->claimed = false;
	t->load_ppm = core_load_of(&t->task);
	core_join(c, t, &c->rq[rq], now);
}

static void drop_job(struct core_task *t, enum cr_outcome why, cr_ns now)
{
	if (t->backlog->dropped)
		t->backlog->dropped(t, &t->task.job, why, now);
}

void core_del(struct core *c, struct core_task *t, cr_ns now)
{
	struct cr_rq *rq = t->task.rq;
	bool queued = t->task.state == CR_QUEUED;

	CR_ASSERT(t->task.state != CR_RUNNING);
	core_advance(c, rq, now);
	if (queued) {
		rq->sched->ops->dequeue(rq, &t->task, now);
		t->task.state = CR_IDLE;
		rq->nqueued--;
		core_check(c, rq);
	}
	/* The frame of the job that was queued (maybe claimed and preempted
	 * before), then all that wait behind it. */
	if (queued && t->claimed)
		drop_job(t, CR_OUT_CANCELLED, now);
	while (core_fetch(t, now))
		if (t->backlog->claim(t, t->task.job.seq))
			drop_job(t, CR_OUT_CANCELLED, now);
	if (rq->sched->ops->task_del)
		rq->sched->ops->task_del(rq, &t->task, now);
	core_part(c, t);
	core_check(c, rq);
	t->task.rq = NULL;
	t->core = NULL;
}

bool core_release(struct core *c, struct core_task *t, cr_ns now)
{
	core_advance(c, t->task.rq, now);
	if (!core_fetch(t, now))
		return false;
	core_enqueue(c, t, CR_ENQ_RELEASE, now);
	return true;
}

bool core_again(struct core *c, struct core_task *t, cr_ns now)
{
	bool same = t->left == CR_STOP_SLICE || t->left == CR_STOP_PREEMPT;
	enum cr_enq why = same ? CR_ENQ_REQUEUE : CR_ENQ_NEXT;

	core_advance(c, t->task.rq, now);
	if (!same && !core_fetch(t, now)) {
		t->foreign = false;
		return false;
	}
	if (same && t->foreign) /* the policy does not know this job */
		why = CR_ENQ_MIGRATE;
	t->foreign = false;
	core_enqueue(c, t, why, now);
	return true;
}

static void leave_cpu(struct core *c, struct cr_rq *rq, unsigned cpu,
		      enum cr_stop why, cr_ns ran, cr_ns now)
{
	struct core_task *t = core_task_of(rq->cpu[cpu].running);

	CR_ASSERT(t->task.state == CR_RUNNING && t->task.rq == rq &&
		  t->task.cpu == (int)cpu);
	rq->cpu[cpu].running = NULL;
	t->task.state = CR_IDLE;
	t->task.job.ran += ran;
	t->left = why;
	if (!t->foreign)
		rq->sched->ops->stop(rq, cpu, &t->task, ran, why, now);
	core_check(c, rq);
}

struct core_task *core_stop(struct core *c, struct cr_rq *rq, unsigned cpu,
			    cr_ns ran, enum cr_stop why, cr_ns now)
{
	struct core_task *t;

	CR_ASSERT(cpu < rq->ncpu && rq->cpu[cpu].running);
	core_advance(c, rq, now);
	t = core_task_of(rq->cpu[cpu].running);
	leave_cpu(c, rq, cpu, why, ran, now);
	return t;
}

static cr_ns auto_age(const struct cr_task *t)
{
	cr_ns most = CORE_AGE_MOST, longer;

	if (t->cls == CR_BE)
		return most;
	longer = cr_ns_max(t->rel_deadline, t->period);
	return longer < most / CORE_AGE_TIMES ? longer * CORE_AGE_TIMES : most;
}

cr_ns core_age_limit(cr_ns max_age, const struct cr_task *t)
{
	if (max_age != CORE_AGE_AUTO)
		return max_age ? max_age : CR_NEVER;
	if (t->cls == CR_BE)
		return auto_age(t);
	return cr_ns_max(auto_age(t), t->rel_deadline);
}

/* Has the job of @t waited longer than it may (core_config.max_age)? */
static bool too_old(const struct core *c, const struct core_task *t, cr_ns now)
{
	cr_ns limit = c->cfg.max_age[t->task.cls];
	cr_ns age = now - t->task.job.arrival;

	if (!limit || t->patient)
		return false;
	if (limit != CORE_AGE_AUTO)
		return age > limit;
	/* a job that came ahead of its time may still be in time */
	return age > auto_age(&t->task) &&
	       (t->task.cls == CR_BE || now > t->task.job.deadline);
}

cr_ns core_waited(const struct core_task *t, cr_ns now)
{
	const struct cr_rq *rq = t->task.rq;
	const struct cr_job *job = &t->task.job;

	if (rq->sched->ops->flags & CR_F_IDLES)
		return now - cr_ns_max(job->arrival, job->eligible);
	return now - job->arrival;
}

/* The frame is lost for another reason than --shed: note it for that rule. */
static void note_lost(const struct core *c, struct shed_queue *q,
		      struct core_task *t)
{
	if (t->shed)
		shed_lost(&c->cfg.shed, q, t->shed, &t->task.job);
}

enum core_worth core_worth_of(const struct core *c, struct shed_queue *q,
			      struct core_task *t, cr_ns now)
{
	enum shed_verdict verdict;

	if (too_old(c, t, now)) {
		note_lost(c, q, t);
		return c->cfg.expired[t->task.cls] == CORE_EXPIRED_CONCEAL
			       ? CORE_CONCEAL
			       : CORE_OLD;
	}
	if (!t->shed)
		return CORE_RUN;
	verdict = shed_ask(&c->cfg.shed, q, t->shed, &t->task,
			   core_waited(t, now), now);
	return verdict == SHED_KEEP ? CORE_RUN : CORE_SHED;
}

/* Count the job of @t by its @worth, and drop it or not. True: run it. */
static bool settle_worth(struct core_rq *a, struct core_task *t,
			 enum core_worth worth, cr_ns now)
{
	switch (worth) {
	case CORE_RUN:
		break;
	case CORE_CONCEAL:
		a->counts.concealed++;
		t->expired = true;
		break;
	case CORE_OLD:
		a->counts.expired++;
		drop_job(t, CR_OUT_EXPIRED, now);
		return false;
	case CORE_SHED:
		a->counts.shed++;
		drop_job(t, CR_OUT_SHED, now);
		return false;
	case CORE_GIVEN_UP:
		a->counts.given_up++;
		drop_job(t, CR_OUT_SHED, now);
		return false;
	}
	return true;
}

/* Take the frame of the job just picked. False: there is nothing to run. */
static bool take_frame(struct core *c, struct core_rq *a, struct core_task *t,
		       cr_ns now)
{
	bool given_up = t->task.give_up && cr_may_give_up(&t->task);
	enum core_worth worth = given_up ? CORE_GIVEN_UP : CORE_RUN;

	if (!t->claimed) {
		if (!t->backlog->claim(t, t->task.job.seq)) {
			a->counts.gone++;
			return false;
		}
		t->claimed = true;
		if (!given_up)
			worth = core_worth_of(c, &a->shed, t, now);
	}
	if (given_up)
		note_lost(c, &a->shed, t);
	return settle_worth(a, t, worth, now);
}

/* True of nearly every valid answer; core_pick_flaw() knows the rest. */
static bool good_pick(const struct core *c, const struct cr_rq *rq,
		      unsigned cpu, struct cr_task *t)
{
	if (!t)
		return rq->next_tick != CR_NEVER;
	return core_task_of(t)->core == c && t->state == CR_QUEUED &&
	       t->rq == rq && cr_may_run(rq, t, cpu) &&
	       (t->slice > 0 || !c->cfg.preemptible);
}

static struct cr_task *checked_pick(struct core *c, struct cr_rq *rq,
				    unsigned cpu, cr_ns now)
{
	struct cr_task *t = rq->sched->ops->pick(rq, cpu, now);
	struct core_flaw flaw;

	if (__builtin_expect(good_pick(c, rq, cpu, t), 1))
		return t;
	flaw = core_pick_flaw(c, rq, cpu, t);
	if (!flaw.what)
		return t;
	core_blame(c, rq, &flaw, now);
	return rq->sched->ops->pick(rq, cpu, now);
}

static struct core_task *ask_policy(struct core *c, struct core_rq *a,
				    struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct cr_task *t = checked_pick(c, rq, cpu, now);

	if (!t)
		return NULL;
	rq->nqueued--;
	t->state = CR_RUNNING;
	t->cpu = (int)cpu;
	rq->cpu[cpu] = (struct cr_cpu){ .running = t, .since = now };
	if (a->fresh)
		a->fresh--;
	core_check(c, rq);
	return core_task_of(t);
}

/* See core_config.check. Between two events, as the policy may look at states
 * that an event changes last. */
static void check_policy(struct core *c, struct cr_rq *rq, cr_ns now)
{
	const struct core_flaw damaged = {
		.callback = "check",
		.what = "false: the policy's own state is wrong",
		.cpu = -1,
	};
	const struct cr_sched_ops *ops = rq->sched->ops;

	if (rq->sched == &c->sched && ops->check && !ops->check(rq))
		core_blame(c, rq, &damaged, now);
}

struct core_task *core_pick(struct core *c, struct cr_rq *rq, unsigned cpu,
			    cr_ns now)
{
	struct core_rq *a = core_advance(c, rq, now);
	struct core_task *t;
	bool taken;

	CR_ASSERT(cpu < rq->ncpu && !rq->cpu[cpu].running);
	cr_cpus_del(&rq->kick, cpu);
	if (__builtin_expect(c->cfg.check, 0))
		check_policy(c, rq, now);
	while (rq->nqueued) {
		t = ask_policy(c, a, rq, cpu, now);
		if (!t)
			return NULL;
		taken = take_frame(c, a, t, now);
		t->task.give_up = false;
		if (taken) {
			a->counts.picks++;
			return t;
		}
		leave_cpu(c, rq, cpu, CR_STOP_DROP, 0, now);
		(void)core_again(c, t, now);
	}
	return NULL;
}

bool core_tick(struct core *c, struct cr_rq *rq, cr_ns now)
{
	const struct core_flaw again = {
		.callback = "tick",
		.what = "armed the tick that was due once more",
		.cpu = -1,
	};
	cr_ns due = rq->next_tick;

	if (now < due)
		return false;
	core_advance(c, rq, now);
	rq->next_tick = CR_NEVER;
	if (rq->sched->ops->tick)
		rq->sched->ops->tick(rq, now);
	if (rq->next_tick <= due)
		core_blame(c, rq, &again, now);
	core_check(c, rq);
	core_relook(c, rq); /* jobs held back may be ready now */
	return true;
}

struct core_task *core_steal(struct core *c, struct cr_rq *from,
			     struct cr_rq *to, unsigned cpu, cr_ns now)
{
	struct cr_task *found;
	struct core_task *t;
	struct core_flaw flaw;

	if (!c->sched.ops->steal || !from->nqueued ||
	    from->sched != &c->sched || to->sched != &c->sched)
		return NULL;
	core_advance(c, from, now);
	core_advance(c, to, now);
	found = c->sched.ops->steal(from, to, cpu, now);
	if (!found)
		return NULL;
	flaw = core_steal_flaw(c, from, to, cpu, found);
	if (flaw.what) {
		/* it may have changed sums on both sides */
		core_blame(c, from, &flaw, now);
		core_stand_in(c, to, now);
		return NULL;
	}
	t = core_task_of(found);
	from->nqueued--;
	found->state = CR_IDLE;
	core_part(c, t);
	core_check(c, from);
	found->rq = to;
	atomic_store_explicit(&t->home, to->id, memory_order_relaxed);
	to->load_ppm += t->load_ppm;
	TAILQ_INSERT_TAIL(&aux_of(c, to)->tasks, t, link);
	aux_of(c, to)->ntasks++;
	core_enqueue(c, t, CR_ENQ_MIGRATE, now);
	return t;
}

void core_relook(struct core *c, struct cr_rq *rq)
{
	struct core_rq *a = aux_of(c, rq);

	a->fresh = rq->nqueued;
	memset(&a->fresh_cpus, 0xff, sizeof(a->fresh_cpus));
}

unsigned core_wakes(struct core *c, struct cr_rq *rq, struct cr_cpus *idle,
		    struct cr_cpus *wake)
{
	struct core_rq *a = aux_of(c, rq);
	unsigned left = a->fresh < rq->nqueued ? a->fresh : rq->nqueued;

	if (!a->fresh && !cpus_any(&rq->kick))
		return 0;
	for (unsigned i = 0; cpus_any(idle) && i < rq->ncpu; i++) {
		bool kicked = cr_cpus_has(&rq->kick, i);

		if (!cr_cpus_has(idle, i))
			continue;
		if (left && cr_cpus_has(&a->fresh_cpus, rq->first_cpu + i))
			left--;
		else if (!kicked)
			continue;
		cr_cpus_del(idle, i);
		cr_cpus_add(wake, i);
	}
	rq->kick = (struct cr_cpus){ 0 };
	a->fresh = 0;
	a->fresh_cpus = (struct cr_cpus){ 0 };
	return left;
}

void core_promise(const struct core_task *t, struct cr_promise *p)
{
	const struct cr_sched_ops *ops = t->task.rq->sched->ops;

	*p = (struct cr_promise){ .kind = CR_PROMISE_NOTHING };
	if (t->task.cls == CR_BE) {
		p->rule = "best effort has no deadline";
		return;
	}
	if (ops->promise)
		ops->promise(&t->task, p);
	else
		p->rule = "this scheduler promises nothing";
	if (!p->rule)
		p->rule = "it does not say why";
}

unsigned core_explain(const struct core_task *t, struct cr_kv *kv, unsigned max)
{
	const struct cr_sched_ops *ops = t->task.rq->sched->ops;
	unsigned n = ops->explain ? ops->explain(&t->task, kv, max) : 0;
	struct cr_promise p;

	if (n > max)
		n = max;
	for (unsigned i = 0; i < n; i++) /* a plug-in's */
		if (kv[i].unit > CR_KV_PPM)
			kv[i].unit = CR_KV_COUNT;
	if (n == max || !ops->promise)
		return n;
	core_promise(t, &p);
	kv[n++] = (struct cr_kv){ "in_time",
				  p.kind == CR_PROMISE_LATENESS && p.bound == 0,
				  CR_KV_COUNT };
	return n;
}
