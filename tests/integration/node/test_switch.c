/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From any scheduler to any other under 200 calls: no frame is lost.
 */
#include "cmocka_cr.h"

#include <stdio.h>
#include <string.h>

#include "schedulers/registry.h"
#include "traffic.h"

enum { CALLS = 200, BETWEEN = 50 };

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

/* Every ordered pair: there and back between each one and all after it. */
static void switch_under_load(unsigned workers, unsigned cpus_per_rq)
{
	const struct rig_options o = { .scheduler = cr_schedulers[0]->name,
				       .workers = workers,
				       .cpus_per_rq = cpus_per_rq };
	unsigned switches = 0, n = 0;
	struct traffic t;
	struct rig r;

	rig_open(&r, &o);
	traffic_begin(&t, &r, CALLS);
	for (; cr_schedulers[n]; n++) {
		go_to(&t, cr_schedulers[n]);
		for (unsigned j = n + 1; cr_schedulers[j]; j++) {
			go_to(&t, cr_schedulers[j]);
			go_to(&t, cr_schedulers[n]);
			switches += 2;
		}
	}
	traffic_flows(&t, BETWEEN);
	traffic_end(&t);
	traffic_balance(&t);
	assert_int_equal(switches, n * (n - 1));
	rig_close(&r);
}

static void between_any_two_on_one_run_queue(void **state)
{
	(void)state;
	switch_under_load(2, 0);
}

static void between_any_two_on_a_run_queue_per_worker(void **state)
{
	(void)state;
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
