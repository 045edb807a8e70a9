/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the trace of a running node begins.
 */
#include "observe/trace_head.h"

#include <errno.h>
#include <sys/utsname.h>

int trace_start_live(struct trace *t, const char *path,
		     const struct trace_head *h, struct cr_err *e)
{
	struct utsname u = { 0 };
	json_t *o;
	int err;

	(void)uname(&u);
	o = json_pack("{s:s,s:s,s:s,s:s,s:{s:s,s:s,s:s},s:i,s:i,s:b}",
		      "program", h->program, "version", h->version, "scheduler",
		      h->scheduler, "options", h->options, "machine", "node",
		      u.nodename, "kernel", u.release, "arch", u.machine,
		      "workers", (int)h->workers, "cpus_per_rq",
		      (int)h->cpus_per_rq, "live", 1);
	if (!o)
		return cr_fail(e, -ENOMEM, "out of memory");
	err = trace_start(t, path, o, e);
	json_decref(o);
	return err;
}
