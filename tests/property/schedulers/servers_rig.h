/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random sets of tasks for cbs and grub. In each some tasks are wild: their
 * jobs take several times what they declared, and come in bursts. The tame
 * ones come no closer than their periods and take no more than they declared.
 */
#ifndef TESTS_SERVERS_RIG_H
#define TESTS_SERVERS_RIG_H

#include "schedulers/policies.h"
#include "task_set_rig.h"

enum { HYPER = 240, UNTIL = 2 * HYPER, JOBS = 256, EXCESS = 5 };
#define SETS TEST_TRIES(300)

/** Under what a set is looked at. */
struct setting {
	const struct cr_sched_ops *ops;
	const char *opts;
	unsigned ncpu;
	enum sim_preempt preempt;
	bool admission;
	cr_ns worst;   /* > 0: none but soft ones are wild, and they declare a
			  worst case of so many times their mean */
	unsigned hurt; /* sets in which a tame task was late */
};

/* For messages. */
static inline const char *name_of(const struct setting *s)
{
	static char name[64];

	(void)snprintf(name, sizeof(name), "%s,%s on %u", s->ops->name, s->opts,
		       s->ncpu);
	return name;
}

/* A workload: the same for every policy. */
struct load {
	const struct task_set *set;
	struct sim_job job[TASK_SET_MAX][JOBS];
	unsigned njobs[TASK_SET_MAX];
	bool wild[TASK_SET_MAX];
};

static inline uint64_t seed_of(const struct task_set *set)
{
	return set_hash(set);
}

static inline void draw_jobs(struct load *l, unsigned i, cr_ns excess,
			     cr_ns until, uint64_t *seed)
{
	const struct set_task *t = &l->set->task[i];
	cr_ns at = set_between(seed, 0, t->period);

	for (l->njobs[i] = 0; l->njobs[i] < JOBS && at < until; l->njobs[i]++) {
		cr_ns most = t->cost * (l->wild[i] ? excess : 1);

		l->job[i][l->njobs[i]] =
			(struct sim_job){ at, set_between(seed, 1, most),
					  at + t->deadline };
		at += l->wild[i]
			      ? set_between(seed, 1, t->period)
			      : set_between(seed, t->period, t->period * 5 / 4);
	}
	if (!l->njobs[i]) {
		l->job[i][0] = (struct sim_job){ at, 1, at + t->deadline };
		l->njobs[i] = 1;
	}
}

/* The same load for the same set: it can be shrunk. */
static inline struct load *draw_load(const struct task_set *set,
				     const struct setting *s, cr_ns until)
{
	static struct load l;
	uint64_t seed = seed_of(set);

	l.set = set;
	for (unsigned i = 0; i < set->n; i++) {
		bool hard = set->task[i].cls == CR_HARD;

		l.wild[i] = test_below(&seed, 2) && !(s->worst && hard);
		draw_jobs(&l, i, s->worst ? s->worst : EXCESS, until, &seed);
	}
	return &l;
}

struct arrival {
	const struct load *load;
	unsigned i;
	cr_ns worst;
};

static inline void dress(struct rig_task *r)
{
	const struct arrival *a = r->rig->user;
	const struct set_task *from = &a->load->set->task[a->i];
	struct cr_task *t = &r->st.core.task;

	t->cls = from->cls;
	t->rel_deadline = from->deadline;
	if (a->worst && from->cls != CR_HARD)
		t->cost.p99 = a->worst * from->cost;
	r->job = a->load->job[a->i];
	r->njobs = a->load->njobs[a->i];
}

/* Which task of the set each of the rig's is: some are refused. */
struct play {
	struct sim_rig *rig;
	unsigned of[TASK_SET_MAX];
};

static inline struct play start(const struct setting *s, const struct load *l)
{
	struct arrival a = { .load = l, .worst = s->worst };
	struct play p = { rig_new(s->ops, s->opts, s->ncpu, TASK_SET_MAX),
			  { 0 } };

	p.rig->cfg.preempt = s->preempt;
	p.rig->cfg.core.admission = s->admission;
	for (a.i = 0; a.i < l->set->n; a.i++) {
		p.rig->user = &a;
		p.of[p.rig->ntasks] = a.i;
		(void)rig_add_with(p.rig, l->set->task[a.i].period,
				   l->set->task[a.i].cost, dress);
	}
	p.rig->user = NULL;
	rig_start(p.rig);
	return p;
}

static inline bool too_much(const struct task_set *set)
{
	cr_ns whole = task_set_hyper(set, UNTIL);
	int64_t sum = 0;

	for (unsigned i = 0; i < set->n; i++)
		sum += set->task[i].cost * (whole / set->task[i].period);
	return whole == UNTIL || sum > whole;
}

static const struct task_set_shape exactly_full = { .tasks = { 2, 10 },
						    .util_ppm = CR_PPM,
						    .period = { 4, 60 },
						    .hyper = HYPER,
						    .full = true };

static const struct setting servers[] = {
	{ .ops = &cr_sched_cbs, .opts = "reserve=soft", .ncpu = 1 },
	{ .ops = &cr_sched_cbs, .opts = "reserve=hard", .ncpu = 1 },
	{ .ops = &cr_sched_grub, .opts = "reserve=soft", .ncpu = 1 },
	{ .ops = &cr_sched_grub, .opts = "reserve=hard", .ncpu = 1 },
};

enum { NSERVERS = sizeof(servers) / sizeof(servers[0]) };

#endif
