/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of CPU numbers, "1,4-7", and the ones this process may use; and which
 * CPUs share what, as Linux shows in /sys/devices/system/cpu.
 */
#ifndef BASE_TOPOLOGY_H
#define BASE_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>

#include "cr/error.h"

#define CPU_LIST_MAX 256u

/** CPU numbers as the operating system counts, in the order given. */
struct cpu_list {
	unsigned cpu[CPU_LIST_MAX];
	unsigned count;
};

/** Read "1,4-7". 0, or -EINVAL with @e (syntax, twice the same, too many). */
int cpu_list_parse(struct cpu_list *list, const char *text, struct cr_err *e);

/** Write "1,4-7" into @buf: each once, rising. A longer text is cut off. */
void cpu_list_text(const struct cpu_list *list, char *buf, size_t size);

/** Is each of @list one of @allowed, what this process may use? 0, or -EINVAL
 * with @e, which names both. */
int cpu_list_within(const struct cpu_list *list, const struct cpu_list *allowed,
		    struct cr_err *e);

/** Is @cpu one of @list? */
bool cpu_list_has(const struct cpu_list *list, unsigned cpu);

/** The CPUs that this thread may run on, rising. */
void cpu_list_allowed(struct cpu_list *list);

/** From now on this thread, and those it starts without CPUs of their own, run
 * where they may now but for the CPUs of @list; where they may now if nothing
 * would be left. */
void cpu_list_avoid(const struct cpu_list *list);

/** Linux's folder for it. */
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
