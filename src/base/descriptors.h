/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many file descriptors, sockets among them, this process may have
 * (RLIMIT_NOFILE, getrlimit(2)), which part may have how many of them, and the
 * message for a person who needs more. Any thread.
 */
#ifndef BASE_DESCRIPTORS_H
#define BASE_DESCRIPTORS_H

#include <stdint.h>

#include "cr/error.h"

/** Raise the soft limit to the hard one, or leave it where that fails. */
void descriptors_raise(void);

/** The soft limit; UINT64_MAX: none. */
uint64_t descriptors_limit(void);

/** The number in use. 0, or -errno: that cannot be seen. */
int descriptors_used(uint64_t *n);

/** Have the descriptors 0, 1 and 2 be open: those that are not are /dev/null's
 * from now on. Otherwise the next that is opened would be one of them, and be
 * read, or written to by who means standard output. Before anything is opened,
 * by libraries, too. 0, or -errno: there is no /dev/null. */
int descriptors_standard(void);

/** The numbers that they may have: clients of control, connections of the web
 * page, those of NG, and files of conversions. @most, but one in 8 of the limit
 * where that is less (of the page one in 4), and at least one. So none of them
 * takes what the others need; calls leave to all of them what they may have,
 * and DESCRIPTORS_OF_FILES. */
unsigned descriptors_for_control(unsigned most);
unsigned descriptors_for_web(unsigned most);
unsigned descriptors_for_ng(unsigned most);
unsigned descriptors_for_conversions(unsigned most);

/** Traces, records, the log, who is refused: for a moment or for long. */
enum { DESCRIPTORS_OF_FILES = 8 };

/** Fail with @err for want of descriptors: -EMFILE (the process has no more) or
 * -ENFILE (the system). The text has the limit and how to raise it. @what came
 * to a halt: "UDP socket". Returns @err. */
int descriptors_fail(struct cr_err *e, int err, const char *what);

#endif
