/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives root's rights up.
 */
#define _GNU_SOURCE
#include "sandbox/user.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int user_find(struct user *to, const char *name, struct cr_err *e)
{
	const struct passwd *p;

	errno = 0;
	p = getpwnam(name);
	if (!p && errno && errno != ENOENT)
		return cr_fail(e, -errno, "cannot look up the user '%s': %s",
			       name, strerror(errno));
	if (!p || strlen(name) >= sizeof(to->name))
		return cr_fail(e, -ENOENT, "there is no user '%s'", name);
	if (!p->pw_uid)
		return cr_fail(e, -EINVAL,
			       "'%s' is root: it must be a user "
			       "without privileges",
			       name);
	*to = (struct user){ .uid = p->pw_uid, .gid = p->pw_gid };
	memcpy(to->name, name, strlen(name) + 1);
	return 0;
}

/* Of the calling thread. A change of user has left it what it may have, or
 * nothing, and nothing that it has. */
static int keep_priorities(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct is[2], want[2] = { { 0, 0, 0 } };

	if (syscall(SYS_capget, &head, is))
		return -errno;
	/* in a container even root may not have it */
	want[0].permitted = is[0].permitted & (1u << CAP_SYS_NICE);
	want[0].effective = want[0].permitted;
	return syscall(SYS_capset, &head, want) ? -errno : 0;
}

static int change(const struct user *u)
{
	if (initgroups(u->name, u->gid) || setresgid(u->gid, u->gid, u->gid) ||
	    setresuid(u->uid, u->uid, u->uid))
		return -errno;
	/* nothing came with it from root: as if that user had started it */
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) ? -errno : 0;
}

int user_become(const struct user *u, bool priorities, struct cr_err *e)
{
	uid_t real, effective, saved;
	int err = 0;

	if (getresuid(&real, &effective, &saved))
		return cr_fail(e, -errno, "getresuid: %s", strerror(errno));
	if (real == u->uid && effective == u->uid && saved == u->uid)
		return 0;
	if (effective)
		return cr_fail(e, -EPERM, "only root can become '%s'", u->name);
	if (priorities && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
		err = -errno;
	if (!err)
		err = change(u);
	if (!err && priorities)
		err = keep_priorities();
	return err ? cr_fail(e, err, "cannot become '%s': %s", u->name,
			     strerror(-err))
		   : 0;
}
