/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key of control by SCTP, which says nothing of who its peers are: who
 * knows the key may do everything. It is in a file that others cannot read.
 * Without another one named, all daemons of a user share the file of that
 * user, and so the user's clients find it by themselves.
 *
 * Main thread.
 */
#ifndef PROTOCOL_KEY_H
#define PROTOCOL_KEY_H

#include <stdbool.h>

#include "cr/error.h"
#include "transport/transport.h"

/** Bytes of a key with its end; characters of the shortest one. */
enum { KEY_SIZE = 129, KEY_LEAST = 16 };

/** For the daemon: read the key of @path (NULL: the user's own file), which
 * is made if it is not there. 0; or -errno with @e: no file can be made; it is
 * another user's, or others may read or write it; there is no key in it. */
int key_serve(char key[KEY_SIZE], const char *path, struct cr_err *e);

/** For a client that asks @to: read the key of @path. Without a path, the
 * user's own if there is one and @to is of this machine's loopback: elsewhere
 * somebody else would be told. "": there is none to send. 0; or -errno with
 * @e. */
int key_show(char key[KEY_SIZE], const char *path,
	     const struct transport_addr *to, struct cr_err *e);

/** Is @said the key? How long this takes depends on @said alone. */
bool key_matches(const char key[KEY_SIZE], const char *said);

#endif
