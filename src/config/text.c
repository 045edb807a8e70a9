/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading of a file that may be anything.
 */
#include "config/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *kind_of(mode_t mode)
{
	return S_ISDIR(mode)	? "a directory"
	       : S_ISFIFO(mode) ? "a FIFO"
	       : S_ISSOCK(mode) ? "a socket"
				: "a device";
}

static int check(int fd, struct cr_err *e)
{
	struct stat is;

	if (fstat(fd, &is))
		return cr_fail(e, -errno, "%s", strerror(errno));
	if (!S_ISREG(is.st_mode))
		return cr_fail(e, -EINVAL, "is %s; needs a file",
			       kind_of(is.st_mode));
	if (is.st_mode & S_IWOTH)
		return cr_fail(e, -EACCES,
			       "everybody can write it (mode %03o), and so say "
			       "what this program does: chmod o-w",
			       (unsigned)is.st_mode & 07777);
	return 0;
}

/* Up to @most bytes of @fd, whatever fstat() says: files of /proc say 0. */
static int read_all(int fd, char *buf, size_t most, size_t *size,
		    struct cr_err *e)
{
	size_t n = 0;

	while (n < most) {
		ssize_t got = read(fd, buf + n, most - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return cr_fail(e, -errno, "%s", strerror(errno));
		if (!got)
			break;
		n += (size_t)got;
	}
	*size = n;
	return 0;
}

static int read_text(int fd, char **text, size_t *size, struct cr_err *e)
{
	char *buf = malloc(CONFIG_BYTES + 1);
	size_t n = 0;
	int err;

	if (!buf)
		return cr_fail(e, -ENOMEM, "out of memory");
	err = read_all(fd, buf, CONFIG_BYTES + 1, &n, e);
	if (!err && n > CONFIG_BYTES)
		err = cr_fail(e, -EFBIG, "has more than %zu bytes",
			      CONFIG_BYTES);
	if (err) {
		free(buf);
		return err;
	}
	buf[n] = '\0';
	*text = buf;
	*size = n;
	return 0;
}

int config_text_read(const char *path, char **text, size_t *size,
		     struct cr_err *e)
{
	/* to open a FIFO waits for its writer, or not */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int err;

	if (fd < 0)
		return cr_fail(e, -errno, "%s", strerror(errno));
	err = check(fd, e);
	if (!err)
		err = read_text(fd, text, size, e);
	(void)close(fd);
	return err;
}
