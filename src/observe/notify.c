/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sd_notify(3), the part that a service of one process needs. The socket stays
 * unconnected: a manager that is started again binds a new one at its path.
 */
#define _GNU_SOURCE
#include "observe/notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe/store.h"

enum { NOTIFY_MAX = 1024 };

/* A path; or behind '@' a name of the abstract namespace, which begins with a
 * NUL there and has none at its end. */
static int read_notify_address(struct notify *n, const char *text)
{
	size_t len = strlen(text);

	if ((text[0] != '/' && text[0] != '@') || !text[1])
		return -EAFNOSUPPORT;
	if (len > sizeof(n->to.sun_path) - (text[0] == '/'))
		return -ENAMETOOLONG;
	n->to.sun_family = AF_UNIX;
	memcpy(n->to.sun_path, text, len);
	if (text[0] == '@')
		n->to.sun_path[0] = '\0';
	n->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len +
			     (text[0] == '/'));
	return 0;
}

/* 0: not wanted, of another process, or nothing that makes sense. */
static cr_ns read_watchdog(const char *usec, const char *pid)
{
	char *end;
	long long us;

	if (!usec || (pid && *pid && strtoll(pid, NULL, 10) != getpid()))
		return 0;
	errno = 0;
	us = strtoll(usec, &end, 10);
	if (errno || end == usec || *end || us < 0 || us > CR_NEVER / CR_US)
		return 0;
	return (cr_ns)us * CR_US;
}

int notify_open(struct notify *n, struct cr_err *e)
{
	const char *text = getenv("NOTIFY_SOCKET");
	int err = 0;

	*n = (struct notify){ .fd = -1 };
	if (text && *text) {
		err = read_notify_address(n, text);
		if (!err)
			n->fd = socket(
				AF_UNIX,
				SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (!err && n->fd < 0)
			err = -errno;
	}
	if (err)
		err = cr_fail(e, err, "NOTIFY_SOCKET=%s: %s", text,
			      strerror(-err));
	else if (n->fd >= 0)
		n->watchdog = read_watchdog(getenv("WATCHDOG_USEC"),
					    getenv("WATCHDOG_PID"));
	(void)unsetenv("NOTIFY_SOCKET");
	(void)unsetenv("WATCHDOG_USEC");
	(void)unsetenv("WATCHDOG_PID");
	if (store_open(n) && !err)
		err = cr_fail(e, -ENOMEM, "FDSTORE: out of memory");
	return err;
}

void notify_close(struct notify *n)
{
	store_free(n);
	if (n->fd >= 0)
		(void)close(n->fd);
	n->fd = -1;
}

int notify_send(const struct notify *n, const char *fmt, ...)
{
	char text[NOTIFY_MAX];
	va_list ap;
	int len;

	if (n->fd < 0)
		return 0;
	va_start(ap, fmt);
	len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (len < 0 || (size_t)len >= sizeof(text))
		return -EMSGSIZE;
	return sendto(n->fd, text, (size_t)len, MSG_NOSIGNAL,
		      (const struct sockaddr *)&n->to, n->len) < 0
		       ? -errno
		       : 0;
}
