/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live driver as it starts and takes tasks on: refusals, priorities that
 * are not granted, workers that report.
 */
#include <errno.h>
#include <string.h>

#include "engine_fixture.h"
#include "schedulers/policies.h"

enum { N = 4 };

static void a_full_engine_says_why(void **state)
{
	struct cr_verdict v;
	char text[200];
	struct engine_fixture g;
	struct live_config cfg = engine_config(&g, N, &cr_sched_fifo, 2);
	struct source extra = { .room = 2 };
	int rc;

	cfg.core.admission = true;
	cfg.core.capacity_ppm = 10000;
	engine_open(&g, &cfg); /* 4 * 0.005 on 2 * 0.01: full */
	source_init(&extra, 9, 2, 2);
	rc = live_add(g.live, &extra.task, &v);
	assert_int_equal(rc, -ENOSPC);
	live_refusal(g.live, rc, &v, text, sizeof(text));
	assert_non_null(strstr(text, "no-capacity: need 0.0050, free 0.0000 of "
				     "0.02 under fifo"));
	engine_close(&g);
}

static void what_cannot_start_says_why(void **state)
{
	static const unsigned nowhere[2] = { 0, 1000000 };
	struct live *l = NULL;
	struct cr_err e = { "" };
	struct engine_fixture g;
	struct live_config cfg = engine_config(&g, N, &cr_sched_fifo, 2);

	cfg.pin = nowhere;
	assert_true(live_open(&l, &cfg, NULL, &e) < 0);
	assert_non_null(strstr(e.text, "worker 1 does not start on CPU "
				       "1000000"));
	cfg.pin = NULL;
	cfg.core.opts = "x=1";
	assert_int_equal(live_open(&l, &cfg, NULL, &e), -EINVAL);
	assert_non_null(strstr(e.text, "scheduler fifo: no option 'x'"));
	assert_null(l);
	free(g.s);
}

/* Granted or not, the engine runs; what is lost or risky is said. */
static void real_time_priority_is_not_needed(void **state)
{
	struct cr_err warn = { "" }, e = { "" };
	struct engine_fixture g;
	struct live_config cfg = engine_config(&g, N, &cr_sched_fifo, 2);

	cfg.core.ncpu = 1; /* leave a CPU to whoever runs this test */
	cfg.rt_priority = 10;
	cfg.poll = true;
	assert_int_equal(live_open(&g.live, &cfg, &warn, &e), 0);
	assert_true(strstr(warn.text, "without real-time priority 10") ||
		    strstr(warn.text, "real-time throttling"));
	live_close(g.live);
	free(g.s);
}

static void every_worker_reports_for_work(void **state)
{
	struct engine_fixture g;
	struct live_config cfg = engine_config(&g, N, &cr_sched_fifo, 2);

	engine_open(&g, &cfg);
	while (atomic_load(&g.started) != 3)
		(void)sched_yield();
	assert_int_equal(live_nworkers(g.live), 2);
	engine_close(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_engine_says_why),
		cmocka_unit_test(what_cannot_start_says_why),
		cmocka_unit_test(real_time_priority_is_not_needed),
		cmocka_unit_test(every_worker_reports_for_work),
	};

	return cmocka_run_group_tests_name("live_start", tests, NULL, NULL);
}
