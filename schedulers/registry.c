/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names to policies. The only place that loads policies from outside; they
 * themselves stay pure.
 */
#include "schedulers/registry.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/field.h"
#include "base/trust.h"
#include "schedulers/policies.h"

#define MAX_SPEC 512u /* of a name or a path */
#define MAX_BUILTIN 32u

const struct cr_sched_ops *const cr_schedulers[] = {
	&cr_sched_fifo,	  &cr_sched_rr,	       &cr_sched_edf,
	&cr_sched_edf_be, &cr_sched_edf_steal, &cr_sched_gfl,
	&cr_sched_dbp,	  &cr_sched_llf,       &cr_sched_rm,
	&cr_sched_dwa,	  &cr_sched_cfs,       &cr_sched_eevdf,
	&cr_sched_bfs,	  &cr_sched_staircase, &cr_sched_rsdl,
	&cr_sched_best,	  &cr_sched_goodness,  &cr_sched_pf,
	&cr_sched_pd,	  &cr_sched_pd2,       &cr_sched_edf_hsb,
	&cr_sched_srpt,	  &cr_sched_cbs,       &cr_sched_grub,
	&cr_sched_red,	  &cr_sched_wfq,       NULL,
};

const struct cr_sched_ops *const cr_sched_fallback = &cr_sched_fifo;

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
_Static_assert(COUNT(cr_schedulers) <= MAX_BUILTIN,
	       "room for the names in an error message");

/* The reason why @ops is unusable, or NULL. */
static const char *flaw(const struct cr_sched_ops *ops)
{
	if (!ops->name || !ops->name[0] || !ops->help)
		return "it has no name or help text";
	if (!ops->enqueue || !ops->dequeue || !ops->pick || !ops->stop)
		return "enqueue, dequeue, pick and stop are mandatory";
	if (ops->task_size > CR_TASK_PRIV)
		return "its task_size is above CR_TASK_PRIV";
	if ((ops->opts != NULL) != (ops->opts_size > 0))
		return "opts and opts_size do not agree";
	for (const struct cr_opt *o = ops->opts; o && o->name; o++)
		if (o->offset % sizeof(int64_t) ||
		    o->offset >= ops->opts_size ||
		    ops->opts_size - o->offset < sizeof(int64_t))
			return "an option lies outside opts_size";
		else if (o - ops->opts >= FIELD_ROWS_MAX)
			return "it has more than 128 options";
	return NULL;
}

static int load_plugin(const char *path, const struct cr_sched_ops **out,
		       struct cr_err *e)
{
	const struct cr_sched_ops *ops;
	const char *what;
	int err = trust_code(path, e);
	void *so;

	if (err)
		return err;
	so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!so)
		return cr_fail(e, -ENOEXEC, "cannot load scheduler: %s",
			       dlerror());
	ops = dlsym(so, "cr_sched_plugin");
	if (!ops) {
		(void)dlclose(so);
		return cr_fail(e, -ENOEXEC,
			       "%s is not a scheduler: it exports no "
			       "'cr_sched_plugin'",
			       path);
	}
	if (ops->abi != CR_SCHED_ABI) {
		(void)cr_fail(e, 0,
			      "%s was built for scheduler ABI %u, this program "
			      "has %u: rebuild it against cr/sched.h",
			      path, ops->abi, CR_SCHED_ABI);
		(void)dlclose(so);
		return -ENOEXEC;
	}
	what = flaw(ops);
	if (what) {
		(void)cr_fail(e, 0, "%s: %s", path, what);
		(void)dlclose(so);
		return -ENOEXEC;
	}
	*out = ops;
	return 0;
}

static int find_builtin(const char *name, const struct cr_sched_ops **out,
			struct cr_err *e)
{
	const char *names[MAX_BUILTIN] = { NULL };
	unsigned n = 0;
	char hint[256];

	for (unsigned i = 0; cr_schedulers[i]; i++)
		names[n++] = cr_schedulers[i]->name;
	for (unsigned i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0) {
			*out = cr_schedulers[i];
			return 0;
		}
	return cr_fail(e, -ENOENT, "no scheduler '%s'; %s", name,
		       nearest_hint(name, names, hint, sizeof(hint)));
}

int cr_scheduler_find(const char *spec, const struct cr_sched_ops **ops,
		      const char **opts, struct cr_err *e)
{
	char name[MAX_SPEC];
	size_t n = strcspn(spec, ",");
	int rc;

	if (n >= sizeof(name))
		return cr_fail(e, -ENOENT, "scheduler '%.20s...': too long",
			       spec);
	(void)snprintf(name, sizeof(name), "%.*s", (int)n, spec);
	rc = strchr(name, '/') ? load_plugin(name, ops, e)
			       : find_builtin(name, ops, e);
	if (!rc)
		*opts = spec[n] == ',' ? spec + n + 1 : spec + n;
	return rc;
}

int cr_scheduler_check(const char *spec, struct cr_err *e)
{
	const struct cr_sched_ops *ops;
	const char *opts;
	struct cr_err why;
	void *values;
	int rc = cr_scheduler_find(spec, &ops, &opts, e);

	if (rc)
		return rc;
	values = calloc(1, ops->opts_size + 1);
	if (!values)
		return cr_fail(e, -ENOMEM, "out of memory");
	rc = options_parse(ops->opts, values, opts, &why);
	free(values);
	return rc ? cr_fail(e, rc, "scheduler %s: %s", ops->name, why.text) : 0;
}
