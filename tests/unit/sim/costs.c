/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost models: moments for a fixed seed, bounds kept, traces, the cost declared
 * to a scheduler.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_cr.h"
#include "observe/trace_file.h"
#include "scratch.h"
#include "sim/cost_model.h"

#define N 200000

static struct campaign_flow flow(int64_t kind, cr_ns mean, cr_ns sd)
{
	return (struct campaign_flow){
		.name = "f",
		.synthetic = true,
		.ptime = 20 * CR_MS,
		.cost = { .kind = kind,
			  .mean = mean,
			  .sd = sd,
			  .min = 1,
			  .max = 1000 * CR_SEC },
	};
}

struct sample {
	double mean, sd;
	cr_ns least, most;
};

static struct sample sample(const struct cost_model *m)
{
	struct cost_source s = { .random = { 7 } };
	struct sample out = { .least = CR_NEVER };
	double sum = 0, squares = 0;

	for (int i = 0; i < N; i++) {
		cr_ns c = cost_model_draw(m, &s);

		assert_true(c > 0);
		sum += (double)c;
		squares += (double)c * (double)c;
		out.least = cr_ns_min(out.least, c);
		out.most = cr_ns_max(out.most, c);
	}
	out.mean = sum / N;
	out.sd = sqrt(squares / N - out.mean * out.mean);
	return out;
}

static struct cost_model opened(const struct campaign_flow *f, const char *base)
{
	struct cost_model m;
	struct cr_err e;

	if (cost_model_open(&m, f, base, &e))
		fail_msg("%s", e.text);
	return m;
}

static void near(double got, double want, double tolerance)
{
	if (fabs(got - want) > tolerance)
		fail_msg("is %f, wants %f", got, want);
}

/* Five standard errors of mean and deviation; lognormal tails are heavy. */
static void drawn_costs_have_mean_and_deviation(void **state)
{
	static const struct {
		int64_t kind;
		cr_ns mean, sd;
		double sd_error; /* of the sample's deviation, in sd / sqrt(N)
				  */
	} cases[] = {
		{ COST_CONSTANT, 70000, 0, 0 },
		{ COST_NORMAL, 70000, 5000, 0.71 },
		{ COST_LOGNORMAL, 70000, 35000, 1.7 },
		{ COST_LOGNORMAL, 14490000, 5190000, 1.2 },
		{ COST_EXPONENTIAL, 70000, 70000, 1.42 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct campaign_flow f =
			flow(cases[i].kind, cases[i].mean, cases[i].sd);
		struct cost_model m = opened(&f, "c.yaml");
		struct sample s = sample(&m);
		double sd = (double)cases[i].sd, error = 5 * sd / sqrt(N);

		near(s.mean, (double)cases[i].mean, error + 1);
		near(s.sd, sd, error * cases[i].sd_error + 1);
		near((double)m.estimate.mean, (double)cases[i].mean,
		     5 * sd / sqrt(20000) + 1);
		assert_true(m.estimate.p99 >= m.estimate.mean);
		cost_model_close(&m);
	}
}

static void bounds_are_kept_and_reached(void **state)
{
	static const int64_t kinds[] = { COST_NORMAL, COST_LOGNORMAL,
					 COST_EXPONENTIAL };

	for (size_t i = 0; i < 3; i++) {
		struct campaign_flow f = flow(kinds[i], 100000, 50000);
		struct cost_model m;
		struct sample s;

		f.cost.min = 60000;
		f.cost.max = 200000;
		m = opened(&f, "c.yaml");
		s = sample(&m);
		assert_int_equal(s.least, 60000);
		assert_int_equal(s.most, 200000);
		cost_model_close(&m);
	}
}

static void a_normal_cost_is_never_below_one_nanosecond(void **state)
{
	struct campaign_flow f = flow(COST_NORMAL, 10, 1000);
	struct cost_model m = opened(&f, "c.yaml");

	assert_int_equal(sample(&m).least, 1);
	cost_model_close(&m);
}

static void files_are_named_from_the_campaigns_folder(void **state)
{
	char buf[100];

	assert_string_equal(cost_model_path(buf, 100, "a/b/c.yaml", "d.txt"),
			    "a/b/d.txt");
	assert_string_equal(cost_model_path(buf, 100, "c.yaml", "d.txt"),
			    "d.txt");
	assert_string_equal(cost_model_path(buf, 100, "a/c.yaml", "/d.txt"),
			    "/d.txt");
}

static void put_job(struct trace_file *t, uint32_t call, uint32_t seq, cr_ns at,
		    uint32_t cost)
{
	union cr_trace_record r = { .job = { .kind = CR_TRACE_JOB,
					     .task = call,
					     .seq = seq,
					     .arrival = at,
					     .codec_ns = cost } };

	trace_file_put(t, &r);
}

static void start_trace(struct trace_file *t, const char *path)
{
	struct cr_err e;

	assert_int_equal(trace_file_create(t, path, TRACE_OVER_ANY, &e), 0);
	assert_int_equal(trace_file_header(t, "{}", 0, &e), 0);
}

/* Calls in order of their first arrival, jobs in order of theirs, whatever
 * the order of the file; what was not worked on counts as the mean. */
static void a_trace_is_played_again_call_by_call(void **state)
{
	struct campaign_flow f = flow(COST_TRACE, 0, 0);
	struct trace_file t;
	struct cost_model m;
	char path[SCRATCH_MAX];

	f.cost.file = path;
	start_trace(&t, scratch_file(path));
	put_job(&t, 5, 1, 2500, 11);
	put_job(&t, 9, 0, 1000, 31);
	put_job(&t, 5, 0, 1500, 10);
	put_job(&t, 9, 1, 2000, 0);
	trace_file_close(&t);
	m = opened(&f, "c.yaml");
	for (size_t call = 0; call < 4; call++) {
		struct cost_source s = { .call = call };
		cr_ns first = call % 2 ? 10 : 31;
		cr_ns second = call % 2 ? 11 : 17; /* (10 + 11 + 31) / 3 */

		assert_int_equal(cost_model_draw(&m, &s), first);
		assert_int_equal(cost_model_draw(&m, &s), second);
		assert_int_equal(cost_model_draw(&m, &s), first);
	}
	assert_int_equal(m.replay.job[0].at, 0);
	assert_int_equal(m.replay.job[2].at, 500);
	cost_model_close(&m);
}

/* More jobs than are sampled: the last call's count as well. */
static void a_long_trace_is_estimated_from_all_of_it(void **state)
{
	struct campaign_flow f = flow(COST_TRACE, 0, 0);
	struct trace_file t;
	struct cost_model m;
	char path[SCRATCH_MAX];

	f.cost.file = path;
	start_trace(&t, scratch_file(path));
	for (uint32_t i = 0; i < 38000; i++)
		put_job(&t, i < 19000 ? 1 : 2, i, 1 + i,
			i < 19000 ? 1000 : 3000);
	trace_file_close(&t);
	m = opened(&f, "c.yaml");
	assert_int_equal(m.estimate.mean, 2000);
	assert_int_equal(m.estimate.p99, 3000);
	cost_model_close(&m);
}

static cr_ns after(const struct cost_model *m, uint64_t others)
{
	return cost_model_after(m, 70000, others);
}

static void a_job_after_one_of_its_call_costs_less(void **state)
{
	struct campaign_flow f = flow(COST_CONSTANT, 70000, 0);
	struct cost_model m;

	f.cost.warm = 800000;
	f.cost.half_life = 16;
	m = opened(&f, "c.yaml");
	assert_int_equal(m.estimate.mean, 70000);
	near((double)after(&m, 0), 56000, 1);
	near((double)after(&m, 16), 63000, 1);
	near((double)after(&m, 32), 66500, 1);
	assert_int_equal(after(&m, 100000), 70000);
	assert_int_equal(after(&m, SIM_COLD), 70000);
	cost_model_close(&m);
}

static void without_locality_a_job_costs_the_same_after_any_other(void **state)
{
	struct campaign_flow f = flow(COST_CONSTANT, 70000, 0);
	struct cost_model m;

	f.cost.half_life = 16;
	m = opened(&f, "c.yaml");
	assert_int_equal(after(&m, 0), 70000);
	assert_int_equal(after(&m, 5), 70000);
	cost_model_close(&m);
}

/* Any mean, share and half-life. */
static void a_cost_lies_between_warm_and_cold_and_rises(void **state)
{
	struct random r = { 11 };

	for (int i = 0; i < 2000; i++) {
		struct campaign_flow f = flow(COST_CONSTANT, 1, 0);
		cr_ns mean = 1 + (cr_ns)(random_next(&r) % CR_SEC), warm, last;
		struct cost_model m;

		f.cost.mean = mean;
		f.cost.warm = 10000 + (int64_t)(random_next(&r) % 990001);
		f.cost.half_life = 1 + (int64_t)(random_next(&r) % 1000);
		m = opened(&f, "c.yaml");
		warm = last = cost_model_after(&m, mean, 0);
		near((double)warm, (double)mean * (double)f.cost.warm / 1e6,
		     1.5);
		for (uint64_t others = 1; others; others *= 2) {
			cr_ns cost = cost_model_after(&m, mean, others);

			assert_true(cost >= last && cost <= mean);
			last = cost;
		}
		assert_int_equal(last, mean);
		cost_model_close(&m);
	}
}

static void the_least_cost_holds_for_warm_jobs_too(void **state)
{
	struct campaign_flow f = flow(COST_NORMAL, 70000, 1000);
	struct cost_model m;

	f.cost.min = 60000;
	f.cost.warm = 500000;
	f.cost.half_life = 16;
	m = opened(&f, "c.yaml");
	assert_int_equal(after(&m, 0), 60000);
	cost_model_close(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(drawn_costs_have_mean_and_deviation),
		cmocka_unit_test(bounds_are_kept_and_reached),
		cmocka_unit_test(a_normal_cost_is_never_below_one_nanosecond),
		cmocka_unit_test(files_are_named_from_the_campaigns_folder),
		cmocka_unit_test(a_trace_is_played_again_call_by_call),
		cmocka_unit_test(a_long_trace_is_estimated_from_all_of_it),
		cmocka_unit_test(a_job_after_one_of_its_call_costs_less),
		cmocka_unit_test(
			without_locality_a_job_costs_the_same_after_any_other),
		cmocka_unit_test(a_cost_lies_between_warm_and_cold_and_rises),
		cmocka_unit_test(the_least_cost_holds_for_warm_jobs_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
