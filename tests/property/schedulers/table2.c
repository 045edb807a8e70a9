/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Table 2 of the BEST paper: missed deadlines of periodic tasks beside an
 * endless best-effort loop, under Linux 2.2's goodness, best and rm. A task
 * that is late finishes its job, and its next period begins at that moment.
 *
 * Constant costs make tasks keep their phases for ever, and under goodness the
 * share of misses depends on them. So each experiment is run from several
 * starts, one process a second or more after another, and what is not 0 in the
 * paper is compared with the mean: within 10 points. Zeros are zeros in every
 * run. campaigns/best/README.md tells where we differ and why.
 */
#include "schedulers/registry.h"
#include "sim_rig.h"

enum { TASKS = 4, JOBS = 4096, EXPERIMENTS = 7, STARTS = 32, POINTS = 10 };

#define HORIZON (300 * CR_SEC)
#define FOREVER (1000000 * CR_SEC)

struct periodic {
	cr_ns ms;
	unsigned share; /* percent of its period */
	unsigned linux_pc, best_pc, rm_pc;
};

struct experiment {
	bool loop;
	unsigned n;
	struct periodic p[3];
};

static const struct experiment table[EXPERIMENTS] = {
	{ true, 1, { { 100, 40, 0, 0, 0 } } },
	{ false, 2, { { 100, 40, 0, 0, 0 }, { 100, 40, 0, 0, 0 } } },
	{ true, 1, { { 100, 70, 29, 0, 0 } } },
	{ true, 2, { { 1000, 30, 0, 0, 0 }, { 100, 30, 6, 0, 0 } } },
	{ true,
	  3,
	  { { 1000, 30, 83, 0, 0 },
	    { 500, 30, 80, 0, 0 },
	    { 100, 30, 10, 0, 0 } } },
	{ true,
	  3,
	  { { 610, 31, 77, 0, 27 },
	    { 430, 30, 66, 0, 0 },
	    { 130, 31, 16, 0, 0 } } },
	{ true,
	  3,
	  { { 1000, 40, 98, 71, 98 },
	    { 500, 40, 93, 5, 0 },
	    { 100, 40, 19, 2, 0 } } },
};

/* Job after job as they begin; what has not begun is at CR_NEVER. */
static struct sim_job jobs[TASKS][JOBS];

static void begin(const struct rig_task *r, uint64_t k, cr_ns at)
{
	const struct cr_task *t = &r->st.core.task;
	struct sim_job *j = &jobs[t->id - 1][k];

	assert_true(k + 1 < JOBS);
	j[0].at = at;
	j[0].cost = r->cost;
	j[0].deadline = t->cls == CR_BE ? CR_NEVER : at + t->period;
	j[1].at = CR_NEVER;
}

/* On time: sleep until the period ends. Late: the next begins now. */
static void closed_done(void *arg, struct sim_task *t, unsigned cpu, cr_ns now)
{
	struct rig_task *r = rig_task_of(&t->core);
	cr_ns end = rig_job(r, r->done).deadline;

	rig_done(arg, t, cpu, now);
	begin(r, r->done, cr_ns_max(end, now));
	if (now > end)
		r->arrived++;
	else
		sim_arrive_at(r->rig->sim, t, end);
}

static void endless(struct rig_task *r)
{
	r->st.core.task.cls = CR_BE;
	r->cost = FOREVER;
}

static void add(struct sim_rig *rig, cr_ns at, cr_ns period, cr_ns cost,
		void (*change)(struct rig_task *))
{
	struct rig_task *r = rig_add_with(rig, period, cost, change);

	assert_non_null(r);
	r->job = jobs[r->st.core.task.id - 1];
	r->njobs = JOBS;
	begin(r, 0, at);
	sim_arrive_at(rig->sim, &r->st, at);
}

/* When the @i-th process of run @start begins: a second or more after the one
 * before, each run with other phases. */
static cr_ns start_of(unsigned start, unsigned i)
{
	static const unsigned step[TASKS] = { 0, 331, 617, 173 };

	return i * 2 * CR_SEC + start * step[i] % 1000 * CR_MS;
}

/* A scheduler, on a machine that takes so much for a context switch. */
struct subject {
	const char *name;
	cr_ns context;
	unsigned (*column)(const struct periodic *);
	const struct cr_sched_ops *ops;
};

/* Run experiment @x once; add the shares of misses, in ppm, to @ppm. */
static void run(const struct experiment *x, const struct subject *subject,
		unsigned start, int64_t ppm[3])
{
	struct sim_rig *rig = rig_new(subject->ops, NULL, 1, TASKS);
	unsigned i;

	rig->cfg.client.done = closed_done;
	rig->cfg.overhead.context = subject->context;
	if (x->loop)
		add(rig, 0, CR_SEC, CR_SEC, endless);
	for (i = 0; i < x->n; i++)
		add(rig, start_of(start, i + 1), x->p[i].ms * CR_MS,
		    x->p[i].ms * CR_MS / 100 * x->p[i].share, NULL);
	sim_run(rig->sim, HORIZON);
	for (i = 0; i < x->n; i++) {
		const struct rig_task *r = &rig->task[i + x->loop];

		assert_true(r->done > 0);
		ppm[i] += (int64_t)r->missed * CR_PPM / (int64_t)r->done;
	}
	rig_free(rig);
}

/* The mean of experiment @e over all starts, ppm. */
static void mean(unsigned e, const struct subject *subject, int64_t ppm[3])
{
	for (unsigned i = 0; i < 3; i++)
		ppm[i] = 0;
	for (unsigned start = 0; start < STARTS; start++)
		run(&table[e], subject, start, ppm);
	for (unsigned i = 0; i < 3; i++)
		ppm[i] /= STARTS;
}

static unsigned goodness_column(const struct periodic *p)
{
	return p->linux_pc;
}

static unsigned best_column(const struct periodic *p)
{
	return p->best_pc;
}

static unsigned rm_column(const struct periodic *p)
{
	return p->rm_pc;
}

static void expect(unsigned e, unsigned i, unsigned paper, int64_t ppm)
{
	const struct periodic *p = &table[e].p[i];
	int64_t off = ppm - paper * (CR_PPM / 100);
	bool near = paper ? off <= POINTS * (CR_PPM / 100) &&
				    off >= -POINTS * (CR_PPM / 100)
			  : ppm == 0;

	if (!near)
		fail_msg("experiment %u, (%d ms, %u %%): %d ppm missed, %u %% "
			 "in the paper",
			 e + 1, (int)p->ms, p->share, (int)ppm, paper);
}

static void compare(struct subject subject)
{
	const char *opts;
	int64_t ppm[3];

	assert_int_equal(
		cr_scheduler_find(subject.name, &subject.ops, &opts, NULL), 0);
	for (unsigned e = 0; e < EXPERIMENTS; e++) {
		mean(e, &subject, ppm);
		(void)printf("%s, experiment %u, ppm:", subject.name, e + 1);
		for (unsigned i = 0; i < table[e].n; i++)
			(void)printf(" %d", (int)ppm[i]);
		(void)printf("\n");
		for (unsigned i = 0; i < table[e].n; i++)
			expect(e, i, subject.column(&table[e].p[i]), ppm[i]);
	}
}

static void goodness_misses_what_linux_missed(void **state)
{
	compare((struct subject){ "goodness", 0, goodness_column, NULL });
}

static void best_misses_what_it_missed_in_the_paper(void **state)
{
	compare((struct subject){ "best", 0, best_column, NULL });
}

/* Experiment 6 is at the border of what rm can do: 15.5 % without overhead, a
 * third with 0.2 ms a context switch, 27 % in the paper. */
static void rm_misses_what_it_missed_in_the_paper(void **state)
{
	compare((struct subject){ "rm", 200 * CR_US, rm_column, NULL });
}

/* Columns: goodness is never better than best. Rows, in each column: the
 * longer the period, the more is missed; a point less is a tie, as where Linux
 * misses nearly all. */
static void the_order_of_schedulers_and_tasks_is_kept(void **state)
{
	struct subject subject[] = { { .name = "goodness" },
				     { .name = "best" } };
	const char *opts;

	for (unsigned k = 0; k < 2; k++)
		assert_int_equal(cr_scheduler_find(subject[k].name,
						   &subject[k].ops, &opts,
						   NULL),
				 0);
	for (unsigned e = 0; e < EXPERIMENTS; e++) {
		int64_t ppm[2][3];

		mean(e, &subject[0], ppm[0]);
		mean(e, &subject[1], ppm[1]);
		for (unsigned i = 0; i < table[e].n; i++) {
			assert_true(ppm[0][i] >= ppm[1][i]);
			if (i && e != 3) /* 3: 0 and 6, the other way round */
				assert_true(ppm[0][i - 1] + CR_PPM / 100 >=
					    ppm[0][i]);
			if (i)
				assert_true(ppm[1][i - 1] >= ppm[1][i]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(goodness_misses_what_linux_missed),
		cmocka_unit_test(best_misses_what_it_missed_in_the_paper),
		cmocka_unit_test(rm_misses_what_it_missed_in_the_paper),
		cmocka_unit_test(the_order_of_schedulers_and_tasks_is_kept),
	};

	return cmocka_run_group_tests_name("table2", tests, NULL, NULL);
}
