/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What dbp promises: EDF as long as EDF misses nothing; in overload, for calls
 * of one kind released together, m of any k frames exactly where the mandatory
 * part fits (schedulers/dbp.c has the proof); and of others it loses as many
 * frames as EDF, but hardly ever two in a row.
 */
#include "schedulers/policies.h"
#include "task_set_rig.h"

enum { CALLS = 64, FRAMES = 300, COST = 100, HORIZON = 6000 };
#define SETS TEST_TRIES(300)

/* --- up to full load on one CPU --- */

static bool misses(const struct task_set *set, void *arg)
{
	struct sim_rig *rig = rig_new(&cr_sched_dbp, arg, 1, TASK_SET_MAX);
	uint64_t late;

	(void)rig_add_set(rig, set);
	late = rig_late(rig, 2 * task_set_hyper(set, HORIZON));
	rig_free(rig);
	return task_set_util(set) <= CR_PPM && late > 0;
}

static void it_is_edf_as_long_as_nothing_is_missed(void **state)
{
	static const char *const opts[] = { "grace=0ms", "m=1,k=64",
					    "m=64,k=64", "m=2,k=3,grace=0ms" };
	static const struct task_set_shape shape = { .tasks = { 1, 12 },
						     .util_ppm = CR_PPM,
						     .period = { 2, 60 },
						     .hyper = 240,
						     .full = true };
	struct task_set_property p = { "dbp, one CPU, U = 1", misses, NULL };

	for (unsigned i = 0; i < 4; i++) {
		char text[32];

		p.arg = strcpy(text, opts[i]);
		task_set_try(SETS / 4, &shape, &p);
	}
}

/* --- what becomes of every frame --- */

static struct {
	bool done[CALLS][FRAMES];
	cr_ns offset[CALLS];
	cr_ns deadline;
	uint64_t late;
} book;

static void note_done(void *arg, struct sim_task *t, unsigned cpu, cr_ns now)
{
	struct rig_task *r = rig_task_of(&t->core);
	struct sim_job j = rig_job(r, r->claimed - 1);

	(void)arg, (void)cpu;
	book.late += now > j.deadline;
	if (r->claimed <= FRAMES)
		book.done[t->core.task.id - 1][r->claimed - 1] = true;
	r->done++;
}

static void dress(struct rig_task *r)
{
	r->offset = book.offset[r->rig->ntasks];
	r->st.core.task.rel_deadline = book.deadline;
}

/* @n calls on @ncpu CPUs, no frame cut; a frame that was not begun when the
 * next one comes is lost. */
static struct sim_rig *rig_of(const struct cr_sched_ops *ops, const char *opts,
			      unsigned ncpu, unsigned n, cr_ns period)
{
	struct sim_rig *rig = rig_new(ops, opts, ncpu, n);

	memset(book.done, 0, sizeof(book.done));
	book.late = 0;
	rig->cfg.preempt = SIM_FRAME;
	rig->cfg.core.max_age[CR_SOFT] = period - 1;
	rig->cfg.client.done = note_done;
	for (unsigned i = 0; i < n; i++)
		(void)rig_add_with(rig, period, COST, dress);
	return rig;
}

/* --- equal calls, released together --- */

/* @n calls, @slots frames of a CPU in a period. */
struct firm {
	unsigned m, k, ncpu, slots, n;
};

/* At most twice as many frames as there is room for. */
static struct firm draw(uint64_t *seed, bool full)
{
	struct firm f;
	unsigned most;

	do {
		f.k = 1 + test_below(seed, 12);
		f.m = 1 + test_below(seed, f.k);
		f.ncpu = 1 + test_below(seed, 4);
		f.slots = 1 + test_below(seed, 6);
		most = f.ncpu * f.slots * f.k / f.m;
	} while (most >= CALLS);
	f.n = full ? most : 1 + test_below(seed, most);
	return f;
}

static unsigned fewest_of_k(const struct firm *f, unsigned call)
{
	unsigned fewest = f->k;

	for (unsigned from = 0; from + f->k <= FRAMES; from++) {
		unsigned met = 0;

		for (unsigned i = 0; i < f->k; i++)
			met += book.done[call][from + i];
		fewest = met < fewest ? met : fewest;
	}
	return fewest;
}

static unsigned fewest(const struct firm *f)
{
	unsigned least = f->k;

	for (unsigned i = 0; i < f->n; i++) {
		unsigned met = fewest_of_k(f, i);

		least = met < least ? met : least;
	}
	return least;
}

static void play(const struct firm *f, const struct cr_sched_ops *ops)
{
	cr_ns period = (cr_ns)f->slots * COST;
	char opts[64];
	struct sim_rig *rig;

	(void)snprintf(opts, sizeof(opts), "m=%u,k=%u,grace=0ms", f->m, f->k);
	memset(book.offset, 0, sizeof(book.offset));
	book.deadline = period;
	rig = rig_of(ops, ops == &cr_sched_dbp ? opts : NULL, f->ncpu, f->n,
		     period);
	sim_run(rig->sim, FRAMES * period + 1);
	assert_int_equal(book.late, 0);
	rig_free(rig);
}

static void fail_with(const struct firm *f, const char *what)
{
	fail_msg("CR_SEED=%" PRIu64 ": %s: %u calls (%u,%u), %u CPUs with %u "
		 "frames a period",
		 test_run_seed(), what, f->n, f->m, f->k, f->ncpu, f->slots);
}

static void no_window_is_violated_where_the_mandatory_part_fits(void **state)
{
	uint64_t seed = test_seed();
	unsigned overloads = 0;

	for (unsigned i = 0; i < SETS; i++) {
		struct firm f = draw(&seed, i % 2);

		play(&f, &cr_sched_dbp);
		overloads += f.n > f.ncpu * f.slots;
		if (fewest(&f) < f.m)
			fail_with(&f, "fewer than m of k");
	}
	assert_true(overloads > SETS / 4);
}

/* There are fewer services in k periods than the calls need. */
static void with_one_call_more_some_window_is(void **state)
{
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < SETS; i++) {
		struct firm f = draw(&seed, true);

		f.n++;
		play(&f, &cr_sched_dbp);
		if (fewest(&f) >= f.m)
			fail_with(&f, "m of k, which cannot be");
	}
}

/* Three calls for two frames a period, two of three are to be in time. EDF
 * takes the calls by their numbers. */
static void edf_has_no_such_memory(void **state)
{
	struct firm f = { .m = 2, .k = 3, .ncpu = 1, .slots = 2, .n = 3 };

	play(&f, &cr_sched_dbp);
	assert_int_equal(fewest(&f), 2);
	play(&f, &cr_sched_edf);
	assert_true(fewest(&f) < 2);
}

/* --- calls of two kinds: runs of losses --- */

/* Calls of two packet times in turn, ms, begun at any time. */
static cr_ns ptimes[2] = { 20, 30 };

static cr_ns span(void)
{
	return cr_ns_min(ptimes[0], ptimes[1]) * FRAMES * CR_MS;
}

struct losses {
	unsigned lost, longest;
	uint64_t squares; /* sum over runs of length squared */
};

static void count_run(struct losses *l, unsigned run)
{
	l->lost += run;
	l->longest = run > l->longest ? run : l->longest;
	l->squares += (uint64_t)run * run;
}

static cr_ns period_of(unsigned call)
{
	return ptimes[call % 2] * CR_MS;
}

/* All frames of the span, whose fate is known. */
static unsigned frames_of(unsigned call)
{
	return (unsigned)((span() - 100 * CR_MS) / period_of(call)) - 1;
}

static struct losses losses(unsigned n)
{
	struct losses l = { 0 };

	for (unsigned i = 0; i < n; i++) {
		unsigned run = 0;

		for (unsigned k = 0; k < frames_of(i); k++) {
			run++;
			if (!book.done[i][k])
				continue;
			count_run(&l, run - 1);
			run = 0;
		}
		count_run(&l, run);
	}
	return l;
}

static void dress_either(struct rig_task *r)
{
	unsigned i = r->rig->ntasks;
	struct cr_task *t = &r->st.core.task;

	r->offset = book.offset[i];
	t->period = t->rel_deadline = period_of(i);
}

/* Frames are lost when they are as old as the engine lets them be. */
static struct losses overload(const struct cr_sched_ops *ops, const char *opts,
			      unsigned ncpu, unsigned n, cr_ns cost)
{
	struct sim_rig *rig = rig_new(ops, opts, ncpu, n);

	memset(book.done, 0, sizeof(book.done));
	rig->cfg.preempt = SIM_FRAME;
	rig->cfg.core.max_age[CR_SOFT] = CORE_AGE_AUTO;
	rig->cfg.client.done = note_done;
	for (unsigned i = 0; i < n; i++)
		(void)rig_add_with(rig, CR_MS, cost, dress_either);
	sim_run(rig->sim, span());
	rig_free(rig);
	return losses(n);
}

/* What each frame costs, when @n calls take @load % of @ncpu CPUs. */
static cr_ns cost_at(cr_ns load, unsigned ncpu, unsigned n)
{
	return ncpu * CR_MS * load * 2 * ptimes[0] * ptimes[1] /
	       (100 * (cr_ns)n * (ptimes[0] + ptimes[1]));
}

/* 105 to 120 % of the capacity. Three of four are to be in time: 90 % at most.
 * That dbp keeps to it is observed, in all but one of 30,000; its proof is
 * about equal calls. */
static void edfs_losses_come_in_longer_runs(void **state)
{
	static const cr_ns all[] = { 10, 20, 30, 40, 60 };
	uint64_t seed = test_seed(), squares[2] = { 0, 0 };
	unsigned longer = 0, broken = 0;

	for (unsigned i = 0; i < SETS; i++) {
		unsigned ncpu = 1 + test_below(&seed, 4);
		unsigned n = 2 * (unsigned)set_between(&seed, 4, 8) * ncpu;
		cr_ns load = set_between(&seed, 105, 120), cost;
		struct losses dbp, edf;

		ptimes[0] = all[test_below(&seed, 5)];
		ptimes[1] = all[test_below(&seed, 5)];
		cost = cost_at(load, ncpu, n);
		for (unsigned k = 0; k < n; k++)
			book.offset[k] = set_between(&seed, 0, period_of(k));
		dbp = overload(&cr_sched_dbp, "m=3,k=4", ncpu, n, cost);
		edf = overload(&cr_sched_edf, NULL, ncpu, n, cost);
		if (dbp.longest > 1 && broken++ >= SETS / 100)
			fail_msg("CR_SEED=%" PRIu64
				 ": %u in a row: %u calls of "
				 "%" PRId64 " and %" PRId64 " ms, %u CPUs, "
				 "%" PRId64 " %%",
				 test_run_seed(), dbp.longest, n, ptimes[0],
				 ptimes[1], ncpu, load);
		assert_true(abs((int)dbp.lost - (int)edf.lost) <=
			    (int)(edf.lost / 10 + 2 * n));
		longer += edf.longest > 1;
		squares[0] += dbp.squares;
		squares[1] += edf.squares;
	}
	print_message("dbp: two in a row in %u of %u sets; edf: in %u\n",
		      broken, SETS, longer);
	assert_true(longer > SETS / 2);
	assert_true(squares[0] < squares[1]);
}

/* Twice the capacity: the mandatory part alone is 160 %. Calls that have failed
 * come before those that could miss a frame yet, which fail by that. */
static void beyond_the_mandatory_part_fifo_is_better(void **state)
{
	enum { CALLS_OF_TWO = 40 };
	struct losses dbp, fifo;

	ptimes[0] = 20;
	ptimes[1] = 30;
	for (unsigned k = 0; k < CALLS_OF_TWO; k++)
		book.offset[k] = (k * 7 % 30) * CR_MS;
	dbp = overload(&cr_sched_dbp, "m=4,k=5", 1, CALLS_OF_TWO,
		       cost_at(200, 1, CALLS_OF_TWO));
	fifo = overload(&cr_sched_fifo, NULL, 1, CALLS_OF_TWO,
			cost_at(200, 1, CALLS_OF_TWO));
	assert_true(dbp.squares > fifo.squares);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_edf_as_long_as_nothing_is_missed),
		cmocka_unit_test(
			no_window_is_violated_where_the_mandatory_part_fits),
		cmocka_unit_test(with_one_call_more_some_window_is),
		cmocka_unit_test(edf_has_no_such_memory),
		cmocka_unit_test(edfs_losses_come_in_longer_runs),
		cmocka_unit_test(beyond_the_mandatory_part_fifo_is_better),
	};

	return cmocka_run_group_tests_name("dbp", tests, NULL, NULL);
}
