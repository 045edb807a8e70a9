/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the log still writes when a signal of a fault ends the process. Private
 * to src/observe.
 */
#ifndef OBSERVE_LOG_CRASH_H
#define OBSERVE_LOG_CRASH_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/** Call @write in the handlers of these signals, once; NULL: nothing. Signals
 * that have a handler already are left to it. */
void log_crash_catch(void (*write)(void));

/** Around each write of the log's thread: in a crash it does not go on with
 * what the handler writes. */
void log_crash_enter(void);
void log_crash_leave(void);

/** For @write: all @n octets, without waiting for a reader that stalls. */
bool log_crash_write(int fd, const char *text, size_t n);

/** All signals but those of faults. */
void log_crash_others(sigset_t *set);

#endif
