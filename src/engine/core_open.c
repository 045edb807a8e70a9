/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core's memory: run queues over the CPUs, the policy's options and
 * private areas. Everything is allocated here, nothing while jobs run.
 */
#include "engine/core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "engine/core_state.h"
#include "schedulers/registry.h"

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

/* rq_init() for all run queues, or what is wrong with @ops there. */
static int init_queues(struct core *c, const struct cr_sched_ops *ops,
		       struct cr_err *e)
{
	int rc = 0;

	for (unsigned i = 0; i < c->sched.nrq && !rc; i++) {
		struct cr_rq *rq = &c->rq[i];

		if (ops->flags & CR_F_ONE_CPU && rq->ncpu > 1)
			return cr_fail(e, -EINVAL,
				       "scheduler %s is for run queues of one "
				       "CPU, not of %u: take as many run "
				       "queues as CPUs",
				       ops->name, rq->ncpu);
		if (ops->rq_init)
			rc = ops->rq_init(rq);
	}
	return rc ? cr_fail(e, rc,
			    "scheduler %s does not start on run queues of %u "
			    "CPUs: %s",
			    ops->name, c->rq[0].ncpu, strerror(-rc))
		  : 0;
}

int core_policy_start(struct core *c, const struct core_policy *p,
		      struct cr_err *e)
{
	c->policy = *p;
	c->sched.ops = p->ops;
	c->sched.opts = p->opts;
	for (unsigned i = 0; i < c->sched.nrq; i++) {
		c->rq[i].sched = &c->sched;
		c->rq[i].priv = p->priv[i];
		c->rq[i].next_tick = CR_NEVER;
		c->rq[i].kick = (struct cr_cpus){ 0 };
	}
	return init_queues(c, p->ops, e);
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

static unsigned count_queues(const struct core_config *cfg)
{
	unsigned per_rq = cfg->cpus_per_rq ? cfg->cpus_per_rq : cfg->ncpu;

	return cfg->rq_cpus ? cfg->nrq : (cfg->ncpu + per_rq - 1) / per_rq;
}

static void share_out_cpus(struct core *c, unsigned largest, cr_ns now)
{
	unsigned first = 0;

	for (unsigned i = 0; i < c->sched.nrq; i++) {
		c->rq[i].id = i;
		c->rq[i].first_cpu = first;
		c->rq[i].ncpu = queue_cpus(&c->cfg, i);
		c->rq[i].cpu = &c->cpu[i * cpu_slots(largest)];
		c->aux[i].now = now;
		TAILQ_INIT(&c->aux[i].tasks);
		first += c->rq[i].ncpu;
	}
}

static int check_queues(const struct core_config *cfg, struct cr_err *e)
{
	unsigned sum = 0;

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

static int check_config(const struct core_config *cfg, struct cr_err *e)
{
	if (cfg->ncpu < 1 || cfg->ncpu > CR_MAX_CPUS)
		return cr_fail(e, -EINVAL, "%u CPUs: give 1 to %u", cfg->ncpu,
			       CR_MAX_CPUS);
	if (cfg->cpus_per_rq > cfg->ncpu)
		return cr_fail(e, -EINVAL,
			       "%u CPUs per run queue, but there are only %u",
			       cfg->cpus_per_rq, cfg->ncpu);
	if (cfg->capacity_ppm < 0)
		return cr_fail(e, -EINVAL, "capacity is negative");
	return check_queues(cfg, e);
}

static int alloc_queues(struct core *c, cr_ns now)
{
	unsigned nrq = count_queues(&c->cfg), largest = 0;

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
	share_out_cpus(c, largest, now);
	return 0;
}

static int start(struct core *c, cr_ns now, struct cr_err *e)
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
	rc = start(c, now, e);
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
