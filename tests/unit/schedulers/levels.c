/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The four levels of dwa and rm slot by slot, and dwa's admission number by
 * number.
 */
#include <errno.h>

#include "schedulers/policies.h"
#include "sim_rig.h"

enum { SLOT = 10, ROWS = 16 };

/* A frame, in slots: when it came, its logical arrival, its cost. */
struct row {
	cr_ns at, logical, cost;
};

static struct sim_job pool[ROWS];
static unsigned used;

static struct sim_rig *rig_on(const struct cr_sched_ops *ops, const char *opts,
			      unsigned ncpu)
{
	struct sim_rig *rig = rig_new(ops, opts, ncpu, 8);

	rig->cfg.client.backlog.peek = rig_peek_logical;
	used = 0;
	return rig;
}

/* The next letter: a call with these frames; period and relative deadline are
 * @period slots. */
static void add(struct sim_rig *rig, enum cr_class cls, cr_ns period,
		const struct row *row, unsigned n)
{
	struct sim_job *job = &pool[used];
	struct rig_task *r = &rig->task[rig->ntasks];

	used += n;
	assert_true(used <= ROWS);
	for (unsigned i = 0; i < n; i++)
		job[i] = (struct sim_job){ SLOT * row[i].at, SLOT * row[i].cost,
					   SLOT * (row[i].logical + period) };
	assert_ptr_equal(rig_add_with(rig, SLOT * period, 1, NULL), r);
	r->st.core.task.cls = cls; /* no admission: nothing was counted */
	r->job = job;
	r->njobs = n;
	sim_arrive_at(rig->sim, &r->st, job[0].at);
}

#define ADD(rig, cls, period, ...)                                             \
	add((rig), (cls), (period), (const struct row[]){ __VA_ARGS__ },       \
	    sizeof((const struct row[]){ __VA_ARGS__ }) / sizeof(struct row))

static void expect(struct sim_rig *rig, const char *want)
{
	char line[1][128];

	rig_trace(rig, SLOT, 1, line, (unsigned)strlen(want));
	assert_string_equal(line[0], want);
	rig_free(rig);
}

/* --- dwa --- */

static void dwa_serves_four_levels_each_by_deadline(void **state)
{
	static const char *const ways[] = { "workahead=run", "workahead=hold" };

	for (unsigned i = 0; i < 2; i++) {
		struct sim_rig *rig = rig_on(&cr_sched_dwa, ways[i], 1);

		ADD(rig, CR_SOFT, 6, { 1, 1, 2 });
		ADD(rig, CR_HARD, 20, { 2, 2, 2 });
		ADD(rig, CR_BE, 50, { 0, 0, 3 });
		ADD(rig, CR_SOFT, 4, { 0, 0, 1 }, { 0, 4, 1 }, { 0, 8, 1 });
		/* B, guaranteed, before A's and D's closer deadlines; D's
		 * second frame waits for 4 though it came at 0, and for A */
		expect(rig, "DABBADCCDC.");
	}
}

static void dwa_runs_workahead_last(void **state)
{
	struct sim_rig *rig = rig_on(&cr_sched_dwa, NULL, 1);

	ADD(rig, CR_SOFT, 4, { 0, 0, 2 }, { 0, 4, 2 }, { 0, 8, 2 });
	ADD(rig, CR_BE, 50, { 3, 3, 3 });
	/* best effort displaces it at 3, at 4 it is critical */
	expect(rig, "AAABABBAA.");
}

static void dwa_holds_workahead_back(void **state)
{
	struct sim_rig *rig = rig_on(&cr_sched_dwa, "workahead=hold", 1);

	ADD(rig, CR_SOFT, 4, { 0, 0, 2 }, { 0, 4, 2 }, { 0, 8, 2 });
	ADD(rig, CR_BE, 50, { 3, 3, 3 });
	expect(rig, "AA.BAABBAA.");
}

static void dwa_orders_workahead_by_deadline(void **state)
{
	struct sim_rig *rig = rig_on(&cr_sched_dwa, NULL, 1);

	ADD(rig, CR_SOFT, 10, { 0, 0, 1 }, { 0, 5, 1 });
	ADD(rig, CR_HARD, 3, { 0, 0, 1 }, { 0, 7, 1 });
	/* A's second is critical sooner, B's is due sooner */
	expect(rig, "BABA.");
}

static void one_held_back_wants_no_idle_cpu(void **state)
{
	struct sim_rig *rig = rig_on(&cr_sched_dwa, "workahead=hold", 2);
	char line[2][128];

	ADD(rig, CR_SOFT, 20, { 0, 0, 4 });
	ADD(rig, CR_SOFT, 4, { 0, 0, 1 }, { 0, 8, 1 });
	ADD(rig, CR_SOFT, 5, { 2, 2, 1 });
	rig_trace(rig, SLOT, 2, line, 10);
	assert_string_equal(line[0], "B.C.....B.");
	assert_string_equal(line[1], "AAAA......");
	assert_int_equal(sim_cpu_stats(rig->sim, 1).preemptions, 0);
	rig_free(rig);
}

/* --- rm --- */

static void rm_knows_workahead(void **state)
{
	static const struct {
		const char *opts, *want;
	} way[] = { { "workahead=run", "ABBBAA...." },
		    { "workahead=hold", "ABBBA...A." } };

	for (unsigned i = 0; i < 2; i++) {
		struct sim_rig *rig = rig_on(&cr_sched_rm, way[i].opts, 1);

		ADD(rig, CR_SOFT, 4, { 0, 0, 1 }, { 0, 4, 1 }, { 0, 8, 1 });
		ADD(rig, CR_SOFT, 10, { 0, 0, 3 });
		expect(rig, way[i].want);
	}
}

/* --- dwa's admission --- */

struct asked {
	enum cr_class cls;
	cr_ns period, mean, p99, largest;
};

static const struct asked *request;

static void dress(struct rig_task *r)
{
	struct cr_task *t = &r->st.core.task;

	t->cls = request->cls;
	t->period = t->rel_deadline = request->period;
	t->cost.mean = request->mean;
	t->cost.p99 = request->p99;
	t->contract.largest = request->largest;
}

static bool joins(struct sim_rig *rig, const struct asked *a)
{
	request = a;
	return rig_add_with(rig, a->period, a->mean, dress) != NULL;
}

static struct sim_rig *market(const struct cr_sched_ops *ops,
			      enum sim_preempt preempt)
{
	struct sim_rig *rig = rig_on(ops, NULL, 1);

	rig->cfg.core.admission = true;
	rig->cfg.preempt = preempt;
	return rig;
}

/* One that fits beside @first, and one that is just too much. */
static void just_fits(const struct asked *first, unsigned n,
		      const struct asked *fits, const struct asked *more)
{
	const struct asked *last[] = { more, fits };

	for (unsigned i = 0; i < 2; i++) {
		struct sim_rig *rig = market(&cr_sched_dwa, SIM_FULL);

		for (unsigned k = 0; k < n; k++)
			assert_true(joins(rig, &first[k]));
		assert_int_equal(joins(rig, last[i]), i);
		rig_free(rig);
	}
}

static const struct asked both[] = { { CR_HARD, 100, 20, 60, 0 },
				     { CR_SOFT, 100, 30, 90, 0 } };

static void dwa_admits_guaranteed_by_worst_case_statistical_by_average(
	void **state)
{
	static const struct asked soft[] = { { CR_SOFT, 100, 10, 99, 0 },
					     { CR_SOFT, 100, 11, 11, 0 } };
	static const struct asked hard[] = { { CR_HARD, 100, 1, 10, 0 },
					     { CR_HARD, 100, 1, 11, 0 } };
	static const struct asked largest[] = { { CR_HARD, 100, 1, 50, 10 },
						{ CR_HARD, 100, 1, 5, 11 } };

	just_fits(both, 2, &soft[0], &soft[1]);
	just_fits(both, 2, &hard[0], &hard[1]);
	just_fits(both, 2, &largest[0], &largest[1]);
}

/* Without levels nothing keeps soft calls from what hard ones were promised. */
static void edf_counts_all_by_the_worst_case_beside_a_guarantee(void **state)
{
	struct sim_rig *rig = market(&cr_sched_edf, SIM_FULL);

	assert_true(joins(rig, &both[0]));
	assert_false(joins(rig, &both[1]));
	rig_free(rig);
}

static void an_uncut_frame_of_any_class_counts_against_all(void **state)
{
	static const struct asked call = { CR_HARD, 100, 40, 40, 0 };
	static const struct asked fits = { CR_BE, 1000, 60, 60, 0 };
	static const struct asked more = { CR_BE, 1000, 61, 61, 0 };
	struct sim_rig *rig = market(&cr_sched_dwa, SIM_FRAME);

	assert_true(joins(rig, &call));
	assert_false(joins(rig, &more));
	assert_true(joins(rig, &fits));
	rig_free(rig);
}

/* Streams of 30/s with this cost that are let in, and why not one more. */
static unsigned streams(const struct cr_sched_ops *ops, cr_ns cost, char *why,
			size_t size)
{
	struct sim_rig *rig = rig_new(ops, NULL, 1, 40);
	const struct asked stream = { CR_SOFT, CR_SEC / 30, cost, cost, 0 };
	struct cr_task t = { .id = 100, .weight = 1024 };
	struct cr_verdict v;
	unsigned n = 0;

	rig->cfg.core.admission = true;
	while (joins(rig, &stream))
		n++;
	t.cls = stream.cls;
	t.period = t.rel_deadline = stream.period;
	t.cost = (struct cr_cost){ .mean = cost, .p99 = cost };
	cr_cpus_add(&t.cpus, 0);
	core_refusal(sim_core(rig->sim), core_admit(sim_core(rig->sim), &t, &v),
		     &v, why, size);
	rig_free(rig);
	return n;
}

/* 2.7 % each, and what the scheduler itself takes: the paper ran 36. */
static void the_papers_server_has_room_for_36_streams(void **state)
{
	char why[256];

	assert_int_equal(streams(&cr_sched_rm, 910 * CR_US, why, sizeof(why)),
			 36);
	assert_string_equal(why, "no-capacity: need 0.0273, free 0.0172 of "
				 "1.00 under rm (every response time <= "
				 "min(D, T))");
	assert_int_equal(streams(&cr_sched_dwa, 910 * CR_US, why, sizeof(why)),
			 36);
	assert_string_equal(why, "no-capacity: need 0.0274, free 0.0171 of "
				 "1.00 under dwa (sum C / min(D, T) + longest "
				 "frame / shortest D <= bound)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dwa_serves_four_levels_each_by_deadline),
		cmocka_unit_test(dwa_runs_workahead_last),
		cmocka_unit_test(dwa_holds_workahead_back),
		cmocka_unit_test(dwa_orders_workahead_by_deadline),
		cmocka_unit_test(one_held_back_wants_no_idle_cpu),
		cmocka_unit_test(rm_knows_workahead),
		cmocka_unit_test(
			dwa_admits_guaranteed_by_worst_case_statistical_by_average),
		cmocka_unit_test(
			edf_counts_all_by_the_worst_case_beside_a_guarantee),
		cmocka_unit_test(
			an_uncut_frame_of_any_class_counts_against_all),
		cmocka_unit_test(the_papers_server_has_room_for_36_streams),
	};

	return cmocka_run_group_tests_name("levels", tests, NULL, NULL);
}
