/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded: a process waits at a step of a hand-over, to be killed there. The
 * file $HELD_STEP says which one:
 *
 *   SERIAL before|after N PATTERN
 *
 * the Nth message of the process, since the file is as it is, that matches
 * fnmatch(3)'s PATTERN.
 *
 * The process that comes to it renames the file to $HELD_STEP.held, and goes on
 * when that is not there any more.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

typedef ssize_t send_message(int fd, const struct msghdr *m, int flags);
typedef ssize_t send_text(int fd, const void *text, size_t bytes, int flags,
			  const struct sockaddr *to, socklen_t len);

/* Is @text of @bytes the message of the step, before or (@after) after which
 * this process waits? */
static bool is_step(const char *path, const void *text, size_t bytes,
		    bool *after)
{
	static char last[256];
	static unsigned seen;
	char step[256] = "", when[8], pattern[128], message[512];
	unsigned number;
	FILE *f = fopen(path, "re");

	if (!f)
		return false;
	(void)fgets(step, sizeof(step), f);
	(void)fclose(f);
	if (sscanf(step, "%*u %7s %u %127[^\n]", when, &number, pattern) != 3)
		return false;
	if (strcmp(step, last) != 0) {
		(void)snprintf(last, sizeof(last), "%s", step);
		seen = 0;
	}
	(void)snprintf(message, sizeof(message), "%.*s", (int)bytes,
		       (const char *)text);
	*after = !strcmp(when, "after");
	return !fnmatch(pattern, message, 0) && ++seen == number;
}

static void wait_there(const char *path)
{
	const struct timespec while_held = { .tv_nsec = 1000000 };
	char held[512];

	(void)snprintf(held, sizeof(held), "%s.held", path);
	if (rename(path, held))
		return;
	while (!access(held, F_OK))
		(void)nanosleep(&while_held, NULL);
}

/* RTP does not begin with a letter. */
static bool waits_at(const void *text, size_t bytes, bool *after)
{
	const char *path = getenv("HELD_STEP");

	return path && bytes && *(const unsigned char *)text < 128 &&
	       is_step(path, text, bytes, after);
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	send_message *real = (send_message *)dlsym(RTLD_NEXT, "sendmsg");
	bool after = false;
	bool waits =
		m->msg_iovlen == 1 &&
		waits_at(m->msg_iov->iov_base, m->msg_iov->iov_len, &after);
	ssize_t sent;

	if (waits && !after)
		wait_there(getenv("HELD_STEP"));
	sent = real(fd, m, flags);
	if (waits && after)
		wait_there(getenv("HELD_STEP"));
	return sent;
}

ssize_t sendto(int fd, const void *text, size_t bytes, int flags,
	       const struct sockaddr *to, socklen_t len)
{
	send_text *real = (send_text *)dlsym(RTLD_NEXT, "sendto");
	bool after = false, waits = waits_at(text, bytes, &after);
	ssize_t sent;

	if (waits && !after)
		wait_there(getenv("HELD_STEP"));
	sent = real(fd, text, bytes, flags, to, len);
	if (waits && after)
		wait_there(getenv("HELD_STEP"));
	return sent;
}
