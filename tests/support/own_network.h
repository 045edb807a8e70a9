/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network of the test's own, with loopback only: no other program sends to
 * its ports, and the kernel counts for it alone.
 */
#ifndef SUPPORT_OWN_NETWORK_H
#define SUPPORT_OWN_NETWORK_H

#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef _GNU_SOURCE
#error "own_network.h needs _GNU_SOURCE, for unshare()"
#endif

/** From now on the process is in it, in which nothing is up. Before it has a
 * second thread. False: the machine does not let it. */
static inline bool own_network_enter(void)
{
	return !unshare(CLONE_NEWNET);
}

/** Let the loopback of the process's network work. */
static inline bool own_network_up(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	bool up;
	int fd;

	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	up = fd >= 0 && !ioctl(fd, SIOCSIFFLAGS, &lo);
	if (fd >= 0)
		(void)close(fd);
	return up;
}

/** Both, as an ordinary user, too. */
static inline bool own_network(void)
{
	if (!own_network_enter() && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return false;
	/* sanitizers look at the process from outside */
	(void)prctl(PR_SET_DUMPABLE, 1UL, 0UL, 0UL, 0UL);
	return own_network_up();
}

/** Datagrams that came to a port that nobody had (any more). */
static inline unsigned long long own_network_no_port(void)
{
	FILE *f = fopen("/proc/self/net/snmp", "re");
	unsigned long long n = 0;
	char line[1024];

	/* the line of names comes first, and does not scan */
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Udp: %*u %llu", &n) == 1)
			break;
	if (f)
		(void)fclose(f);
	return n;
}

#endif
