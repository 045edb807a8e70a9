/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topologies of machines of many shapes.
 */
#include <stdlib.h>

#include "machine.h"

static char root[SCRATCH_MAX];
static struct topology t;

static void expect(unsigned cpu, unsigned core, unsigned cache)
{
	const struct topology_cpu *c = topology_find(&t, cpu);

	assert_non_null(c);
	assert_int_equal(c->cpu, cpu);
	assert_int_equal(c->core, core);
	assert_int_equal(c->cache, cache);
}

static void one_cpu(void **state)
{
	scratch_folder(root);
	machine_add(root, &(struct machine_cpu){ 0, "0", "0", "0", "0" });
	machine_read(&t, root, "0");
	assert_int_equal(t.cores, 1);
	assert_int_equal(t.caches, 1);
	expect(0, 0, 0);
	assert_null(topology_find(&t, 1));
}

static void eight_cpus_and_one_cache(void **state)
{
	scratch_folder(root);
	for (unsigned i = 0; i < 8; i++) {
		char own[8];

		(void)snprintf(own, sizeof(own), "%u", i);
		machine_add(root,
			    &(struct machine_cpu){ i, own, own, "0-7", "0-7" });
	}
	machine_read(&t, root, "0-7");
	assert_int_equal(t.cores, 8);
	assert_int_equal(t.caches, 1);
	for (unsigned i = 0; i < 8; i++)
		expect(i, i, 0);
	/* a container that may use some of them */
	machine_read(&t, root, "2,5-6");
	assert_int_equal(t.cores, 3);
	assert_int_equal(t.caches, 1);
	expect(5, 1, 0);
	assert_null(topology_find(&t, 0));
}

/* Two sockets of 16 cores in 2 caches each; two threads a core, numbered as
 * Linux does: all first ones, then all second ones. */
static void sockets_with_several_caches_and_siblings(void **state)
{
	scratch_folder(root);
	for (unsigned i = 0; i < 64; i++) {
		unsigned core = i % 32, cache = core / 8, socket = core / 16;
		char siblings[16], shared[32], package[32];

		(void)snprintf(siblings, sizeof(siblings), "%u,%u", core,
			       core + 32);
		(void)snprintf(shared, sizeof(shared), "%u-%u,%u-%u", 8 * cache,
			       8 * cache + 7, 8 * cache + 32, 8 * cache + 39);
		(void)snprintf(package, sizeof(package), "%u-%u,%u-%u",
			       16 * socket, 16 * socket + 15, 16 * socket + 32,
			       16 * socket + 47);
		machine_add(root, &(struct machine_cpu){ i, siblings, siblings,
							 shared, package });
	}
	machine_read(&t, root, "0-63");
	assert_int_equal(t.cores, 32);
	assert_int_equal(t.caches, 4);
	for (unsigned i = 0; i < 64; i++)
		expect(i, i % 32, i % 32 / 8);
	/* a mask without the first two caches, and without some siblings */
	machine_read(&t, root, "16-33,60");
	assert_int_equal(t.caches, 3);
	expect(16, 0, 0);
	expect(24, 8, 1);
	expect(32, 16, 2);
	expect(60, 12, 1);
}

static void cpus_of_which_nothing_is_said(void **state)
{
	scratch_folder(root);
	/* 3 and 4 are offline, 7 is one of a virtual machine's without caches,
	 * and the numbers have holes */
	machine_add(root,
		    &(struct machine_cpu){ 1, "1,5", "1,5", "1,5,9", "1-9" });
	machine_add(root,
		    &(struct machine_cpu){ 5, "1,5", "1,5", "1,5,9", "1-9" });
	machine_add(root, &(struct machine_cpu){ 9, "9", "9", "1,5,9", "1-9" });
	machine_add(root, &(struct machine_cpu){ .cpu = 7 });
	machine_read(&t, root, "1,3,4,5,7,9");
	assert_int_equal(t.caches, 2);
	assert_int_equal(t.cores, 5);
	expect(1, 0, 0);
	expect(5, 0, 0);
	expect(9, 4, 0);
	expect(3, 1, 1);
	expect(4, 2, 1);
	expect(7, 3, 1);
	/* no sysfs at all */
	machine_read(&t, "/nowhere", "0-3");
	assert_int_equal(t.caches, 1);
	assert_int_equal(t.cores, 4);
}

/* Where the last level is a core's own, CPUs have the package in common. */
static void caches_of_one_core_each(void **state)
{
	scratch_folder(root);
	for (unsigned i = 0; i < 8; i++) {
		char own[8];

		(void)snprintf(own, sizeof(own), "%u", i);
		machine_add(root, &(struct machine_cpu){
					  i, own, own, i < 4 ? own : NULL,
					  i < 4 ? "0-3" : "4-7" });
	}
	machine_read(&t, root, "0-7");
	assert_int_equal(t.cores, 8);
	assert_int_equal(t.caches, 2);
	for (unsigned i = 0; i < 8; i++)
		expect(i, i, i / 4);
}

static void this_machine_has_as_many_cpus_as_it_says(void **state)
{
	struct cpu_list allowed;

	cpu_list_allowed(&allowed);
	topology_read(&t, TOPOLOGY_ROOT, &allowed);
	assert_int_equal(t.count, allowed.count);
	assert_in_range(t.caches, 1, t.count);
	assert_in_range(t.cores, 1, t.count);
}

static void a_list_is_written_as_it_is_read(void **state)
{
	static const char *const same[] = { "0", "0-1", "0,2", "1-3,5,7-8" };
	struct cpu_list list;
	struct cr_err e;
	char text[32], few[6];

	for (unsigned i = 0; i < sizeof(same) / sizeof(*same); i++) {
		assert_int_equal(cpu_list_parse(&list, same[i], &e), 0);
		cpu_list_text(&list, text, sizeof(text));
		assert_string_equal(text, same[i]);
	}
	assert_int_equal(cpu_list_parse(&list, "8,3,2,9", &e), 0);
	cpu_list_text(&list, text, sizeof(text));
	assert_string_equal(text, "2-3,8-9");
	cpu_list_text(&list, few, sizeof(few));
	assert_string_equal(few, "2-3,8");
	list.count = 0;
	cpu_list_text(&list, text, sizeof(text));
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_cpu),
		cmocka_unit_test(eight_cpus_and_one_cache),
		cmocka_unit_test(sockets_with_several_caches_and_siblings),
		cmocka_unit_test(cpus_of_which_nothing_is_said),
		cmocka_unit_test(caches_of_one_core_each),
		cmocka_unit_test(this_machine_has_as_many_cpus_as_it_says),
		cmocka_unit_test(a_list_is_written_as_it_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
