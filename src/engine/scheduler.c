/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names to schedulers: the policies' are in their registry, the kernel's here,
 * with their parameters by the thesis, (6.1) and (6.2), and sched_setattr(2)
 * with what its refusals mean for people.
 *
 * A codec's weight is the number of CPUs that so many calls of it need
 * (scale; 12 million in the thesis, chosen for its machine), so a call that
 * takes the share u of a CPU weighs u * scale, and
 *
 *   nice    = log(1024 / weight) / log(1.25)          (6.1)
 *   runtime = period * weight / scale + overhead      (6.2, without its units)
 *
 * that is, the mean cost of a frame and the overhead.
 */
#define _GNU_SOURCE
#include "engine/scheduler.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/nearest.h"
#include "base/field.h"
#include "cr/error.h"
#include "cr/sched.h"

/* Weight of nice 0, and the ratio of one step of it (sched(7)). */
#define NICE_0_WEIGHT 1024.0
#define NICE_STEP 1.25
/* The least runtime that the kernel takes (sched(7)). */
#define LEAST_RUNTIME 1024

/* clang-format off */
#define OPTION(what, text, how, least, most, usual)                            \
	{                                                                      \
		{ .name = what,                                                \
		  .help = text,                                                \
		  .kind = how,                                                 \
		  .min = least,                                                \
		  .max = most,                                                 \
		  .dflt = usual },                                             \
		{ .name = NULL },                                              \
	}
/* clang-format on */

/* The receiver is above them: it has 99. */
static const struct cr_opt priority_opts[] = OPTION(
	"priority", "real-time priority of every call", CR_OPT_INT, 1, 98, 10);
static const struct cr_opt nice_opts[] =
	OPTION("scale", "a codec's weight is the CPUs that so many calls need",
	       CR_OPT_INT, 1, 1000000000, 12000000);
static const struct cr_opt deadline_opts[] =
	OPTION("overhead", "added to every runtime", CR_OPT_TIME, 0, CR_SEC,
	       5 * CR_US);

static struct kernel_attr other_attr(int64_t none, const struct cr_task *t)
{
	(void)none, (void)t;
	return (struct kernel_attr){ .policy = SCHED_OTHER };
}

/* (6.1), rounded and cut to what there is. */
static struct kernel_attr nice_attr(int64_t scale, const struct cr_task *t)
{
	double share = (double)t->cost.mean / (double)t->period;
	double n =
		log(NICE_0_WEIGHT / (share * (double)scale)) / log(NICE_STEP);
	struct kernel_attr a = { .policy = SCHED_OTHER };

	if (!(n < 19)) /* costs nothing: the least there is */
		a.nice = 19;
	else
		a.nice = n < -20 ? -20 : (int)lround(n);
	return a;
}

static struct kernel_attr fifo_attr(int64_t priority, const struct cr_task *t)
{
	(void)t;
	return (struct kernel_attr){ .policy = SCHED_FIFO,
				     .priority = (unsigned)priority };
}

static struct kernel_attr rr_attr(int64_t priority, const struct cr_task *t)
{
	(void)t;
	return (struct kernel_attr){ .policy = SCHED_RR,
				     .priority = (unsigned)priority };
}

/* (6.2); the kernel wants runtime <= deadline <= period. */
static struct kernel_attr deadline_attr(int64_t overhead,
					const struct cr_task *t)
{
	cr_ns runtime = cr_ns_max(t->cost.mean + overhead, LEAST_RUNTIME);

	return (struct kernel_attr){
		.policy = SCHED_DEADLINE,
		.runtime = cr_ns_min(runtime, t->period),
		.deadline = t->period,
		.period = t->period,
	};
}

static const struct kernel_sched other = {
	.name = "kernel:other",
	.help = "a thread per stream under SCHED_OTHER, nice 0",
	.attr = other_attr,
};

static const struct kernel_sched nice_values = {
	.name = "kernel:nice",
	.help = "a thread per stream under SCHED_OTHER, nice by codec weight",
	.opts = nice_opts,
	.attr = nice_attr,
};

static const struct kernel_sched fifo = {
	.name = "kernel:fifo",
	.help = "a thread per stream under SCHED_FIFO, one priority",
	.opts = priority_opts,
	.attr = fifo_attr,
};

static const struct kernel_sched rr = {
	.name = "kernel:rr",
	.help = "a thread per stream under SCHED_RR, one priority",
	.opts = priority_opts,
	.attr = rr_attr,
};

static const struct kernel_sched deadline = {
	.name = "kernel:deadline",
	.help = "a thread per stream under SCHED_DEADLINE, runtime by codec "
		"weight",
	.opts = deadline_opts,
	.attr = deadline_attr,
};

const struct kernel_sched *const kernel_scheds[] = {
	&other, &nice_values, &fifo, &rr, &deadline, NULL,
};

const struct kernel_sched *kernel_sched_find(const char *name)
{
	for (unsigned i = 0; kernel_scheds[i]; i++)
		if (strcmp(kernel_scheds[i]->name, name) == 0)
			return kernel_scheds[i];
	return NULL;
}

int kernel_sched_parse(const struct kernel_sched *k, const char *opts,
		       int64_t *number, struct cr_err *e)
{
	int64_t value = 0;
	struct cr_err why;
	int rc;

	options_defaults(k->opts, &value);
	rc = options_parse(k->opts, &value, opts, &why);
	if (rc)
		return cr_fail(e, rc, "scheduler %s: %s", k->name, why.text);
	*number = value;
	return 0;
}

struct kernel_attr kernel_attr_of(const struct kernel_sched *k, int64_t number,
				  const struct cr_task *t)
{
	if (t->cls == CR_BE)
		return (struct kernel_attr){ .policy = SCHED_OTHER,
					     .nice = 19 };
	return k->attr(number, t);
}

#define GRANT                                                                  \
	"CAP_SYS_NICE (run as root, or setcap cap_sys_nice+ep on "             \
	"codec-runner)"

/* The kernel's structure: this libc has neither it nor a wrapper. */
struct kernel_sched_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static int kernel_refused(const struct kernel_attr *a, int err,
			  struct cr_err *e)
{
	if (err == EPERM && a->policy == SCHED_DEADLINE)
		return cr_fail(e, -err,
			       "SCHED_DEADLINE needs " GRANT ", and threads "
			       "that may use every CPU of their root domain: "
			       "--pin none, or the CPUs of a cpuset of their "
			       "own (cpuset(7)); or no admission test by the "
			       "kernel: sysctl kernel.sched_rt_runtime_us=-1");
	if (err == EPERM)
		return cr_fail(e, -err,
			       "%s needs " GRANT " or a raised RLIMIT_%s",
			       a->priority ? "a real-time priority"
					   : "a negative nice value",
			       a->priority ? "RTPRIO" : "NICE");
	if (err == EBUSY)
		return cr_fail(e, -err,
			       "the kernel gives no more SCHED_DEADLINE "
			       "bandwidth (its limit: /proc/sys/kernel/"
			       "sched_rt_runtime_us)");
	return cr_fail(e, -err, "sched_setattr: %s", strerror(err));
}

int kernel_apply(const struct kernel_attr *a, struct cr_err *e)
{
	struct kernel_sched_attr k = {
		.size = sizeof(k),
		.policy = (uint32_t)a->policy,
		.nice = a->nice,
		.priority = a->priority,
		.runtime = (uint64_t)a->runtime,
		.deadline = (uint64_t)a->deadline,
		.period = (uint64_t)a->period,
	};

	return syscall(SYS_sched_setattr, 0, &k, 0)
		       ? kernel_refused(a, errno, e)
		       : 0;
}

/* Of a name that may be found; longer ones are none of the kernel's. */
#define NAME_MAX_BYTES 64u
/* Policies and the kernel's, and a NULL. */
#define NAMES_MAX 64u

static int unknown_scheduler(const char *name, struct cr_err *e)
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
	return rc == -ENOENT && is_short ? unknown_scheduler(name, e) : rc;
}

int scheduler_check(const char *spec, struct cr_err *e)
{
	struct scheduler s;
	int64_t number;
	int rc = scheduler_find(spec, &s, e);

	if (rc)
		return rc;
	/* A name that is not found gives no 0.
	 * NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Branch) */
	return s.kernel ? kernel_sched_parse(s.kernel, s.opts, &number, e)
			: cr_scheduler_check(spec, e);
}
