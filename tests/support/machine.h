/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines that are not there: folders as Linux has them in
 * /sys/devices/system/cpu.
 */
#ifndef TESTS_MACHINE_H
#define TESTS_MACHINE_H

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/topology.h"
#include "cmocka_cr.h"
#include "scratch.h"

/** The files of a CPU. NULL: there is none. */
struct machine_cpu {
	unsigned cpu;
	const char *core;    /**< siblings, such as "0,32" */
	const char *l2, *l3; /**< CPUs that share the cache */
	const char *package;
};

static inline void machine_write(const char *root, unsigned cpu,
				 const char *name, const char *text)
{
	char path[512];
	FILE *f;

	if (!text)
		return;
	(void)snprintf(path, sizeof(path), "%s/cpu%u/%s", root, cpu, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fprintf(f, "%s\n", text) > 0);
	assert_int_equal(fclose(f), 0);
}

static inline void machine_folder(const char *root, unsigned cpu,
				  const char *name)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/cpu%u%s", root, cpu, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static inline void machine_cache(const char *root, unsigned cpu, unsigned index,
				 const char *level, const char *type,
				 const char *list)
{
	char name[64];

	if (!list)
		return;
	(void)snprintf(name, sizeof(name), "/cache/index%u", index);
	machine_folder(root, cpu, name);
	(void)snprintf(name, sizeof(name), "cache/index%u/level", index);
	machine_write(root, cpu, name, level);
	(void)snprintf(name, sizeof(name), "cache/index%u/type", index);
	machine_write(root, cpu, name, type);
	(void)snprintf(name, sizeof(name), "cache/index%u/shared_cpu_list",
		       index);
	machine_write(root, cpu, name, list);
}

/** Add @c to the machine at @root. */
static inline void machine_add(const char *root, const struct machine_cpu *c)
{
	machine_folder(root, c->cpu, "");
	machine_folder(root, c->cpu, "/topology");
	machine_folder(root, c->cpu, "/cache");
	machine_write(root, c->cpu, "topology/core_cpus_list", c->core);
	machine_write(root, c->cpu, "topology/package_cpus_list", c->package);
	/* not in the order of levels, and one that is no data's */
	machine_cache(root, c->cpu, 0, "3", "Unified", c->l3);
	machine_cache(root, c->cpu, 1, "4", "Instruction", c->core);
	machine_cache(root, c->cpu, 2, "2", "Unified", c->l2);
}

/** The result of topology_read() for the CPUs @allowed ("0-7"). */
static inline void machine_read(struct topology *t, const char *root,
				const char *allowed)
{
	struct cpu_list list;
	struct cr_err e;

	assert_int_equal(cpu_list_parse(&list, allowed, &e), 0);
	memset(t, 0xff, sizeof(*t));
	topology_read(t, root, &list);
	assert_int_equal(t->count, list.count);
}

#endif
