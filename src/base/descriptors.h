/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many file descriptors, sockets among them, this process may have
 * (RLIMIT_NOFILE, getrlimit(2)), and what a person is told who needs more. The
 * kernel gives the lowest free number, so a descriptor's number tells how many
 * are left at least. Any thread.
 */
#ifndef BASE_DESCRIPTORS_H
#define BASE_DESCRIPTORS_H

#include <stdint.h>

#include "cr/error.h"

/** Raise the soft limit to the hard one. What cannot be raised stays. */
void descriptors_raise(void);

/** The soft limit; UINT64_MAX: none. */
uint64_t descriptors_limit(void);

/** Have the descriptors 0, 1 and 2 be open: those that are not are /dev/null's
 * from now on. Otherwise the next that is opened would be one of them, and be
 * read, or written to by who means standard output. Before anything is opened,
 * by libraries, too. 0, or -errno: there is no /dev/null. */
int descriptors_standard(void);

/** Fail with @err for want of descriptors: -EMFILE (the process has no more) or
 * -ENFILE (the system). The text has the limit and how to raise it. @what came
 * to a halt: "UDP socket". Returns @err. */
int descriptors_fail(struct cr_err *e, int err, const char *what);

#endif
