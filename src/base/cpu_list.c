/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of CPU numbers.
 */
#define _GNU_SOURCE
#include "base/cpu_list.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

bool cpu_list_has(const struct cpu_list *list, unsigned cpu)
{
	for (unsigned i = 0; i < list->count; i++)
		if (list->cpu[i] == cpu)
			return true;
	return false;
}

/* Append first..last. */
static int append(struct cpu_list *list, unsigned long first,
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
		err = append(&list, first, last, e);
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
	/* what asks for nothing follows its cpuset when that is widened */
	if (CPU_COUNT(&rest) && !CPU_EQUAL(&rest, &set))
		(void)sched_setaffinity(0, sizeof(rest), &rest);
}
