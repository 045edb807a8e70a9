/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core without threads: dropped and cancelled frames, domains,
 * admission.
 */
#include <errno.h>
#include <string.h>

#include "core_fixture.h"
#include "cr/promise.h"
#include "schedulers/policies.h"

static void a_dropped_frame_changes_the_job_before_it_is_run(void **state)
{
	struct core_config cfg = { .ops = &cr_sched_edf, .ncpu = 1 };
	struct core_counts n;
	struct core_fixture g;

	open_core_joined(&g, cfg);
	assert_true(frame(&g, 0, 0));	      /* deadline 20 ms */
	assert_true(frame(&g, 1, 5 * CR_MS)); /* deadline 25 ms */
	/* two more for task 0: its ring holds 2, the first one goes; the job
	 * that is left has deadline 26 ms, so task 1 is first now */
	assert_false(frame(&g, 0, 6 * CR_MS));
	assert_false(frame(&g, 0, 7 * CR_MS));
	assert_int_equal(g.s[0].dropped, 1);
	assert_int_equal(pick(&g, 0, 8 * CR_MS), 1);
	n = core_counts(g.core, core_rq(g.core, 0));
	assert_int_equal(n.gone, 1);
	assert_int_equal(n.picks, 1);
	assert_int_equal(g.s[0].task.core.task.job.seq, 1);
	assert_int_equal(g.s[0].task.core.task.job.deadline, 26 * CR_MS);
	assert_false(stop(&g, 0, 9 * CR_MS));
	assert_int_equal(pick(&g, 0, 9 * CR_MS), 0);
	assert_true(stop(&g, 0, 10 * CR_MS));
	assert_int_equal(pick(&g, 0, 10 * CR_MS), 0);
	assert_false(stop(&g, 0, 11 * CR_MS));
	assert_int_equal(pick(&g, 0, 11 * CR_MS), -1);
	close_core(&g, 11 * CR_MS);
}

static void under_fifo_a_dropped_frame_does_not_cost_the_place(void **state)
{
	struct core_config cfg = { .ops = &cr_sched_fifo, .ncpu = 1 };
	struct core_fixture g;

	open_core_joined(&g, cfg);
	(void)frame(&g, 0, 0);
	(void)frame(&g, 1, 1);
	(void)frame(&g, 0, 2);
	(void)frame(&g, 0, 3);
	assert_int_equal(g.s[0].dropped, 1);
	assert_int_equal(pick(&g, 0, 4), 0);
	assert_int_equal(g.s[0].task.core.task.job.seq, 1);
	(void)stop(&g, 0, 5);
	close_core(&g, 6);
}

/* But it is the place of one frame: the next goes by its own arrival. */
static void under_fifo_the_place_of_a_dropped_frame_is_for_one(void **state)
{
	struct core_config cfg = { .ops = &cr_sched_fifo, .ncpu = 1 };
	struct core_fixture g;

	open_core_joined(&g, cfg);
	(void)frame(&g, 0, 0);
	(void)frame(&g, 0, 10);
	(void)frame(&g, 1, 15);
	(void)frame(&g, 0, 20);
	assert_int_equal(g.s[0].dropped, 1);
	assert_int_equal(pick(&g, 0, 21), 0);
	(void)stop(&g, 0, 22);
	assert_int_equal(pick(&g, 0, 22), 1);
	(void)stop(&g, 0, 23);
	assert_int_equal(pick(&g, 0, 23), 0);
	assert_false(stop(&g, 0, 24));
	close_core(&g, 25);
}

/* What woke it came later than what the others wait with. */
static void under_fifo_a_drop_before_sleep_gives_no_place(void **state)
{
	static const char *const order[] = { "order=frame", "order=call" };

	for (unsigned i = 0; i < 2; i++) {
		struct core_config cfg = { .ops = &cr_sched_fifo,
					   .opts = order[i],
					   .ncpu = 1,
					   .max_age = { [CR_SOFT] = 30 } };
		struct core_fixture g;

		open_core_joined(&g, cfg);
		(void)frame(&g, 0, 0);
		assert_int_equal(pick(&g, 0, 40), -1);
		assert_int_equal(g.s[0].shed[CR_OUT_EXPIRED], 1);
		(void)frame(&g, 1, 50);
		(void)frame(&g, 0, 51);
		assert_int_equal(pick(&g, 0, 52), 1);
		(void)stop(&g, 0, 53);
		assert_int_equal(pick(&g, 0, 53), 0);
		(void)stop(&g, 0, 54);
		close_core(&g, 55);
	}
}

static void a_leaving_task_cancels_all_its_frames(void **state)
{
	struct core_config cfg = { .ops = &cr_sched_rr, .ncpu = 1 };
	struct core_fixture g;

	open_core_joined(&g, cfg);
	(void)frame(&g, 0, 0);
	(void)frame(&g, 0, 1);
	(void)frame(&g, 1, 2);
	core_del(g.core, &g.s[0].task.core, 3);
	assert_int_equal(g.s[0].shed[CR_OUT_CANCELLED], 2);
	assert_int_equal(pick(&g, 0, 4), 1);
	(void)stop(&g, 0, 5);
	assert_int_equal(pick(&g, 0, 5), -1);
	close_core(&g, 6);
}

/* The simulator's preemption: same job, its frame is claimed only once. */
static void a_preempted_job_comes_back_whole(void **state)
{
	struct core_config cfg = { .ops = &cr_sched_edf,
				   .ncpu = 1,
				   .preemptible = true };
	struct core_task *t;
	struct core_fixture g;

	open_core_joined(&g, cfg);
	(void)frame(&g, 0, 100);
	assert_int_equal(pick(&g, 0, 100), 0);
	g.s[1].rel_deadline = 10; /* earlier than that of task 0 */
	(void)frame(&g, 1, 110);
	assert_true(cr_cpus_has(&core_rq(g.core, 0)->kick, 0));
	t = core_stop(g.core, core_rq(g.core, 0), 0, 10, CR_STOP_PREEMPT, 110);
	assert_true(core_again(g.core, t, 110));
	assert_int_equal(pick(&g, 0, 110), 1);
	(void)stop(&g, 0, 115);
	assert_int_equal(pick(&g, 0, 115), 0);
	assert_int_equal(g.s[0].task.core.task.job.ran, 10);
	assert_int_equal(g.s[0].task.core.task.job.seq, 0);
	/* and when it leaves preempted, its claimed frame is cancelled */
	t = core_stop(g.core, core_rq(g.core, 0), 0, 1, CR_STOP_PREEMPT, 120);
	assert_true(core_again(g.core, t, 120));
	core_del(g.core, t, 121);
	assert_int_equal(g.s[0].shed[CR_OUT_CANCELLED], 1);
	close_core(&g, 121);
}

static void domains_share_out_the_cpus(void **state)
{
	static const struct {
		unsigned ncpu, per_rq, nrq, last;
	} want[] = { { 4, 0, 1, 4 }, { 4, 1, 4, 1 }, { 4, 2, 2, 2 },
		     { 5, 2, 3, 1 }, { 1, 1, 1, 1 }, { 7, 3, 3, 1 } };

	for (unsigned i = 0; i < 6; i++) {
		struct core_config cfg = { .ops = &cr_sched_fifo,
					   .ncpu = want[i].ncpu,
					   .cpus_per_rq = want[i].per_rq };
		struct core_fixture g;

		open_core(&g, cfg);
		assert_int_equal(core_nrq(g.core), want[i].nrq);
		assert_int_equal(core_rq(g.core, want[i].nrq - 1)->ncpu,
				 want[i].last);
		for (unsigned c = 0; c < want[i].ncpu; c++) {
			struct cr_rq *rq = core_rq_of(g.core, c);

			assert_true(c >= rq->first_cpu &&
				    c < rq->first_cpu + rq->ncpu);
		}
		close_core(&g, 0);
	}
}

static void run_queues_may_differ_in_size(void **state)
{
	static const unsigned size[] = { 3, 1, 9, 2 };
	struct core_config cfg = { .ops = &cr_sched_edf,
				   .ncpu = 15,
				   .cpus_per_rq = 5, /* of no weight then */
				   .rq_cpus = size,
				   .nrq = 4 };
	struct core_fixture g;

	open_core(&g, cfg);
	assert_int_equal(core_nrq(g.core), 4);
	for (unsigned q = 0, cpu = 0; q < 4; q++) {
		assert_int_equal(core_rq(g.core, q)->ncpu, size[q]);
		assert_int_equal(core_rq(g.core, q)->first_cpu, cpu);
		for (unsigned i = 0; i < size[q]; i++)
			assert_ptr_equal(core_rq_of(g.core, cpu++),
					 core_rq(g.core, q));
	}
	close_core(&g, 0);
}

static void impossible_engines_are_refused(void **state)
{
	struct core_config cfg = { .ops = &cr_sched_rr, .ncpu = 0 };
	struct core *c = NULL;
	struct cr_err e;

	assert_int_equal(core_open(&c, &cfg, 0, &e), -EINVAL);
	assert_string_equal(e.text, "0 CPUs: give 1 to 256");
	cfg.ncpu = 2;
	cfg.cpus_per_rq = 3;
	assert_int_equal(core_open(&c, &cfg, 0, &e), -EINVAL);
	assert_non_null(strstr(e.text, "3 CPUs per run queue"));
	cfg.cpus_per_rq = 0;
	cfg.rq_cpus = (const unsigned[]){ 1, 2 };
	cfg.nrq = 2;
	assert_int_equal(core_open(&c, &cfg, 0, &e), -EINVAL);
	assert_non_null(strstr(e.text, "for 3 CPUs, but there are 2"));
	cfg.rq_cpus = (const unsigned[]){ 2, 0 };
	assert_int_equal(core_open(&c, &cfg, 0, &e), -EINVAL);
	assert_non_null(strstr(e.text, "run queue 1 has no CPUs"));
	cfg.rq_cpus = NULL;
	cfg.opts = "quantumm=1ms";
	assert_int_equal(core_open(&c, &cfg, 0, &e), -EINVAL);
	assert_string_equal(e.text, "scheduler rr: no option 'quantumm'; "
				    "did you mean 'quantum'?");
	assert_null(c);
}

static void the_guard_fills_the_emptiest_queue_up_to_its_capacity(void **state)
{
	struct core_config cfg = { .ops = &cr_sched_fifo,
				   .ncpu = 2,
				   .cpus_per_rq = 1,
				   .admission = true,
				   .capacity_ppm = 500000 };
	struct cr_verdict v;
	struct cr_task *t;
	char text[200];
	struct core_fixture g;

	open_core(&g, cfg);
	for (unsigned i = 0; i < N; i++)
		g.s[i].task.core.task.cost.mean = 4 * CR_MS; /* 0.2 */
	for (unsigned i = 0; i < 4; i++) {
		join(&g, i);
		assert_int_equal(g.s[i].task.core.task.rq->id, i % 2);
	}
	t = &g.s[4].task.core.task;
	assert_int_equal(core_admit(g.core, t, &v), -ENOSPC);
	core_refusal(g.core, -ENOSPC, &v, text, sizeof(text));
	assert_string_equal(text, "no-capacity: need 0.2000, free 0.1000 of "
				  "0.50 under fifo (sum of cost / period "
				  "<= capacity)");
	/* rounding never makes a refusal look as if it fitted */
	v.need_ppm = 3501;
	v.free_ppm = 3500;
	core_refusal(g.core, -ENOSPC, &v, text, sizeof(text));
	assert_non_null(strstr(text, "need 0.0036, free 0.0035 of"));
	v.free_ppm = -1;
	core_refusal(g.core, -ENOSPC, &v, text, sizeof(text));
	assert_non_null(strstr(text, "free -0.0001 of"));
	/* room again when one leaves, on the queue that it left */
	core_del(g.core, &g.s[1].task.core, 0);
	assert_int_equal(core_admit(g.core, t, &v), 1);
	/* its mask forbids that queue */
	cr_cpus_del(&t->cpus, 1);
	assert_int_equal(core_admit(g.core, t, &v), -ENOSPC);
	cr_cpus_del(&t->cpus, 0);
	assert_int_equal(core_admit(g.core, t, &v), -EINVAL);
	close_core(&g, 0);
}

static void without_admission_only_nonsense_is_refused(void **state)
{
	struct core_config cfg = { .ops = &cr_sched_edf,
				   .ncpu = 2,
				   .cpus_per_rq = 1 };
	struct cr_verdict v;
	struct core_fixture g;

	open_core(&g, cfg);
	for (unsigned i = 0; i < N; i++) {
		g.s[i].task.core.task.cost.mean = 30 * CR_MS; /* 1.5 each */
		join(&g, i);
	}
	assert_int_equal(core_rq(g.core, 0)->load_ppm, 4500000);
	assert_int_equal(core_rq(g.core, 1)->load_ppm, 4500000);
	core_del(g.core, &g.s[0].task.core, 0);
	g.s[0].task.core.task.period = 0;
	assert_int_equal(core_admit(g.core, &g.s[0].task.core.task, &v),
			 -EINVAL);
	assert_string_equal(v.rule, "period > 0, up to a day");
	g.s[0].task.core.task.period = 20 * CR_MS;
	g.s[0].task.core.task.rel_deadline = INT64_MAX;
	assert_int_equal(core_admit(g.core, &g.s[0].task.core.task, &v),
			 -EINVAL);
	assert_string_equal(v.rule, "relative deadline > 0, up to a day");
	close_core(&g, 0);
}

/* Others schedule: tasks are admitted, wait idle, and leave. */
static void without_a_policy_the_books_are_kept(void **state)
{
	struct core_config cfg = { .ncpu = 1,
				   .admission = true,
				   .capacity_ppm = 500000 };
	struct cr_promise promise;
	struct cr_verdict v;
	struct cr_kv kv[4];
	char text[200];
	struct core_fixture g;

	open_core(&g, cfg);
	for (unsigned i = 0; i < N; i++)
		g.s[i].task.core.task.cost.mean = 4 * CR_MS; /* 0.2 */
	join(&g, 0);
	join(&g, 1);
	assert_int_equal(core_admit(g.core, &g.s[2].task.core.task, &v),
			 -ENOSPC);
	core_refusal_under("a name", -ENOSPC, &v, text, sizeof(text));
	assert_string_equal(text, "no-capacity: need 0.2000, free 0.1000 of "
				  "0.50 under a name (sum of cost / period "
				  "<= capacity)");
	core_promise(&g.s[0].task.core, &promise);
	assert_int_equal(promise.kind, CR_PROMISE_NOTHING);
	assert_int_equal(core_explain(&g.s[0].task.core, kv, 4), 0);
	(void)source_push(&g.s[0], 0);
	(void)source_push(&g.s[0], 0);
	core_del(g.core, &g.s[0].task.core, 0);
	assert_int_equal(g.s[0].shed[CR_OUT_CANCELLED], 2);
	assert_int_equal(core_rq(g.core, 0)->load_ppm, 200000);
	join(&g, 2);
	close_core(&g, 0);
}

/* As a configuration that is read again has it. */
static void rules_change_for_tasks_that_are_there(void **state)
{
	struct core_config cfg = { .ops = &cr_sched_fifo,
				   .ncpu = 1,
				   .admission = true,
				   .max_age = { [CR_SOFT] = 30 } };
	struct core_config to = { .capacity_ppm = CR_PPM / 2,
				  .expired = { [CR_SOFT] =
						       CORE_EXPIRED_CONCEAL } };
	struct core_fixture g;

	open_core_joined(&g, cfg);
	assert_int_equal(core_bound_ppm(g.core), CR_PPM);
	(void)frame(&g, 0, 0);
	core_set_rules(g.core, &to);
	assert_int_equal(core_bound_ppm(g.core), CR_PPM / 2);
	/* nothing gets too old any more */
	assert_int_equal(pick(&g, 0, 1000), 0);
	assert_false(g.s[0].task.core.expired);
	(void)stop(&g, 0, 1001);
	(void)frame(&g, 1, 1002);
	to.max_age[CR_SOFT] = 30;
	core_set_rules(g.core, &to);
	/* and now it does, and is concealed */
	assert_int_equal(pick(&g, 0, 1040), 1);
	assert_true(g.s[1].task.core.expired);
	(void)stop(&g, 0, 1041);
	close_core(&g, 1042);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_dropped_frame_changes_the_job_before_it_is_run),
		cmocka_unit_test(
			under_fifo_a_dropped_frame_does_not_cost_the_place),
		cmocka_unit_test(
			under_fifo_the_place_of_a_dropped_frame_is_for_one),
		cmocka_unit_test(under_fifo_a_drop_before_sleep_gives_no_place),
		cmocka_unit_test(rules_change_for_tasks_that_are_there),
		cmocka_unit_test(a_leaving_task_cancels_all_its_frames),
		cmocka_unit_test(a_preempted_job_comes_back_whole),
		cmocka_unit_test(domains_share_out_the_cpus),
		cmocka_unit_test(run_queues_may_differ_in_size),
		cmocka_unit_test(impossible_engines_are_refused),
		cmocka_unit_test(
			the_guard_fills_the_emptiest_queue_up_to_its_capacity),
		cmocka_unit_test(without_admission_only_nonsense_is_refused),
		cmocka_unit_test(without_a_policy_the_books_are_kept),
	};

	return cmocka_run_group_tests_name("core", tests, NULL, NULL);
}
