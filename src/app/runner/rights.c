/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rights that codec-runner does without.
 */
#include "app/runner/rights.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "app/runner/values.h"
#include "base/trust.h"
#include "observe/log.h"
#include "sandbox/filter.h"

static bool wants_priorities(const struct runner_options *o)
{
	const struct node_config *n = &o->service.node;

	return n->realtime || values_of_kernel(n->scheduler);
}

int rights_give_up(struct rights *to, const struct runner_options *o,
		   struct cr_err *e)
{
	bool uring = o->service.node.io != UDP_IO_EPOLL;
	int err = 0;

	*to = (struct rights){ .filtered = false };
	if (*o->user.name)
		err = user_become(&o->user, wants_priorities(o), e);
	if (err)
		return err;
	err = filter_no_new_privileges();
	if (err)
		return cr_fail(e, err, "no_new_privs: %s", strerror(-err));
	if (o->sandbox != SANDBOX_OFF)
		to->filtered = !filter_enter(
			uring, o->sandbox == SANDBOX_STRICT, &to->why_not);
	return 0;
}

/* It was read by another user: SIGHUP will find the same. */
static void report_of_writers(const char *path)
{
	struct cr_err who = { "" };

	if (path && trust_of_path(path, &who) != TRUST_OWN)
		log_event(LOG_WARN, "writable-by-others",
			  "path=\"%s\" why=\"%s\"", path, who.text);
}

static void report_of_config(const struct runner_options *o)
{
	const char *path = o->from.path;

	report_of_writers(path);
	report_of_writers(o->service.plugin_dir);
	if (path && access(path, R_OK))
		log_event(LOG_WARN, "config-not-readable",
			  "file=%s uid=%u why=\"%s: SIGHUP cannot read it "
			  "again\"",
			  path, (unsigned)geteuid(), strerror(errno));
}

void rights_report(const struct rights *r, const struct runner_options *o)
{
	log_event(LOG_INFO, "rights", "uid=%u gid=%u sandbox=%s",
		  (unsigned)geteuid(), (unsigned)getegid(),
		  r->filtered ? "on" : "off");
	if (o->sandbox != SANDBOX_OFF && !r->filtered)
		log_event(LOG_WARN, "no-sandbox", "why=\"%s\"",
			  r->why_not.text);
	if (!geteuid())
		log_event(LOG_WARN, "root",
			  "why=\"--user gives rights up that are not needed\"");
	report_of_config(o);
}
