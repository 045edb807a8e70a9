/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwa,classes=together, the second scheme of Wolf, Burke and Vogt: on one CPU,
 * full to the last nanosecond, with calls of which some exceed what they
 * specified, by a frame in eight of twelve times that or with each by as much
 * again, those that do not are never late.
 */
#include "schedulers/policies.h"
#include "task_set_rig.h"

enum { HYPER = 240, UNTIL = 4 * HYPER };
#define SETS TEST_TRIES(300)

struct trial {
	const char *opts;
	enum cr_class cls;
	unsigned hurt; /* sets in which a tame one was late */
	unsigned wild; /* calls that were late themselves */
};

static bool is_wild(unsigned i)
{
	return i % 2;
}

/* Of the wild, every other one has a backlog after a frame that is very long,
 * the others are always too long. */
static cr_ns cost_of(void *arg, struct sim_task *t)
{
	const struct rig_task *r = rig_task_of(&t->core);
	unsigned i = t->core.task.id - 1;
	cr_ns cost = rig_cost(arg, t);

	if (!is_wild(i))
		return cost;
	if (i % 4 == 3)
		return 2 * cost;
	return r->claimed % 8 == 1 ? 12 * cost : cost;
}

static enum cr_class dressed;

static void dress(struct rig_task *r)
{
	r->st.core.task.cls = dressed;
}

/* Shrunk to what nobody could serve. */
static bool is_too_much(const struct task_set *set)
{
	cr_ns sum = 0;

	for (unsigned i = 0; i < set->n; i++)
		sum += set->task[i].cost * HYPER / set->task[i].period;
	return sum > HYPER;
}

static bool tame_one_is_late(const struct task_set *set, void *arg)
{
	struct trial *with = arg;
	struct sim_rig *rig;
	uint64_t late = 0;

	if (is_too_much(set))
		return false;
	rig = rig_new(&cr_sched_dwa, with->opts, 1, set->n);
	rig->cfg.client.cost = cost_of;
	dressed = with->cls;
	for (unsigned i = 0; i < set->n; i++)
		assert_non_null(rig_add_with(rig, set->task[i].period,
					     set->task[i].cost, dress));
	sim_run(rig->sim, UNTIL + 1);
	for (unsigned i = 0; i < set->n; i++) {
		const struct rig_task *r = &rig->task[i];
		uint64_t n =
			r->missed + (r->done < r->arrived &&
				     rig_job(r, r->done).deadline <= UNTIL);

		if (is_wild(i))
			with->wild += n > 0;
		else
			late += n;
	}
	rig_free(rig);
	with->hurt += late > 0;
	return late > 0;
}

static const struct task_set_shape full = { .tasks = { 2, 10 },
					    .util_ppm = CR_PPM,
					    .period = { 4, 60 },
					    .hyper = HYPER,
					    .full = true };

static void who_overruns_harms_itself_alone(void **state)
{
	static const enum cr_class classes[] = { CR_SOFT, CR_HARD };

	for (unsigned i = 0; i < 2; i++) {
		struct trial t = { .opts = "classes=together",
				   .cls = classes[i] };
		struct task_set_property p = { "no tame call is late",
					       tame_one_is_late, &t };

		task_set_try(SETS, &full, &p);
		assert_true(t.wild > SETS);
	}
}

/* What that is worth: in the first scheme all that are in a class are equal. */
static void apart_it_harms_the_others(void **state)
{
	struct trial t = { .opts = "classes=apart", .cls = CR_SOFT };
	uint64_t seed = test_seed();

	for (unsigned k = 0; k < SETS; k++) {
		struct task_set set = task_set_draw(&full, &seed);

		(void)tame_one_is_late(&set, &t);
	}
	assert_true(t.hurt > SETS / 2);
}

/* The paper's drawback of the first scheme: a statistical call that keeps to
 * its word, with the closer deadline, waits for a guaranteed one. */
static void a_closer_deadline_comes_first_whatever_the_class(void **state)
{
	static const char *const opts[] = { "classes=together",
					    "classes=apart" };
	static const cr_ns response[] = { 10, 40 };

	for (unsigned i = 0; i < 2; i++) {
		struct sim_rig *rig = rig_new(&cr_sched_dwa, opts[i], 1, 2);

		dressed = CR_HARD;
		assert_non_null(rig_add_with(rig, 100, 30, dress));
		dressed = CR_SOFT;
		assert_non_null(rig_add(rig, 50, 10));
		sim_run(rig->sim, 50);
		assert_int_equal(rig->task[1].response, response[i]);
		rig_free(rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_overruns_harms_itself_alone),
		cmocka_unit_test(apart_it_harms_the_others),
		cmocka_unit_test(
			a_closer_deadline_comes_first_whatever_the_class),
	};

	return cmocka_run_group_tests_name("demotion", tests, NULL, NULL);
}
