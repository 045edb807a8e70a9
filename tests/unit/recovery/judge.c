/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings of the watchdog at given times: who is forgotten, who only waits for
 * better ones, and that nothing is found too early or because time stood
 * still.
 */
#include "cmocka_cr.h"

#include "recovery/recovery.h"

/* A limit of 2 s: a look every half second. */
enum { LOOKS = 4 };
#define EACH (500 * CR_MS)

static struct watchdog dog;
static struct watch_task call;
static struct watch_look look;

static int setup(void **state)
{
	dog = (struct watchdog){ .limit = 2 * CR_SEC };
	call = (struct watch_task){ 0 };
	look = (struct watch_look){ .now = CR_SEC };
	return 0;
}

/* The next look, @later: at a call with @done frames and more waiting. */
static enum watch_finding next(cr_ns later, uint64_t done)
{
	look.now += later;
	watchdog_begin(&dog, look.now);
	if (!watch_task_suspect(&call, true, done))
		return WATCH_FINE;
	return watch_task(&call, &dog, &look);
}

/* @n looks that find @want. */
static void see(unsigned n, enum watch_finding want)
{
	while (n--)
		assert_int_equal(next(EACH, 7), want);
}

static void looks_are_often_enough(void **state)
{
	assert_int_equal(watchdog_interval(2 * CR_SEC), EACH);
	assert_int_equal(watchdog_interval(CR_MS), 10 * CR_MS);
	assert_int_equal(watchdog_interval(3600 * CR_SEC), CR_SEC);
}

/* The first look counts frames, the second one remembers. */
static void a_lost_wake_up_is_found_and_found_again(void **state)
{
	look.state = CR_IDLE;
	see(2 + LOOKS - 1, WATCH_FINE);
	see(1, WATCH_STALLED);
	see(LOOKS - 1, WATCH_FINE);
	see(1, WATCH_STALLED); /* there is no policy to blame */
}

static void who_is_forgotten_is_woken_and_then_its_policy_blamed(void **state)
{
	look.state = CR_QUEUED;
	look.idle = true;
	see(2 + LOOKS - 1, WATCH_FINE);
	see(1, WATCH_STALLED);
	see(LOOKS - 1, WATCH_FINE);
	see(1, WATCH_FORGOTTEN);
	look.state = CR_IDLE; /* another policy has served it */
	look.release = look.now;
	see(1 + LOOKS - 1, WATCH_FINE);
}

/* No worker is idle at any look, but each has been in between. */
static void idle_moments_between_looks_count(void **state)
{
	look.state = CR_QUEUED;
	see(2, WATCH_FINE);
	for (unsigned i = 0; i < LOOKS; i++) {
		look.idles++;
		see(1, i < LOOKS - 1 ? WATCH_FINE : WATCH_STALLED);
	}
}

/* Best effort behind calls that fill every worker: an hour of it. */
static void starving_is_no_stall(void **state)
{
	look.state = CR_QUEUED;
	see(2 + LOOKS - 1, WATCH_FINE);
	see(7200, WATCH_STARVED);
}

/* An overload with a pause in every three looks: never forgotten for long. */
static void a_worker_must_be_idle_again_and_again(void **state)
{
	look.state = CR_QUEUED;
	see(2, WATCH_FINE);
	for (unsigned i = 0; i < 1000; i++) {
		look.idles += i % 3 == 0;
		see(1, WATCH_FINE);
	}
}

static void progress_begins_anew(void **state)
{
	look.state = CR_QUEUED;
	look.idle = true;
	for (uint64_t k = 1; k < 100; k++) {
		for (unsigned i = 0; i < 2 + LOOKS - 1; i++)
			assert_int_equal(next(EACH, k), WATCH_FINE);
	}
}

/* Its frames are overwritten before their turn, but it has turns. */
static void a_turn_without_a_frame_is_progress(void **state)
{
	look.state = CR_QUEUED;
	look.idle = true;
	for (unsigned i = 0; i < 100; i++) {
		look.release = i;
		see(2 + LOOKS - 2, WATCH_FINE);
	}
}

static void an_early_frame_may_be_held(void **state)
{
	look.state = CR_QUEUED;
	look.idle = true;
	look.eligible = look.now + 20 * EACH;
	see(19, WATCH_FINE);
	see(LOOKS - 1, WATCH_FINE);
	see(1, WATCH_STALLED);
}

static void who_runs_is_its_workers_matter(void **state)
{
	look.state = CR_RUNNING;
	see(1000, WATCH_FINE);
}

static void nothing_waits(void **state)
{
	for (unsigned i = 0; i < 100; i++)
		assert_false(watch_task_suspect(&call, false, 7));
	assert_true(watch_task_suspect(&call, true, 7));
	assert_false(watch_task_suspect(&call, true, 8));
	assert_true(watch_task_suspect(&call, true, 8));
}

/* Stopped for an hour, and everything looks an hour old. */
static void time_that_nobody_saw_does_not_count(void **state)
{
	struct watch_worker w = { 0 };

	look.state = CR_IDLE;
	see(2, WATCH_FINE);
	assert_false(watch_worker_suspect(&w, true, 5));
	assert_int_equal(next(3600 * CR_SEC, 7), WATCH_FINE); /* two looks */
	assert_false(watch_worker(&w, &dog, false, 0));
	assert_int_equal(next(EACH, 7), WATCH_FINE);
	assert_false(watch_worker(&w, &dog, false, 0));
	assert_int_equal(next(EACH, 7), WATCH_STALLED);
	assert_true(watch_worker(&w, &dog, false, 0));
}

/* --- workers --- */

/* The next look at a worker that sleeps. */
static bool at(struct watch_worker *w, bool at_work, cr_ns picked)
{
	look.now += EACH;
	watchdog_begin(&dog, look.now);
	return watch_worker_suspect(w, at_work, picked) &&
	       watch_worker(w, &dog, false, 1000);
}

/* The same, that would run if it had a CPU, and had one for @ran. */
static bool ran(struct watch_worker *w, cr_ns ran)
{
	static cr_ns cpu;

	look.now += EACH;
	watchdog_begin(&dog, look.now);
	cpu += ran;
	return watch_worker_suspect(w, true, 5) &&
	       watch_worker(w, &dog, true, cpu);
}

static void a_worker_in_one_job_for_too_long(void **state)
{
	struct watch_worker w = { 0 };

	for (unsigned i = 0; i < LOOKS; i++)
		assert_false(at(&w, true, 77));
	assert_true(at(&w, true, 77));
	assert_true(at(&w, true, 77)); /* until it is not */
	assert_false(at(&w, true, 78));
	assert_false(at(&w, false, 0));
}

static void a_worker_that_goes_from_job_to_job(void **state)
{
	struct watch_worker w = { 0 };

	for (cr_ns job = 1; job < 1000; job++)
		for (unsigned i = 0; i < LOOKS; i++)
			assert_false(at(&w, true, job));
	for (unsigned i = 0; i < 1000; i++)
		assert_false(at(&w, false, 0));
	for (unsigned i = 0; i < 1000; i++)
		assert_false(at(&w, i % LOOKS != 0, 1));
}

static void who_loops_ages_by_the_time_that_it_loops(void **state)
{
	struct watch_worker w = { 0 };

	assert_false(ran(&w, EACH));
	for (unsigned i = 0; i < LOOKS - 1; i++)
		assert_false(ran(&w, EACH));
	assert_true(ran(&w, EACH));
}

/* The machine has other things to do: a tenth of a CPU is left. */
static void who_waits_for_a_cpu_is_not_stuck(void **state)
{
	struct watch_worker w = { 0 };
	unsigned looks = 0;

	assert_false(ran(&w, 0));
	for (unsigned i = 0; i < 1000; i++)
		assert_false(ran(&w, 0));
	while (!ran(&w, EACH / 10))
		looks++;
	assert_int_equal(looks, 10 * (LOOKS - 1) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(looks_are_often_enough),
		cmocka_unit_test_setup(a_lost_wake_up_is_found_and_found_again,
				       setup),
		cmocka_unit_test_setup(
			who_is_forgotten_is_woken_and_then_its_policy_blamed,
			setup),
		cmocka_unit_test_setup(idle_moments_between_looks_count, setup),
		cmocka_unit_test_setup(starving_is_no_stall, setup),
		cmocka_unit_test_setup(a_worker_must_be_idle_again_and_again,
				       setup),
		cmocka_unit_test_setup(progress_begins_anew, setup),
		cmocka_unit_test_setup(a_turn_without_a_frame_is_progress,
				       setup),
		cmocka_unit_test_setup(an_early_frame_may_be_held, setup),
		cmocka_unit_test_setup(who_runs_is_its_workers_matter, setup),
		cmocka_unit_test_setup(nothing_waits, setup),
		cmocka_unit_test_setup(time_that_nobody_saw_does_not_count,
				       setup),
		cmocka_unit_test_setup(a_worker_in_one_job_for_too_long, setup),
		cmocka_unit_test_setup(a_worker_that_goes_from_job_to_job,
				       setup),
		cmocka_unit_test_setup(who_loops_ages_by_the_time_that_it_loops,
				       setup),
		cmocka_unit_test_setup(who_waits_for_a_cpu_is_not_stuck, setup),
	};

	return cmocka_run_group_tests_name("watchdog", tests, NULL, NULL);
}
