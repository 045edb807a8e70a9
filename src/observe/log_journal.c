/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry of the log as fields of the journal, and the way to it.
 *
 *     PRIORITY=4
 *     SYSLOG_IDENTIFIER=codec-runner
 *     CR_EVENT=admit-refused
 *     CR_CALL=7
 *     MESSAGE=admit-refused call=7
 *
 * No value has a line break, so none needs the binary form; journalctl shows
 * what is no UTF-8 as numbers, so none has such octets either.
 */
#define _GNU_SOURCE /* program_invocation_short_name */
#include "observe/log_journal.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/disarm.h"
#include "base/utf8.h"
#include "observe/log_line.h"

/* Of a field's name, as the journal takes it; ours begin with a prefix, so that
 * none is another one's. */
#define PREFIX "CR_"
enum { NAME_MAX_LEN = 64 };

/* What has to follow the fields, beside the message's own text. */
#define MESSAGE "MESSAGE="

/* In place of what is no character: U+FFFD. */
#define NO_CHARACTER "\xef\xbf\xbd"

static const char priorities[] = { '3', '4', '6', '7' }; /* of syslog(3) */

/* --- an entry --- */

/* Room for the message, which is behind the fields. */
static size_t spare(void)
{
	return sizeof(MESSAGE) + LOG_TEXT_MAX + sizeof("\n\n");
}

/* One character, harmless, if @l has room for @more behind it. */
static size_t put_character(struct log_line *l, const char *text, size_t n,
			    size_t more)
{
	size_t octets;
	bool harmless = disarm_is_harmless(text, n, &octets);

	if (!utf8_length(text, n))
		return log_line_put(l, NO_CHARACTER, sizeof(NO_CHARACTER) - 1,
				    more);
	if (!log_line_put(l, harmless ? text : "?", harmless ? octets : 1,
			  more))
		return 0;
	return octets;
}

static void put_text(struct log_line *l, const char *text, size_t n,
		     size_t more)
{
	size_t octets = 1;

	for (; n && octets; text += octets, n -= octets)
		octets = put_character(l, text, n, more);
}

/* "needs-restart" as "CR_NEEDS_RESTART". */
static size_t name_of(char name[NAME_MAX_LEN], const char *key, size_t n)
{
	size_t len = sizeof(PREFIX) - 1;

	memcpy(name, PREFIX, len);
	for (size_t i = 0; i < n && len < NAME_MAX_LEN; i++) {
		char c = key[i];

		if (c >= 'a' && c <= 'z')
			c = (char)(c - 'a' + 'A');
		else if (c == '-')
			c = '_';
		name[len++] = c;
	}
	return len;
}

static void put_field(struct log_line *l, const char *key, size_t key_len,
		      const char *text, size_t len)
{
	char name[NAME_MAX_LEN];
	size_t n = name_of(name, key, key_len);
	size_t end = spare() + sizeof("\n");

	if (!log_line_put(l, "", 0, n + sizeof("=") + end))
		return;
	(void)log_line_put(l, name, n, 0);
	(void)log_line_put(l, "=", 1, 0);
	put_text(l, text, len, end);
	(void)log_line_put(l, "\n", 1, 0);
}

void log_journal_begin(struct log_line *l, enum log_level level,
		       const char *event)
{
	char text[320];
	int n = snprintf(text, sizeof(text),
			 "PRIORITY=%c\nSYSLOG_IDENTIFIER=%.255s\n",
			 priorities[level], program_invocation_short_name);

	(void)log_line_put(l, text, (size_t)n, spare());
	put_field(l, "event", sizeof("event") - 1, event, strlen(event));
	log_text_begin(l, level, event);
}

void log_journal_value(void *line, const struct log_value *v)
{
	put_field(line, v->key, v->key_len, v->text, v->len);
	log_text_value(line, v);
}

void log_journal_end(struct log_line *l)
{
	log_text_end(l);
	(void)log_line_put(l, MESSAGE, sizeof(MESSAGE) - 1, 0);
	put_text(l, l->message, l->message_len, sizeof("\n\n"));
	(void)log_line_put(l, "\n\n", 2, 0);
}

/* --- the way to it --- */

static struct sockaddr_un to; /* set before threads start */

bool log_journal_has(int fd)
{
	const char *text = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat is;

	/* What does not fit is not ours: NOLINTNEXTLINE(cert-err34-c) */
	return text && sscanf(text, "%llu:%llu", &device, &inode) == 2 &&
	       !fstat(fd, &is) && is.st_dev == device && is.st_ino == inode;
}

bool log_journal_again(int fd)
{
	return !connect(fd, (const struct sockaddr *)&to, sizeof(to));
}

int log_journal_open(const char *path, struct cr_err *e)
{
	int fd, err;

	path = path ? path : LOG_JOURNAL_SOCKET;
	if (strlen(path) >= sizeof(to.sun_path))
		return cr_fail(e, -ENAMETOOLONG, "%s: no socket has that name",
			       path);
	to = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(to.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && log_journal_again(fd))
		return fd;
	err = errno;
	if (fd >= 0)
		(void)close(fd);
	return cr_fail(e, -err, "%s: there is no journal: %s", path,
		       strerror(err));
}
