/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core passes on a policy's promises and numbers.
 */
#include <string.h>

#include "core_fixture.h"
#include "cr/promise.h"
#include "schedulers/policies.h"

static struct cr_promise said; /* by the policy below */

static void promise(const struct cr_task *t, struct cr_promise *p)
{
	assert_int_equal(p->kind, CR_PROMISE_NOTHING);
	assert_null(p->rule);
	assert_int_not_equal(t->cls, CR_BE);
	*p = said;
}

static unsigned two_numbers(const struct cr_task *t, struct cr_kv *kv,
			    unsigned max)
{
	const struct cr_kv all[] = { { "id", t->id, CR_KV_COUNT },
				     { "nine", 9, CR_KV_COUNT } };

	return CR_KV_COPY(kv, max, all);
}

static unsigned unknown_unit(const struct cr_task *t, struct cr_kv *kv,
			     unsigned max)
{
	const struct cr_kv all[] = { { "id", t->id, (enum cr_kv_unit)99 } };

	return CR_KV_COPY(kv, max, all);
}

static void open_one(struct core_fixture *g, const struct cr_sched_ops *ops,
		     enum cr_class cls)
{
	open_core(g, (struct core_config){ .ops = ops, .ncpu = 1 });
	g->s[3].task.core.task.cls = cls;
	join(g, 3);
}

static struct cr_promise ask(const struct cr_sched_ops *ops, enum cr_class cls)
{
	struct cr_promise p;
	struct core_fixture g;

	open_one(&g, ops, cls);
	core_promise(&g.s[3].task.core, &p);
	close_core(&g, 0);
	return p;
}

static void a_promise_is_passed_on(void **state)
{
	struct cr_sched_ops ops = cr_sched_fifo;
	struct cr_promise p;

	ops.promise = promise;
	said = (struct cr_promise){ .kind = CR_PROMISE_LATENESS,
				    .rule = "so it is",
				    .bound = 7,
				    .cost = 5 };
	p = ask(&ops, CR_SOFT);
	assert_int_equal(p.kind, CR_PROMISE_LATENESS);
	assert_int_equal(p.bound, 7);
	assert_int_equal(p.cost, 5);
	assert_string_equal(p.rule, "so it is");
}

static void there_is_always_a_reason(void **state)
{
	struct cr_sched_ops ops = cr_sched_fifo;
	struct cr_promise p;

	p = ask(&ops, CR_HARD);
	assert_int_equal(p.kind, CR_PROMISE_NOTHING);
	assert_string_equal(p.rule, "this scheduler promises nothing");
	ops.promise = promise;
	said = (struct cr_promise){ .kind = CR_PROMISE_NOTHING };
	assert_non_null(ask(&ops, CR_HARD).rule);
	/* nobody is asked about what has no deadline */
	p = ask(&ops, CR_BE);
	assert_int_equal(p.kind, CR_PROMISE_NOTHING);
	assert_string_equal(p.rule, "best effort has no deadline");
}

static int64_t in_time(const struct cr_sched_ops *ops)
{
	struct cr_kv kv[8];
	struct core_fixture g;
	unsigned n;

	open_one(&g, ops, CR_SOFT);
	n = core_explain(&g.s[3].task.core, kv, 8);
	close_core(&g, 0);
	assert_int_equal(n, 3);
	assert_string_equal(kv[0].key, "id");
	assert_int_equal(kv[0].value, 3);
	assert_string_equal(kv[2].key, "in_time");
	return kv[2].value;
}

static void who_promises_shows_whether_it_is_in_time(void **state)
{
	struct cr_sched_ops ops = cr_sched_fifo;
	struct cr_kv kv[8];
	struct core_fixture g;

	ops.explain = two_numbers;
	open_one(&g, &ops, CR_SOFT);
	assert_int_equal(core_explain(&g.s[3].task.core, kv, 8), 2);
	close_core(&g, 0);
	ops.promise = promise;
	said = (struct cr_promise){ .kind = CR_PROMISE_LATENESS, .rule = "r" };
	assert_int_equal(in_time(&ops), 1);
	said.bound = 1;
	assert_int_equal(in_time(&ops), 0);
	said.kind = CR_PROMISE_NOTHING;
	said.bound = 0;
	assert_int_equal(in_time(&ops), 0);
}

static void numbers_stay_within_their_room(void **state)
{
	struct cr_sched_ops ops = cr_sched_fifo;
	struct cr_kv kv[4];
	struct core_fixture g;

	ops.explain = two_numbers;
	ops.promise = promise;
	said = (struct cr_promise){ .kind = CR_PROMISE_LATENESS, .rule = "r" };
	open_one(&g, &ops, CR_SOFT);
	for (unsigned max = 0; max <= 4; max++) {
		memset(kv, 0, sizeof(kv));
		assert_int_equal(core_explain(&g.s[3].task.core, kv, max),
				 max < 3 ? max : 3);
		for (unsigned i = max; i < 4; i++)
			assert_null(kv[i].key);
	}
	close_core(&g, 0);
}

static void a_unit_that_is_none_is_a_count(void **state)
{
	struct cr_sched_ops ops = cr_sched_fifo;
	struct cr_kv kv[1];
	struct core_fixture g;

	ops.explain = unknown_unit;
	open_one(&g, &ops, CR_SOFT);
	assert_int_equal(core_explain(&g.s[3].task.core, kv, 1), 1);
	assert_int_equal(kv[0].unit, CR_KV_COUNT);
	close_core(&g, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_promise_is_passed_on),
		cmocka_unit_test(there_is_always_a_reason),
		cmocka_unit_test(who_promises_shows_whether_it_is_in_time),
		cmocka_unit_test(numbers_stay_within_their_room),
		cmocka_unit_test(a_unit_that_is_none_is_a_count),
	};

	return cmocka_run_group_tests_name("promise", tests, NULL, NULL);
}
