/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cbs and grub: whatever some tasks do, the others get what their servers
 * promise. In each random set some tasks are wild: their jobs take several
 * times what they declared, and come in bursts. The tame ones come no closer
 * than their periods and take no more than they declared.
 */
#include "schedulers/policies.h"
#include "task_set_rig.h"

enum {
	SETS = TEST_FEWER(300),
	HYPER = 240,
	UNTIL = 2 * HYPER,
	LONG = 4000, /* for sets with any periods */
	JOBS = 256,
	EXCESS = 5
};

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
static const char *name_of(const struct setting *s)
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

static uint64_t seed_of(const struct task_set *set)
{
	return set_hash(set);
}

static void draw_jobs(struct load *l, unsigned i, cr_ns excess, cr_ns until,
		      uint64_t *seed)
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
static struct load *draw_load(const struct task_set *set,
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

static void dress(struct rig_task *r)
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

static struct play start(const struct setting *s, const struct load *l)
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

/* Jobs of @r that were due by @until, and late. */
static uint64_t late(const struct rig_task *r, cr_ns until)
{
	uint64_t n = r->missed;

	for (uint64_t k = r->done; k < r->arrived; k++)
		n += rig_job(r, k).deadline <= until;
	return n;
}

static bool too_much(const struct task_set *set)
{
	cr_ns whole = task_set_hyper(set, UNTIL);
	int64_t sum = 0;

	for (unsigned i = 0; i < set->n; i++)
		sum += set->task[i].cost * (whole / set->task[i].period);
	return whole == UNTIL || sum > whole;
}

/* --- isolation --- */

static bool tame_one_is_late(const struct task_set *set, void *arg)
{
	struct setting *s = arg;
	struct load *l;
	struct play p;
	uint64_t n = 0;

	if (too_much(set))
		return false;
	l = draw_load(set, s, UNTIL);
	p = start(s, l);
	sim_run(p.rig->sim, UNTIL + 1);
	for (unsigned i = 0; i < p.rig->ntasks; i++)
		if (!l->wild[p.of[i]])
			n += late(&p.rig->task[i], UNTIL);
	rig_free(p.rig);
	s->hurt += n > 0;
	return n > 0;
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

/* U = 1 exactly, on one CPU. */
static void no_tame_task_is_late_whatever_the_wild_do(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NSERVERS; i++) {
		struct setting s = servers[i];
		struct task_set_property p = { name_of(&s), tame_one_is_late,
					       &s };

		s.preempt = SIM_FULL;
		task_set_try(SETS, &exactly_full, &p);
	}
}

/* What the property above is worth: by the jobs' own deadlines the tame are
 * late in most of the sets. */
static void under_edf_they_are_late(void **state)
{
	struct setting s = { .ops = &cr_sched_edf,
			     .ncpu = 1,
			     .preempt = SIM_FULL };
	uint64_t seed = test_seed();

	(void)state;
	for (unsigned k = 0; k < SETS; k++) {
		struct task_set set = task_set_draw(&exactly_full, &seed);

		(void)tame_one_is_late(&set, &s);
	}
	assert_true(s.hurt > SETS / 2);
}

/* --- admission: all classes, tight deadlines, several CPUs --- */

static bool promise_is_broken(const struct task_set *set, void *arg)
{
	struct setting *s = arg;
	struct load *l = draw_load(set, s, LONG);
	struct play p = start(s, l);
	bool broken = false;

	sim_run(p.rig->sim, LONG);
	for (unsigned i = 0; i < p.rig->ntasks; i++) {
		const struct rig_task *r = &p.rig->task[i];
		struct cr_promise said;

		core_promise(&r->st.core, &said);
		if (l->wild[p.of[i]] || said.kind != CR_PROMISE_LATENESS)
			continue;
		s->hurt++;
		broken |= late(r, LONG - 1) > 0;
	}
	rig_free(p.rig);
	return broken;
}

static const struct task_set_shape too_many = { .tasks = { 2, 12 },
						.util_ppm = 2000000,
						.period = { 20, 300 },
						.constrained = true,
						.mixed = true };

/* Frames are cut: the wild may take what they like. */
static void a_promise_holds_whatever_others_do(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NSERVERS; i++) {
		struct setting s = servers[i];
		struct task_set_property p = { name_of(&s), promise_is_broken,
					       &s };
		unsigned most = s.ops->flags & CR_F_ONE_CPU ? 1 : 3;

		s.admission = true;
		s.preempt = SIM_FULL;
		for (s.ncpu = 1; s.ncpu <= most; s.ncpu++)
			task_set_try(SETS, &too_many, &p);
		assert_true(s.hurt > SETS / 4); /* were promised something */
	}
}

/* Frames are not cut: soft ones may exceed their budgets up to their declared
 * worst case, hard ones keep to it. */
static void uncut_frames_harm_no_promise_up_to_the_worst_case(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NSERVERS; i++) {
		struct setting s = servers[i];
		struct task_set_property p = { name_of(&s), promise_is_broken,
					       &s };

		s.admission = true;
		s.preempt = SIM_FRAME;
		s.worst = 3;
		task_set_try(SETS, &too_many, &p);
		assert_true(s.hurt > SETS / 8);
	}
}

/* --- who keeps to its budget --- */

static bool differs_from_edf(const struct task_set *set, void *arg)
{
	const struct setting *s = arg;
	const struct setting edf = { .ops = &cr_sched_edf,
				     .ncpu = 1,
				     .preempt = SIM_FULL };
	struct sim_rig *a, *b;
	bool same = true;

	if (too_much(set))
		return false;
	a = rig_new(s->ops, s->opts, 1, TASK_SET_MAX);
	b = rig_new(edf.ops, NULL, 1, TASK_SET_MAX);
	(void)rig_add_set(a, set);
	(void)rig_add_set(b, set);
	for (cr_ns now = 0; now < HYPER && same; now++) {
		sim_run(a->sim, now + 1);
		sim_run(b->sim, now + 1);
		same = rig_running(a, 0) == rig_running(b, 0);
	}
	rig_free(a);
	rig_free(b);
	return !same;
}

static void within_their_budgets_tasks_run_as_under_edf(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NSERVERS; i++) {
		struct setting s = servers[i];
		struct task_set_property p = { name_of(&s), differs_from_edf,
					       &s };

		task_set_try(SETS, &exactly_full, &p);
	}
}

/* --- what the overrunning one gets --- */

/* The first task of the set never ends its first job. */
static struct load *draw_endless(const struct task_set *set)
{
	static const struct setting tame = { .worst = 1 };
	struct load *l = draw_load(set, &tame, UNTIL);

	for (unsigned i = 0; i < set->n; i++) {
		uint64_t seed = seed_of(set) + i + 1;

		l->wild[i] = i == 0;
		draw_jobs(l, i, 1, UNTIL, &seed);
	}
	l->njobs[0] = 1;
	l->job[0][0] = (struct sim_job){ 0, CR_SEC, set->task[0].period };
	return l;
}

static cr_ns service(struct sim_rig *rig)
{
	return cr_task_ran(&rig->task[0].st.core.task, sim_now(rig->sim));
}

static cr_ns busy(struct sim_rig *rig)
{
	const struct cr_cpu *c = &core_rq_of(sim_core(rig->sim), 0)->cpu[0];
	cr_ns now = sim_now(rig->sim);

	return sim_cpu_stats(rig->sim, 0).busy +
	       (c->running ? now - c->since : 0);
}

static bool takes_more_than_its_budget(const struct task_set *set, void *arg)
{
	const struct set_task *hog = &set->task[0];
	struct play p;
	bool more = false;

	if (too_much(set))
		return false;
	p = start(arg, draw_endless(set));
	for (cr_ns k = 1; k * hog->period <= UNTIL; k++) {
		sim_run(p.rig->sim, k * hog->period);
		more |= service(p.rig) != k * hog->cost;
	}
	rig_free(p.rig);
	return more;
}

/* Exactly its budget in every period, though the CPU may be idle. */
static void a_hard_reservation_is_the_budget_and_no_more(void **state)
{
	struct setting s = servers[1];
	struct task_set_property p = { name_of(&s), takes_more_than_its_budget,
				       &s };

	(void)state;
	s.preempt = SIM_FULL;
	task_set_try(SETS, &exactly_full, &p);
}

static bool idles(const struct task_set *set, void *arg)
{
	const struct setting edf = { .ops = &cr_sched_edf,
				     .ncpu = 1,
				     .preempt = SIM_FULL };
	struct load *l;
	struct play a, b;
	bool less = false;

	if (too_much(set))
		return false;
	l = draw_load(set, arg, UNTIL);
	a = start(arg, l);
	b = start(&edf, l);
	for (cr_ns now = 5; now <= UNTIL; now += 5) {
		sim_run(a.rig->sim, now);
		sim_run(b.rig->sim, now);
		less |= busy(a.rig) != busy(b.rig);
	}
	rig_free(a.rig);
	rig_free(b.rig);
	return less;
}

static void with_soft_reservations_nobody_waits_for_an_idle_cpu(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NSERVERS; i += 2) {
		struct setting s = servers[i];
		struct task_set_property p = { name_of(&s), idles, &s };

		s.preempt = SIM_FULL;
		task_set_try(SETS, &exactly_full, &p);
	}
}

struct versus {
	const struct setting *cbs, *grub;
	unsigned more; /* sets in which grub served it sooner */
};

/* An endless job, served by cbs and by grub: never less by now. */
static bool grub_serves_less(const struct task_set *set, void *arg)
{
	struct versus *v = arg;
	struct setting cbs = *v->cbs, grub = *v->grub;
	struct play a, b;
	struct load *l;
	bool less = false, more = false;

	if (too_much(set))
		return false;
	cbs.preempt = grub.preempt = SIM_FULL;
	l = draw_endless(set);
	a = start(&cbs, l);
	b = start(&grub, l);
	for (cr_ns now = 1; now <= UNTIL; now++) {
		sim_run(a.rig->sim, now);
		sim_run(b.rig->sim, now);
		less |= service(b.rig) < service(a.rig);
		more |= service(b.rig) > service(a.rig);
	}
	rig_free(a.rig);
	rig_free(b.rig);
	v->more += more;
	return less;
}

static void an_overrun_ends_no_later_under_grub_than_under_cbs(void **state)
{
	static const struct task_set_shape shapes[] = {
		{ .tasks = { 2, 10 },
		  .util_ppm = CR_PPM,
		  .period = { 4, 60 },
		  .hyper = HYPER,
		  .full = true },
		{ .tasks = { 2, 10 },
		  .util_ppm = 600000,
		  .period = { 4, 60 },
		  .hyper = HYPER },
	};

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		for (unsigned k = 0; k < 2; k++) {
			struct versus v = { &servers[k], &servers[2 + k], 0 };
			struct task_set_property p = { name_of(v.grub),
						       grub_serves_less, &v };

			task_set_try(SETS, &shapes[i], &p);
			assert_true(v.more > SETS / 4);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_tame_task_is_late_whatever_the_wild_do),
		cmocka_unit_test(under_edf_they_are_late),
		cmocka_unit_test(a_promise_holds_whatever_others_do),
		cmocka_unit_test(
			uncut_frames_harm_no_promise_up_to_the_worst_case),
		cmocka_unit_test(within_their_budgets_tasks_run_as_under_edf),
		cmocka_unit_test(a_hard_reservation_is_the_budget_and_no_more),
		cmocka_unit_test(
			with_soft_reservations_nobody_waits_for_an_idle_cpu),
		cmocka_unit_test(
			an_overrun_ends_no_later_under_grub_than_under_cbs),
	};

	return cmocka_run_group_tests_name("servers", tests, NULL, NULL);
}
