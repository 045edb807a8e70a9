/* SPDX-License-Identifier: Apache-2.0 */
/*
 * systemd's journal by its native protocol: a datagram of FIELD=value lines for
 * each entry. systemd documents it as stable (JOURNAL_NATIVE_PROTOCOL), and it
 * needs no library. Private to src/observe.
 */
#ifndef OBSERVE_LOG_JOURNAL_H
#define OBSERVE_LOG_JOURNAL_H

#include <stdbool.h>

#include "cr/error.h"

/** Where the journal listens. */
#define LOG_JOURNAL_SOCKET "/run/systemd/journal/socket"

/** Does what is written to @fd go to the journal, as JOURNAL_STREAM says (see
 * systemd.exec(5))? */
bool log_journal_has(int fd);

/** A socket that is connected to @path (NULL: LOG_JOURNAL_SOCKET), and waits as
 * long as the journal stalls; or -errno with @e. While no other thread logs. */
int log_journal_open(const char *path, struct cr_err *e);

/** The journal listens at a new socket: connect @fd, of log_journal_open(), to
 * that. False: there is none. Any thread. */
bool log_journal_again(int fd);

#endif
