/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The users who can change a file that this process obeys: its options, a
 * shared object. Root and the process's own user may.
 */
#ifndef BASE_TRUST_H
#define BASE_TRUST_H

#include <sys/stat.h>

#include "cr/error.h"

enum trust {
	TRUST_OWN,   /**< root or this user only can, or it is not there   */
	TRUST_GROUP, /**< its group, too: neither root's nor this process's */
	TRUST_ANY    /**< everybody can, or another user whose it is       */
};

/** The users who can write the file of @st. @who, if not TRUST_OWN: "everybody
 * can write it (mode 666)". Any thread. */
enum trust trust_of(const struct stat *st, struct cr_err *who);

/** The same of @path, a file or a folder; of a folder with the sticky bit
 * (mode 1777) others cannot change what is in it already. Any thread. */
enum trust trust_of_path(const char *path, struct cr_err *who);

/** May a shared object be loaded, whose code this process then runs? 0; or
 * -ENOEXEC with @e: others can write it, or its folder. Any thread. */
int trust_code(const char *path, struct cr_err *e);

#endif
