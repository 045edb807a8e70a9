/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that write for others, as the log's and those of lines: their reader
 * or their disk may stall, and the end of the process must not wait for that.
 * Private to src/observe.
 */
#ifndef OBSERVE_CANCELLABLE_WRITE_H
#define OBSERVE_CANCELLABLE_WRITE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/** The calling thread cannot be cancelled from now on, but in
 * cancellable_write(). */
void cancellable_write_begin(void);

/** As write(2), after which EINTR and EAGAIN mean to try again: where @fd is
 * full, this has waited, even if @fd does not block. The calling thread, which
 * holds no lock, can be cancelled here. */
ssize_t cancellable_write(int fd, const char *text, size_t n);

/** Join @thread: one that has @ended, or is told to in the middle of a write.
 * False: the kernel does not let it end; it is left behind with what it uses.
 */
bool cancellable_write_join(pthread_t thread, bool ended);

#endif
