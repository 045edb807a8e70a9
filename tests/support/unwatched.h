/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epoll that has no room for what it is to watch (fs.epoll.max_user_watches, or
 * no memory of the kernel's). A program's own functions come before the C
 * library's, for the libraries that it is linked with, too: one file of a test
 * includes this.
 */
#ifndef TESTS_UNWATCHED_H
#define TESTS_UNWATCHED_H

#include <errno.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

/** After @watched more that succeed, so many requests to watch something fail.
 */
static unsigned watched, unwatched;

int epoll_ctl(int epoll, int how, int fd, struct epoll_event *event)
{
	if (how != EPOLL_CTL_DEL && unwatched && !watched--) {
		watched = 0;
		unwatched--;
		errno = ENOSPC;
		return -1;
	}
	return (int)syscall(SYS_epoll_ctl, epoll, how, fd, event);
}

#endif
