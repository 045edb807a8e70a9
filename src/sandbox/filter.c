/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a filter of calls.c, by libseccomp.
 */
#include "sandbox/filter.h"

#include <errno.h>
#include <seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/sanitized.h"
#include "sandbox/calls.h"

int filter_no_new_privileges(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
}

static int number_of(const char *name)
{
	return seccomp_syscall_resolve_name(name);
}

/* @c has that answer, under its conditions. */
static int add(scmp_filter_ctx f, uint32_t answer, const struct call *c)
{
	struct scmp_arg_cmp only[CALL_CONDITIONS + 1];
	unsigned n = 0;
	int nr = number_of(c->name);

	/* of another machine, or newer than the library */
	if (nr == __NR_SCMP_ERROR)
		return 0;
	if (c->own)
		only[n++] = SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0);
	for (unsigned i = 0; i < CALL_CONDITIONS && c->only[i].mask; i++)
		only[n++] = SCMP_CMP(c->only[i].arg, SCMP_CMP_MASKED_EQ,
				     c->only[i].mask, c->only[i].value);
	return seccomp_rule_add_array(f, answer, nr, n, only);
}

static int allow_all(scmp_filter_ctx f, const struct call *list)
{
	int err = 0;

	for (const struct call *c = list; c->name && !err; c++)
		err = add(f, SCMP_ACT_ALLOW, c);
	return err;
}

/* No rule may say what is said of all others. */
static int end_by(scmp_filter_ctx f, const char *const *list)
{
	int err = 0;

	for (; *list && !err; list++) {
		int nr = number_of(*list);

		if (nr != __NR_SCMP_ERROR)
			err = seccomp_rule_add(f, SCMP_ACT_KILL_PROCESS, nr, 0);
	}
	return err;
}

/* What an old kernel does not know it does without. */
static int prepare(scmp_filter_ctx f, bool logs)
{
	(void)seccomp_attr_set(f, SCMP_FLTATR_API_SYSRAWRC, 1);
	(void)seccomp_attr_set(f, SCMP_FLTATR_CTL_LOG, logs);
	/* before Linux 5.16 a filter would cost speed for what matters to
	 * programs that run foreign code beside secrets */
	(void)seccomp_attr_set(f, SCMP_FLTATR_CTL_SSB, 1);
	(void)seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	(void)seccomp_attr_set(f, SCMP_FLTATR_ACT_BADARCH,
			       SCMP_ACT_KILL_PROCESS);
	return seccomp_attr_set(f, SCMP_FLTATR_CTL_TSYNC, 1);
}

/* By a filter of its own, which does not log: threads try it each. */
static int refuse_quietly(const struct call *list)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);
	int err = f ? prepare(f, false) : -ENOMEM;

	for (; list->name && !err; list++)
		err = add(f, SCMP_ACT_ERRNO((uint16_t)list->err), list);
	if (!err)
		err = seccomp_load(f);
	seccomp_release(f);
	return err;
}

static int fill(scmp_filter_ctx f, bool uring, bool strict)
{
	int err = prepare(f, true);

	if (!err)
		err = allow_all(f, calls_needed);
	if (!err && uring)
		err = allow_all(f, calls_uring);
	/* by this filter: the other one knows better */
	if (!err)
		err = allow_all(f, calls_refused);
	if (!err && !strict)
		err = end_by(f, calls_hostile);
	return err;
}

int filter_enter(bool uring, bool strict, struct cr_err *e)
{
	scmp_filter_ctx f;
	int err = -ENOMEM;

	/* they stop and look at the process by ptrace(2) when it ends, and
	 * start a program that reads symbols when they have found something */
	if (SANITIZED)
		return cr_fail(e, -ENOTSUP,
			       "a build with sanitizers needs ptrace()");
	f = seccomp_init(strict ? SCMP_ACT_KILL_PROCESS
				: SCMP_ACT_ERRNO(EPERM));
	if (f)
		err = fill(f, uring, strict);
	/* first, as the filter itself would not let another one in */
	if (!err)
		err = refuse_quietly(calls_refused);
	if (!err)
		err = seccomp_load(f);
	seccomp_release(f);
	if (err > 0) /* a thread with a filter of its own */
		err = -ESRCH;
	return err ? cr_fail(e, err, "seccomp: %s", strerror(-err)) : 0;
}
