/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which CPUs share what. sysfs has a list of CPUs for each thing that is
 * shared. Its text names the thing: all who share it have the same.
 */
#include "base/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
