/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Pfair promises, on random sets of sum U <= M: every quantum of every
 * task within its window, in every slot, for pf, pd and pd2 alike; admission
 * takes every set that fits, to the last quantum.
 *
 * The windows are computed here from the weights and the releases, not with
 * schedulers/pfair.h.
 */
#include "schedulers/policies.h"
#include "task_set_rig.h"

enum { HYPER = 120, MOST_CPUS = 8, JOBS = 64 };
#define SETS TEST_TRIES(1400)

#define SLOT CR_MS

/* Mixed: every second task waits for its windows. */
enum mode { PFAIR, ERFAIR, MIXED, MODES };

static const char *const opts[MODES] = { "quantum=1ms,mode=pfair",
					 "quantum=1ms,mode=erfair",
					 "quantum=1ms,mode=mixed" };

/* One policy on one set. */
struct world {
	const struct cr_sched_ops *ops;
	enum mode mode;
	unsigned ncpu;	  /* 0: as many as the set needs */
	uint64_t seed;	  /* of releases and costs; 0: periodic, full cost */
	unsigned *looked; /* counts the runs that a promise covers */
};

struct promise {
	bool early;	       /* it need not wait for its windows */
	int64_t cost, period;  /* quanta */
	int64_t got;	       /* slots so far */
	int64_t release[JOBS]; /* slots; of the windows: not before ... */
	int64_t arrival[JOBS]; /* ... the job itself */
	struct sim_job job[JOBS];
};

struct course {
	struct sim_rig *rig;
	struct promise p[TASK_SET_MAX];
	unsigned ntasks;
	int64_t slot;
	enum mode mode;
};

static struct task_set in_slots(const struct task_set *set)
{
	struct task_set out = *set;

	for (unsigned i = 0; i < out.n; i++) {
		out.task[i].period *= SLOT;
		out.task[i].deadline *= SLOT;
		out.task[i].cost *= SLOT;
	}
	return out;
}

/* CPUs that @set needs, rounded up; 0: not known exactly. */
static unsigned cpus_needed(const struct task_set *set)
{
	cr_ns hyper = task_set_hyper(set, CR_SEC), sum = 0;

	for (unsigned i = 0; i < set->n; i++) {
		if (hyper % set->task[i].period)
			return 0;
		sum += hyper / set->task[i].period * set->task[i].cost;
	}
	return (unsigned)((sum + hyper - 1) / hyper);
}

/* --- windows --- */

/* The pattern of job @k. */
static int64_t pattern_of(const struct promise *p, int64_t k)
{
	return k < JOBS ? p->release[k] : INT64_MAX / 2;
}

static int64_t window_begin(const struct promise *p, int64_t n)
{
	return pattern_of(p, n / p->cost) + n % p->cost * p->period / p->cost;
}

static int64_t window_end(const struct promise *p, int64_t n)
{
	return pattern_of(p, n / p->cost) +
	       ((n % p->cost + 1) * p->period + p->cost - 1) / p->cost;
}

/* Task @i gets slot c->slot: is that within the window of that quantum? */
static bool in_window(struct course *c, unsigned i)
{
	struct promise *p = &c->p[i];
	int64_t n = p->got++;

	if (p->early ? p->arrival[n / p->cost] > c->slot
		     : window_begin(p, n) > c->slot)
		return false;
	return c->slot < window_end(p, n);
}

static bool any_overdue(const struct course *c)
{
	for (unsigned i = 0; i < c->ntasks; i++)
		if (window_end(&c->p[i], c->p[i].got) <= c->slot)
			return true;
	return false;
}

/* -1 < lag < 1, or lag < 1, before the slot; for tasks released on time, 0, p,
 * 2 p, ..., whose fluid schedule is e / p. */
static bool lags_are_within_bounds(const struct course *c)
{
	for (unsigned i = 0; i < c->ntasks; i++) {
		const struct promise *p = &c->p[i];
		int64_t lag = p->cost * c->slot - p->period * p->got;

		if (lag >= p->period || (!p->early && lag <= -p->period))
			return false;
	}
	return true;
}

/* --- a run --- */

/* Jobs of task @i: in time, or anything from a burst to two periods late. */
static void draw_jobs(struct course *c, unsigned i, uint64_t *seed)
{
	struct promise *p = &c->p[i];
	int64_t at = 0, next = 0;

	for (unsigned k = 0; k < JOBS; k++) {
		p->arrival[k] = at;
		p->release[k] = at > next ? at : next;
		next = p->release[k] + p->period;
		p->job[k] = (struct sim_job){ at * SLOT, p->cost * SLOT,
					      next * SLOT };
		at += *seed ? set_between(seed, 0, 2 * p->period) : p->period;
	}
}

static void set_jobs(struct course *c, unsigned i)
{
	struct rig_task *r = &c->rig->task[i];

	r->job = c->p[i].job;
	r->njobs = JOBS;
	sim_arrive_at(c->rig->sim, &r->st, r->job[0].at);
}

static struct course *start(const struct task_set *set, const struct world *w,
			    unsigned ncpu)
{
	struct course *c = calloc(1, sizeof(*c));
	struct task_set slots = in_slots(set);
	uint64_t seed = w->seed;

	assert_non_null(c);
	c->mode = w->mode;
	c->ntasks = set->n;
	c->rig = rig_new(w->ops, opts[w->mode], ncpu, set->n + 1);
	c->rig->cfg.core.admission = true;
	for (unsigned i = 0; i < set->n; i++) {
		c->p[i].early =
			w->mode == ERFAIR || (w->mode == MIXED && i % 2);
		c->p[i].cost = set->task[i].cost;
		c->p[i].period = set->task[i].period;
		draw_jobs(c, i, &seed);
	}
	if (rig_add_set(c->rig, &slots) == set->n) {
		for (unsigned i = 0; i < set->n; i++) {
			c->rig->task[i].st.core.task.nice = !c->p[i].early;
			set_jobs(c, i);
		}
		return c;
	}
	rig_free(c->rig);
	free(c);
	return NULL;
}

static void finish(struct course *c)
{
	rig_free(c->rig);
	free(c);
}

/* The slot that has just begun. */
static bool look(struct course *c, unsigned ncpu)
{
	const struct cr_rq *rq = core_rq(sim_core(c->rig->sim), 0);
	bool idle = false;

	for (unsigned cpu = 0; cpu < ncpu; cpu++) {
		const struct cr_task *t = rq->cpu[cpu].running;

		idle |= !t;
		if (t && !in_window(c, t->id - 1))
			return false;
	}
	return !(idle && c->mode == ERFAIR && rq->nqueued);
}

/* Up to the slot where the last job of some task would be over. */
static int64_t horizon(const struct course *c)
{
	int64_t end = 2 * HYPER;

	for (unsigned i = 0; i < c->ntasks; i++)
		if (c->p[i].release[JOBS - 1] < end)
			end = c->p[i].release[JOBS - 1];
	return end;
}

static bool breaks_a_window(const struct task_set *set, void *arg)
{
	const struct world *w = arg;
	unsigned need = cpus_needed(set), ncpu = w->ncpu ? w->ncpu : need;
	struct course *c;
	bool fine = true;
	int64_t end;

	if (!need || need > ncpu)
		return false; /* no promise about this set */
	++*w->looked;
	c = start(set, w, ncpu);
	if (!c)
		return true;
	end = horizon(c);
	for (c->slot = 0; fine && c->slot < end; c->slot++) {
		fine = w->seed || lags_are_within_bounds(c);
		sim_run(c->rig->sim, c->slot * SLOT + 1);
		fine = fine && look(c, ncpu) && !any_overdue(c);
	}
	fine = fine && rig_misses(c->rig) == 0;
	finish(c);
	return !fine;
}

static void try_family(const struct task_set *set, struct world w,
		       bool (*fails)(const struct task_set *, void *))
{
	static const struct cr_sched_ops *const family[] = { &cr_sched_pf,
							     &cr_sched_pd,
							     &cr_sched_pd2 };
	struct task_set_property p = { .fails = fails, .arg = &w };
	char text[2048];

	for (unsigned k = 0; k < 3 * MODES; k++) {
		struct task_set least = *set;

		w.ops = family[k / MODES];
		w.mode = (enum mode)(k % MODES);
		if (!fails(set, &w))
			continue;
		task_set_shrink(&least, &p);
		fail_msg("CR_SEED=%" PRIu64 ": %s,%s on %u CPUs, seed of "
			 "releases %llu: %s",
			 test_run_seed(), w.ops->name, opts[w.mode], w.ncpu,
			 (unsigned long long)w.seed,
			 task_set_text(&least, text, sizeof(text)));
	}
}

/* @SETS sets, M = 1..8 by turns, a thousand with sum U = M to the last
 * quantum, half of them of mostly heavy tasks, each under all policies and
 * modes. */
static void try_all(struct world w,
		    bool (*fails)(const struct task_set *, void *))
{
	struct sets_seen seen = { 0 };
	uint64_t seed = test_seed();
	unsigned looked = 0;

	w.looked = &looked;
	for (unsigned round = 0; round < SETS; round++) {
		int64_t m = 1 + round % MOST_CPUS;
		bool full = round / MOST_CPUS % 2;
		bool heavy = round / MOST_CPUS % 4 > 1;
		struct task_set_shape shape = {
			.tasks = { heavy ? (unsigned)m + 1 : 1,
				   (unsigned)m + (heavy ? 3 : 8) },
			.util_ppm = full ? m * CR_PPM
					 : set_between(&seed, CR_PPM / 4,
						       m * CR_PPM),
			.period = { 2, 60 },
			.hyper = HYPER,
			.full = full,
			.cls = CR_HARD
		};
		struct task_set set = set_draw_new(&shape, &seed, &seen);

		w.ncpu = (unsigned)m;
		w.seed = w.seed ? test_random(&seed) | 1 : 0;
		try_family(&set, w, fails);
	}
	assert_int_equal(looked, 3 * MODES * SETS);
}

/* Four CPUs, full: found by searching for sets on which PD2 without its group
 * deadlines, or with the smaller one first, is late. */
static const struct task_set knots[] = {
	{ 5,
	  { { 6, 5, 6, 0 },
	    { 3, 2, 3, 0 },
	    { 4, 3, 4, 0 },
	    { 8, 7, 8, 0 },
	    { 24, 21, 24, 0 } } },
	{ 5,
	  { { 15, 12, 15, 0 },
	    { 15, 12, 15, 0 },
	    { 15, 12, 15, 0 },
	    { 30, 29, 30, 0 },
	    { 30, 19, 30, 0 } } },
	{ 5,
	  { { 12, 11, 12, 0 },
	    { 6, 5, 6, 0 },
	    { 12, 11, 12, 0 },
	    { 6, 5, 6, 0 },
	    { 2, 1, 2, 0 } } },
	{ 5,
	  { { 9, 6, 9, 0 },
	    { 6, 5, 6, 0 },
	    { 6, 5, 6, 0 },
	    { 36, 35, 36, 0 },
	    { 36, 25, 36, 0 } } },
};

static void sets_that_need_every_tie_break_are_met(void **state)
{
	unsigned looked = 0;

	for (unsigned i = 0; i < sizeof(knots) / sizeof(knots[0]); i++)
		try_family(&knots[i],
			   (struct world){ .ncpu = 4, .looked = &looked },
			   breaks_a_window);
	assert_int_equal(looked, 3 * MODES * sizeof(knots) / sizeof(knots[0]));
}

static void every_quantum_is_within_its_window(void **state)
{
	try_all((struct world){ .seed = 0 }, breaks_a_window);
}

static void late_and_early_jobs_keep_their_windows(void **state)
{
	try_all((struct world){ .seed = 1 }, breaks_a_window);
}

/* --- jobs that take less than their cost --- */

static void be_endless(struct rig_task *r)
{
	r->st.core.task.cls = CR_BE;
}

static bool is_late(const struct task_set *set, void *arg)
{
	const struct world *w = arg;
	unsigned need = cpus_needed(set), ncpu = w->ncpu ? w->ncpu : need;
	uint64_t seed = w->seed, misses;
	struct course *c;

	if (!need || need > ncpu)
		return false;
	++*w->looked;
	c = start(set, w, ncpu);
	if (!c)
		return true;
	for (unsigned i = 0; i < c->ntasks; i++)
		for (unsigned k = 0; k < JOBS; k++)
			c->p[i].job[k].cost =
				set_between(&seed, 1, c->p[i].job[k].cost);
	(void)rig_add_with(c->rig, CR_MS, CR_SEC, be_endless);
	sim_run(c->rig->sim, horizon(c) * SLOT + 1);
	misses = rig_misses(c->rig);
	for (unsigned i = 0; i < c->ntasks; i++)
		misses += c->rig->task[i].done == 0;
	finish(c);
	return misses > 0;
}

/* What they leave lapses, idles or is given away, and nobody is late for it;
 * nor for the best-effort task that runs in the gaps. */
static void jobs_that_take_less_make_nobody_late(void **state)
{
	try_all((struct world){ .seed = 1 }, is_late);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_quantum_is_within_its_window),
		cmocka_unit_test(sets_that_need_every_tie_break_are_met),
		cmocka_unit_test(late_and_early_jobs_keep_their_windows),
		cmocka_unit_test(jobs_that_take_less_make_nobody_late),
	};

	return cmocka_run_group_tests_name("pfair", tests, NULL, NULL);
}
