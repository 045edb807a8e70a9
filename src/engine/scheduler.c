/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names to schedulers: the kernel's here, the policies' in their registry.
 */
#include "engine/scheduler.h"

#include <errno.h>
#include <string.h>

#include "base/nearest.h"

/* Of a name that may be found; longer ones are none of the kernel's. */
#define NAME_MAX_BYTES 64u
/* Policies and the kernel's, and a NULL. */
#define NAMES_MAX 64u

static int unknown(const char *name, struct cr_err *e)
{
	const char *names[NAMES_MAX] = { NULL };
	unsigned n = 0;
	char hint[256];

	for (unsigned i = 0; cr_schedulers[i] && n < NAMES_MAX - 1; i++)
		names[n++] = cr_schedulers[i]->name;
	for (unsigned i = 0; kernel_scheds[i] && n < NAMES_MAX - 1; i++)
		names[n++] = kernel_scheds[i]->name;
	return cr_fail(e, -ENOENT, "no scheduler '%s'; %s", name,
		       nearest_hint(name, names, hint, sizeof(hint)));
}

int scheduler_find(const char *spec, struct scheduler *s, struct cr_err *e)
{
	struct scheduler found = { .policy = NULL };
	char name[NAME_MAX_BYTES];
	size_t n = strcspn(spec, ",");
	bool is_short = n < sizeof(name);
	int rc;

	(void)snprintf(name, sizeof(name), "%.*s", (int)n, spec);
	if (is_short)
		found.kernel = kernel_sched_find(name);
	if (found.kernel) {
		found.opts = spec[n] == ',' ? spec + n + 1 : spec + n;
		*s = found;
		return 0;
	}
	rc = cr_scheduler_find(spec, &found.policy, &found.opts, e);
	if (!rc)
		*s = found;
	return rc == -ENOENT && is_short ? unknown(name, e) : rc;
}

int scheduler_check(const char *spec, struct cr_err *e)
{
	struct scheduler s;
	int64_t number;
	int rc = scheduler_find(spec, &s, e);

	if (rc)
		return rc;
	/* What is not found gives no 0.
	 * NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Branch) */
	return s.kernel ? kernel_sched_parse(s.kernel, s.opts, &number, e)
			: cr_scheduler_check(spec, e);
}
