/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many file descriptors, sockets among them, this process may have
 * (RLIMIT_NOFILE, getrlimit(2)), who may have how many of them, and what a
 * person is told who needs more. Any thread.
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

/** How many clients of control may have one each, and how many connections the
 * web page may have: @most, but one in 8 and one in 4 of the limit where that
 * is less, and at least one. So none of them takes what the other, or calls,
 * need. */
unsigned descriptors_for_control(unsigned most);
unsigned descriptors_for_web(unsigned most);

/** How many calls leave alone: for these two, with the usual @most, and for
 * files. */
uint64_t descriptors_kept(void);

/** Fail with @err for want of descriptors: -EMFILE (the process has no more) or
 * -ENFILE (the system). The text has the limit and how to raise it. @what came
 * to a halt: "UDP socket". Returns @err. */
int descriptors_fail(struct cr_err *e, int err, const char *what);

#endif
