/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors that there are none of, and sockets that do not do what they
 * are told. Those of files are files.c's.
 */
#define _GNU_SOURCE
#include "seam_impl.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

int socket(int domain, int type, int protocol)
{
	NEXT(socket);
	FAIL(SEAM_DESCRIPTOR, EMFILE, -1)
	return next(domain, type, protocol);
}

int socketpair(int domain, int type, int protocol, int fd[2])
{
	NEXT(socketpair);
	FAIL(SEAM_DESCRIPTOR, EMFILE, -1)
	return next(domain, type, protocol, fd);
}

int accept(int fd, struct sockaddr *from, socklen_t *bytes)
{
	NEXT(accept);
	FAIL(SEAM_DESCRIPTOR, EMFILE, -1)
	return next(fd, from, bytes);
}

int accept4(int fd, struct sockaddr *from, socklen_t *bytes, int flags)
{
	NEXT(accept4);
	FAIL(SEAM_DESCRIPTOR, EMFILE, -1)
	return next(fd, from, bytes, flags);
}

int epoll_create1(int flags)
{
	NEXT(epoll_create1);
	FAIL(SEAM_DESCRIPTOR, EMFILE, -1)
	return next(flags);
}

int eventfd(unsigned value, int flags)
{
	NEXT(eventfd);
	FAIL(SEAM_DESCRIPTOR, EMFILE, -1)
	return next(value, flags);
}

int timerfd_create(int clock, int flags)
{
	NEXT(timerfd_create);
	FAIL(SEAM_DESCRIPTOR, EMFILE, -1)
	return next(clock, flags);
}

int pipe2(int fd[2], int flags)
{
	NEXT(pipe2);
	FAIL(SEAM_DESCRIPTOR, EMFILE, -1)
	return next(fd, flags);
}

ssize_t sendto(int fd, const void *data, size_t bytes, int flags,
	       const struct sockaddr *to, socklen_t size)
{
	NEXT(sendto);
	FAIL(SEAM_SEND, ENOBUFS, -1)
	return next(fd, data, bytes, flags, to, size);
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	NEXT(sendmsg);
	FAIL(SEAM_SEND, ENOBUFS, -1)
	return next(fd, m, flags);
}

int sendmmsg(int fd, struct mmsghdr *m, unsigned n, int flags)
{
	NEXT(sendmmsg);
	FAIL(SEAM_SEND, ENOBUFS, -1)
	return next(fd, m, n, flags);
}

int recvmmsg(int fd, struct mmsghdr *m, unsigned n, int flags,
	     struct timespec *timeout)
{
	NEXT(recvmmsg);
	FAIL(SEAM_RECEIVE, ENOMEM, -1)
	return next(fd, m, n, flags, timeout);
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	NEXT(recvmsg);
	FAIL(SEAM_RECEIVE, ENOMEM, -1)
	return next(fd, m, flags);
}

ssize_t send(int fd, const void *data, size_t bytes, int flags)
{
	NEXT(send);
	FAIL(SEAM_SEND, ENOBUFS, -1)
	return next(fd, data, bytes, flags);
}

/* Of libevent's connections. */
ssize_t writev(int fd, const struct iovec *part, int n)
{
	NEXT(writev);
	FAIL(SEAM_SEND, ENOBUFS, -1)
	return next(fd, part, n);
}

ssize_t readv(int fd, const struct iovec *part, int n)
{
	NEXT(readv);
	FAIL(SEAM_RECEIVE, ENOMEM, -1)
	return next(fd, part, n);
}

ssize_t recv(int fd, void *data, size_t bytes, int flags)
{
	NEXT(recv);
	FAIL(SEAM_RECEIVE, ENOMEM, -1)
	return next(fd, data, bytes, flags);
}

ssize_t recvfrom(int fd, void *data, size_t bytes, int flags,
		 struct sockaddr *from, socklen_t *size)
{
	NEXT(recvfrom);
	FAIL(SEAM_RECEIVE, ENOMEM, -1)
	return next(fd, data, bytes, flags, from, size);
}

int bind(int fd, const struct sockaddr *at, socklen_t bytes)
{
	NEXT(bind);
	FAIL(SEAM_SET, EADDRINUSE, -1)
	return next(fd, at, bytes);
}

int connect(int fd, const struct sockaddr *to, socklen_t bytes)
{
	NEXT(connect);
	FAIL(SEAM_SET, ENETUNREACH, -1)
	return next(fd, to, bytes);
}

int listen(int fd, int most)
{
	NEXT(listen);
	FAIL(SEAM_SET, EADDRINUSE, -1)
	return next(fd, most);
}

int getsockname(int fd, struct sockaddr *name, socklen_t *bytes)
{
	NEXT(getsockname);
	FAIL(SEAM_SET, ENOBUFS, -1)
	return next(fd, name, bytes);
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t bytes)
{
	NEXT(setsockopt);
	FAIL(SEAM_SET, ENOBUFS, -1)
	return next(fd, level, name, value, bytes);
}

/* What is watched can always be left alone. */
int epoll_ctl(int epoll, int how, int fd, struct epoll_event *event)
{
	NEXT(epoll_ctl);
	if (how != EPOLL_CTL_DEL)
		FAIL(SEAM_SET, ENOMEM, -1)
	return next(epoll, how, fd, event);
}
