/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How datagrams pass between us and the kernel: through io_uring, or by system
 * calls of the older kind (epoll, recvmmsg, sendmmsg).
 */
#ifndef UDP_IO_H
#define UDP_IO_H

#include <stdbool.h>

#include "cr/error.h"

/** The user's choice. */
enum udp_io {
	UDP_IO_AUTO,  /**< io_uring where it can be used, else epoll       */
	UDP_IO_URING, /**< io_uring                                        */
	UDP_IO_EPOLL  /**< epoll, recvmmsg and sendmmsg                    */
};

/**
 * Whether io_uring can be used here: receives a datagram as the receiver does
 * (Linux 6.1).
 *
 * False with @why (may be NULL): the kernel is too old, io_uring is switched
 * off or forbidden to this process, or a limit is reached. Costs some system
 * calls. Any thread.
 */
bool udp_io_uring(struct cr_err *why);

/** "auto", "uring", "epoll", NULL: what to call them. */
extern const char *const udp_io_names[];

/** Choose for @asked: 0 with *@io, UDP_IO_URING or UDP_IO_EPOLL; @why
 * says why it is not io_uring where that was not ruled out, else it is empty.
 * -ENOTSUP with @why: io_uring was asked for and cannot be used. */
int udp_io_choose(enum udp_io asked, enum udp_io *io, struct cr_err *why);

#endif
