/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a listening Unix socket: who may use it, and whose it is.
 */
#ifndef TRANSPORT_UNIX_FILE_H
#define TRANSPORT_UNIX_FILE_H

#include <sys/types.h>
#include <sys/un.h>

#include "cr/error.h"

/** Its owner and its group may connect, nobody else. */
enum { UNIX_FILE_MODE = 0660 };

/** A file that we made. Zero: none. */
struct unix_file {
	dev_t device;
	ino_t inode;
};

/** @path as an address. Returns 0, or -ENAMETOOLONG or -EINVAL (empty) with
 * @e. */
int unix_address(struct sockaddr_un *to, const char *path, struct cr_err *e);

/**
 * Bind @fd to @path and listen, with UNIX_FILE_MODE from its first moment on.
 * A socket that nobody listens at any more is replaced. Returns 0 and @mine;
 * -EADDRINUSE: somebody listens there; -EEXIST: what is there is not a socket;
 * or another -errno; with @e.
 */
int unix_file_listen(int fd, const char *path, struct unix_file *mine,
		     struct cr_err *e);

/** Remove the file at @path if it is still @mine. */
void unix_file_remove(const char *path, const struct unix_file *mine);

#endif
