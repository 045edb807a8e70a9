/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From any scheduler to any other under 200 calls: no frame is lost.
 */
#include "cmocka_cr.h"

#include <stdio.h>
#include <string.h>

#include "schedulers/registry.h"
#include "traffic.h"

enum { CALLS = 200, BETWEEN = 50, MOST = 32 };

static void go_to(struct traffic *t, const struct cr_sched_ops *ops)
{
	struct cr_err e = { "" };
	char spec[320];

	traffic_flows(t, BETWEEN);
	if (node_scheduler_set(t->rig->node, ops->name, &e))
		fail_msg("%s: %s", ops->name, e.text);
	node_scheduler(t->rig->node, spec, sizeof(spec));
	assert_int_equal(strcspn(spec, ","), strlen(ops->name));
	assert_memory_equal(spec, ops->name, strlen(ops->name));
}

/* Those that are for such run queues, into @list; returns how many. */
static unsigned who_starts(unsigned cpus_per_rq,
			   const struct cr_sched_ops **list)
{
	unsigned n = 0;

	for (unsigned i = 0; cr_schedulers[i]; i++)
		if (cpus_per_rq == 1 ||
		    !(cr_schedulers[i]->flags & CR_F_ONE_CPU))
			list[n++] = cr_schedulers[i];
	return n;
}

/* Where each switch takes ten times as long, a quarter of the pairs are enough;
 * every policy is in some. */
static bool is_tried(unsigned i, unsigned j)
{
#ifdef __SANITIZE_THREAD__
	return (i + j) % 4 == 0 || j == i + 1;
#else
	(void)i, (void)j;
	return true;
#endif
}

/* Every ordered pair: there and back between each one and all after it. */
static void switch_under_load(unsigned workers, unsigned cpus_per_rq)
{
	const struct fixture_options o = { .scheduler = cr_schedulers[0]->name,
					   .workers = workers,
					   .cpus_per_rq = cpus_per_rq };
	const struct cr_sched_ops *list[MOST];
	unsigned switches = 0, n = who_starts(cpus_per_rq, list);
	struct traffic t;
	struct node_fixture r;

	fixture_open(&r, &o);
	traffic_begin(&t, &r, CALLS);
	for (unsigned i = 0; i < n; i++) {
		go_to(&t, list[i]);
		for (unsigned j = i + 1; j < n; j++) {
			if (!is_tried(i, j))
				continue;
			go_to(&t, list[j]);
			go_to(&t, list[i]);
			switches += 2;
		}
	}
	traffic_flows(&t, BETWEEN);
	traffic_end(&t);
	traffic_balance(&t);
	assert_in_range(switches, n * (n - 1) / (is_tried(0, 2) ? 1 : 4),
			n * (n - 1));
	fixture_close(&r);
}

static void between_any_two_on_one_run_queue(void **state)
{
	switch_under_load(2, 0);
}

static void between_any_two_on_a_run_queue_per_worker(void **state)
{
	switch_under_load(3, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(between_any_two_on_one_run_queue),
		cmocka_unit_test(between_any_two_on_a_run_queue_per_worker),
	};

	return cmocka_run_group_tests_name("switch", tests, NULL, NULL);
}
