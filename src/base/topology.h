/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which CPUs share what, as Linux tells in /sys/devices/system/cpu.
 */
#ifndef BASE_TOPOLOGY_H
#define BASE_TOPOLOGY_H

#include "base/cpu_list.h"

/** Where Linux has it. */
#define TOPOLOGY_ROOT "/sys/devices/system/cpu"

struct topology_cpu {
	unsigned cpu;	/**< as the operating system counts */
	unsigned cache; /**< those with the same number share a cache     */
	unsigned core;	/**< those with the same number are one core's    */
};

/** The CPUs that may be used, rising. Caches and cores are numbered from 0 in
 * the order in which these CPUs meet them. */
struct topology {
	struct topology_cpu cpu[CPU_LIST_MAX];
	unsigned count, caches, cores;
};

/**
 * Read from the folder @root how those of @allowed are connected. The shared
 * cache is the last level; where that belongs to one core only, or nothing is
 * said of caches, it is the package instead. CPUs of which nothing is said (no
 * such folder, an offline CPU's) have a core of their own and a cache in
 * common.
 */
void topology_read(struct topology *t, const char *root,
		   const struct cpu_list *allowed);

/** The CPU with the number @cpu, or NULL. */
const struct topology_cpu *topology_find(const struct topology *t,
					 unsigned cpu);

#endif
