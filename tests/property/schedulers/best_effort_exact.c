/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule=exact of edf-be is optimal: with the deadlines it gives no call is late
 * whatever calls send within their curves, and with one that is earlier some
 * are. Calls are played by their worst: from every arrival of a best-effort job
 * on they send all that their curves allow, in pieces of a ns.
 */
#include "schedulers/be_server.h"
#include "schedulers/policies.h"
#include "seed.h"
#include "sim_rig.h"

enum { CASES = 60, CALLS = 3, JOBS = 5, PIECES = 3000, UNTIL = 6000 };

struct sender {
	struct cr_task task;
	struct sim_job piece[PIECES];
};

struct game {
	struct sender call[CALLS];
	unsigned ncalls;
	struct sim_job be[JOBS];
	unsigned njobs;
	struct curve e;
};

static void draw_game(struct game *g, uint64_t *seed)
{
	struct residual r = { .nsums = 0 };
	cr_ns at = 0;

	g->ncalls = 1 + test_below(seed, CALLS);
	for (unsigned i = 0; i < g->ncalls; i++) {
		struct cr_task *t = &g->call[i].task;
		cr_ns cost = 20 + test_below(seed, 80);

		*t = (struct cr_task){
			.cls = CR_HARD,
			.period = cost * (2 + test_below(seed, 5)) * g->ncalls,
			.rel_deadline = 400 + test_below(seed, 900),
			.cost = { .mean = cost, .p99 = cost },
		};
		(void)residual_add(&r, t);
	}
	residual_curve(&r, 0, &g->e);
	g->njobs = 1 + test_below(seed, JOBS);
	for (unsigned n = 0; n < g->njobs; n++) {
		at += test_below(seed, 400);
		g->be[n] =
			(struct sim_job){ at, 20 + test_below(seed, 200), 0 };
	}
}

/* Everything a call may send from @from on: C at once, then C every period. */
static void fill(struct sender *s, cr_ns from)
{
	const struct cr_task *t = &s->task;
	cr_ns c = t->cost.p99;

	for (cr_ns m = 0; m < PIECES; m++) {
		cr_ns later = m < c ? 0 : ((m + 1 - c) * t->period + c - 1) / c;

		s->piece[m] =
			(struct sim_job){ from + later, 1,
					  from + later + t->rel_deadline };
	}
}

/* Is anybody late when all calls send from @from on? */
static bool somebody_is_late(struct game *g, cr_ns from)
{
	struct sim_rig *rig = rig_new(&cr_sched_edf, NULL, 1, CALLS + JOBS);
	bool late = false;

	for (unsigned i = 0; i < g->ncalls; i++) {
		fill(&g->call[i], from);
		(void)rig_add_jobs(rig, g->call[i].piece, PIECES);
	}
	for (unsigned n = 0; n < g->njobs; n++)
		(void)rig_add_jobs(rig, &g->be[n], 1);
	sim_run(rig->sim, UNTIL + 1);
	for (unsigned i = 0; i < rig->ntasks; i++) {
		const struct rig_task *r = &rig->task[i];

		late |= r->missed > 0 ||
			(r->done < r->arrived &&
			 rig_job(r, r->done).deadline <= UNTIL);
	}
	rig_free(rig);
	return late;
}

static bool can_be_late(struct game *g)
{
	for (unsigned n = 0; n < g->njobs; n++)
		if (somebody_is_late(g, g->be[n].at))
			return true;
	return false;
}

/* Earlier by what rounding is worth: a piece of every call, and two ns. */
static cr_ns a_little_earlier(const struct game *g)
{
	unsigned last = g->njobs - 1;
	cr_ns d = 0, sum = 0;

	for (unsigned i = g->njobs; i-- > 0;) {
		sum += g->be[i].cost;
		d = cr_ns_max(d,
			      g->be[i].at + curve_inverse(&g->e,
							  sum - 2 - g->ncalls));
	}
	return cr_ns_min(d, g->be[last].deadline) - 1;
}

static void exact_deadlines_hold_and_no_earlier_one_does(void **state)
{
	static struct game g;
	uint64_t seed = test_seed();
	unsigned tried = 0;

	for (unsigned round = 0; round < 10 * CASES && tried < CASES; round++) {
		struct be_server s = { .rule = BE_EXACT };
		struct sim_job *last;

		draw_game(&g, &seed);
		s.curve = g.e;
		for (unsigned n = 0; n < g.njobs; n++)
			g.be[n].deadline =
				be_server_promise(&s, g.be[n].at, g.be[n].cost);
		last = &g.be[g.njobs - 1];
		if (last->deadline > UNTIL / 2)
			continue;
		assert_false(can_be_late(&g));
		last->deadline = a_little_earlier(&g);
		/* jobs keep their order, else it is another game */
		if (g.njobs > 1 && last->deadline <= last[-1].deadline)
			continue;
		assert_true(can_be_late(&g));
		tried++;
	}
	assert_int_equal(tried, CASES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_deadlines_hold_and_no_earlier_one_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
