/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of CPU numbers; and which CPUs share what. sysfs has a list of CPUs for
 * each thing that is shared. Its text names the thing: all who share it have
 * the same.
 */
#define _GNU_SOURCE
#include "base/topology.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cr/error.h"

bool cpu_list_has(const struct cpu_list *list, unsigned cpu)
{
	for (unsigned i = 0; i < list->count; i++)
		if (list->cpu[i] == cpu)
			return true;
	return false;
}

/* Append first..last. */
static int append_cpus(struct cpu_list *list, unsigned long first,
		       unsigned long last, struct cr_err *e)
{
	if (last < first || last >= 4096)
		return cr_fail(e, -EINVAL, "'%lu-%lu' is no range of CPUs",
			       first, last);
	for (unsigned long cpu = first; cpu <= last; cpu++) {
		if (cpu_list_has(list, (unsigned)cpu))
			return cr_fail(e, -EINVAL, "CPU %lu is listed twice",
				       cpu);
		if (list->count == CPU_LIST_MAX)
			return cr_fail(e, -EINVAL, "more than %u CPUs",
				       CPU_LIST_MAX);
		list->cpu[list->count++] = (unsigned)cpu;
	}
	return 0;
}

/* A number without sign or blanks; *@p moves behind it. */
static bool number(const char **p, unsigned long *n)
{
	char *end;

	if (**p < '0' || **p > '9')
		return false;
	*n = strtoul(*p, &end, 10);
	*p = end;
	return true;
}

int cpu_list_parse(struct cpu_list *out, const char *text, struct cr_err *e)
{
	struct cpu_list list = { .count = 0 };
	const char *p = text;
	unsigned long first, last;
	int err;

	for (;;) {
		if (!number(&p, &first))
			break;
		last = first;
		if (*p == '-' && (p++, !number(&p, &last)))
			break;
		err = append_cpus(&list, first, last, e);
		if (err)
			return err;
		if (!*p) {
			*out = list;
			return 0;
		}
		if (*p++ != ',')
			break;
	}
	return cr_fail(e, -EINVAL, "'%s' is no list of CPUs such as 1,4-7",
		       text);
}

/* The first CPU of @list from @cpu on; UINT_MAX: there is none. */
static unsigned first_from(const struct cpu_list *list, unsigned cpu)
{
	unsigned best = UINT_MAX;

	for (unsigned i = 0; i < list->count; i++)
		if (list->cpu[i] >= cpu && list->cpu[i] < best)
			best = list->cpu[i];
	return best;
}

void cpu_list_text(const struct cpu_list *list, char *buf, size_t size)
{
	unsigned cpu = first_from(list, 0);
	size_t used = 0;

	buf[0] = '\0';
	while (cpu != UINT_MAX && used < size) {
		unsigned last = cpu;

		while (cpu_list_has(list, last + 1))
			last++;
		used += (size_t)snprintf(buf + used, size - used,
					 last > cpu ? "%s%u-%u" : "%s%u",
					 used ? "," : "", cpu, last);
		cpu = first_from(list, last + 1);
	}
}

int cpu_list_within(const struct cpu_list *list, const struct cpu_list *allowed,
		    struct cr_err *e)
{
	char may[200];

	cpu_list_text(allowed, may, sizeof(may));
	for (unsigned i = 0; i < list->count; i++)
		if (!cpu_list_has(allowed, list->cpu[i]))
			return cr_fail(e, -EINVAL,
				       "this process may not use CPU %u; it "
				       "may use %s",
				       list->cpu[i], may);
	return 0;
}

void cpu_list_allowed(struct cpu_list *list)
{
	cpu_set_t set;

	list->count = 0;
	if (sched_getaffinity(0, sizeof(set), &set))
		CPU_ZERO(&set);
	for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set) && list->count < CPU_LIST_MAX)
			list->cpu[list->count++] = cpu;
	if (!list->count)
		list->cpu[list->count++] = 0;
}

void cpu_list_avoid(const struct cpu_list *list)
{
	cpu_set_t set, rest;

	if (sched_getaffinity(0, sizeof(set), &set))
		return;
	rest = set;
	for (unsigned i = 0; i < list->count; i++)
		if (list->cpu[i] < CPU_SETSIZE)
			CPU_CLR(list->cpu[i], &rest);
	/* a process that asks for nothing follows its cpuset when that is
	 * widened */
	if (CPU_COUNT(&rest) && !CPU_EQUAL(&rest, &set))
		(void)sched_setaffinity(0, sizeof(rest), &rest);
}

enum { TEXT = 256, LEVELS = 16 };

/* A line of a file of a CPU, without its end. False: there is none. */
static bool read_line(const char *root, unsigned cpu, const char *name,
		      char text[static TEXT])
{
	char path[512];
	FILE *f;
	bool got;

	if (snprintf(path, sizeof(path), "%s/cpu%u/%s", root, cpu, name) >=
	    (int)sizeof(path))
		return false;
	f = fopen(path, "re");
	if (!f)
		return false;
	got = fgets(text, TEXT, f) != NULL;
	(void)fclose(f);
	if (got)
		text[strcspn(text, "\n")] = '\0';
	return got && *text;
}

/* Of the largest level that holds data. */
static bool last_cache(const char *root, unsigned cpu, char text[static TEXT])
{
	char name[64], line[TEXT];
	long best = 0;

	for (unsigned i = 0; i < LEVELS; i++) {
		long level;

		(void)snprintf(name, sizeof(name), "cache/index%u/type", i);
		if (!read_line(root, cpu, name, line) ||
		    !strcmp(line, "Instruction"))
			continue;
		(void)snprintf(name, sizeof(name), "cache/index%u/level", i);
		level = read_line(root, cpu, name, line)
				? strtol(line, NULL, 10)
				: 0;
		(void)snprintf(name, sizeof(name),
			       "cache/index%u/shared_cpu_list", i);
		if (level <= best || !read_line(root, cpu, name, line))
			continue;
		best = level;
		memcpy(text, line, TEXT);
	}
	return best > 0;
}

/* Newer kernels have the first name, older ones the second. */
static bool either(const char *root, unsigned cpu, const char *newer,
		   const char *older, char text[static TEXT])
{
	return read_line(root, cpu, newer, text) ||
	       read_line(root, cpu, older, text);
}

struct names {
	char core[TEXT], cache[TEXT];
};

static void read_names(const char *root, unsigned cpu, struct names *n)
{
	char package[TEXT];

	if (!either(root, cpu, "topology/core_cpus_list",
		    "topology/thread_siblings_list", n->core))
		(void)snprintf(n->core, sizeof(n->core), "%u", cpu);
	if (last_cache(root, cpu, n->cache) && strcmp(n->cache, n->core) != 0)
		return;
	if (either(root, cpu, "topology/package_cpus_list",
		   "topology/core_siblings_list", package))
		memcpy(n->cache, package, TEXT);
	else
		n->cache[0] = '\0';
}

void topology_read(struct topology *t, const char *root,
		   const struct cpu_list *allowed)
{
	struct names *all = calloc(allowed->count, sizeof(*all));

	t->count = t->caches = t->cores = 0;
	for (unsigned i = 0; i < allowed->count; i++) {
		struct topology_cpu *c = &t->cpu[t->count++];
		unsigned same = 0;

		c->cpu = allowed->cpu[i];
		if (!all) { /* out of memory: nothing is known */
			c->core = t->cores++;
			c->cache = 0;
			t->caches = 1;
			continue;
		}
		read_names(root, c->cpu, &all[i]);
		while (strcmp(all[same].core, all[i].core) != 0)
			same++;
		c->core = same < i ? t->cpu[same].core : t->cores++;
		for (same = 0; strcmp(all[same].cache, all[i].cache) != 0;)
			same++;
		c->cache = same < i ? t->cpu[same].cache : t->caches++;
	}
	free(all);
}

const struct topology_cpu *topology_find(const struct topology *t, unsigned cpu)
{
	for (unsigned i = 0; i < t->count; i++)
		if (t->cpu[i].cpu == cpu)
			return &t->cpu[i];
	return NULL;
}
