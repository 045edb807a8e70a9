/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that writes the log, and what waits for it. Whoever reads the log
 * may stall: then lines wait here, and when there is no room they are dropped
 * and counted. Nobody who has a line waits for its reader.
 *
 * When lines flow again, a line in the place of those that are missing says how
 * many they were ("log-dropped lines=N"). A process that is ended by SIGABRT,
 * SIGSEGV, SIGBUS, SIGILL or SIGFPE writes what waits, as far as it can be
 * written at once.
 *
 * One in the process. Private to src/observe.
 */
#ifndef OBSERVE_LOG_WRITER_H
#define OBSERVE_LOG_WRITER_H

#include <stdbool.h>
#include <stddef.h>

#include "cr/error.h"
#include "observe/log.h"
#include "observe/log_line.h"

/** Start the thread, which writes to @fd (borrowed if it is stderr, else taken
 * over, also on failure) what is put, in @style, as its own entries are. 0, or
 * -errno with @e. */
int log_writer_open(int fd, const struct log_style *style, struct cr_err *e);

/** Is there one? Otherwise the line is its maker's to write. */
bool log_writer_is_open(void);

/** Put a whole entry; any thread, waits for copying only. */
void log_writer_put(const char *line, size_t bytes);

/** What is put from now on goes to @fd, which is taken over. Any thread. */
void log_writer_switch(int fd);

/** Wait until all that was put is written, for @limit at most. False: it is
 * not. Any thread but the writer's. */
bool log_writer_flush(cr_ns limit);

/** Flush with @limit, then end the thread, even one that is stuck in a write:
 * the rest is dropped. While nobody puts. Nothing if there is none. */
void log_writer_close(cr_ns limit);

/** Adds what it knows. Any thread. */
void log_writer_stats(struct log_stats *out);

#endif
