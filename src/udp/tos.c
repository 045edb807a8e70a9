/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DSCPs by name, and the socket options that set them.
 */
#include "udp/tos.h"

#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>

#define ECN_BITS 3u

struct named {
	const char *name;
	unsigned dscp;
};

static const struct named singles[] = {
	{ "EF", 46 },
	{ "VA", 44 }, /* admitted voice */
	{ "LE", 1 },  /* lower effort */
};

static bool digit_within(char c, char first, char last)
{
	return c >= first && c <= last;
}

/* The DSCP of a name, or -1. CSx is x in the upper three bits (RFC 2474,
 * 4.2.2.2), AFxy is class x and drop precedence y (RFC 2597, 6). */
static int dscp_of(const char *name)
{
	for (size_t i = 0; i < sizeof(singles) / sizeof(*singles); i++)
		if (!strcasecmp(name, singles[i].name))
			return (int)singles[i].dscp;
	if (!strncasecmp(name, "CS", 2) && digit_within(name[2], '0', '7') &&
	    !name[3])
		return (name[2] - '0') * 8;
	if (!strncasecmp(name, "AF", 2) && digit_within(name[2], '1', '4') &&
	    digit_within(name[3], '1', '3') && !name[4])
		return (name[2] - '0') * 8 + (name[3] - '0') * 2;
	return -1;
}

int tos_parse(const char *text, unsigned *tos, struct cr_err *e)
{
	int dscp = dscp_of(text);
	unsigned long n;
	char *end;

	if (dscp >= 0) {
		*tos = (unsigned)dscp << 2;
		return 0;
	}
	/* not strtoul()'s octal */
	n = strtoul(text, &end,
		    tolower(text[0] ? text[1] : 0) == 'x' ? 16 : 10);
	if (!isdigit((unsigned char)*text) || *end || n > 255)
		return cr_fail(
			e, -EINVAL,
			"must be a number from 0 to 252, such as 184 or "
			"0xb8, or the name of a DSCP: EF, VA, LE, CS0 to "
			"CS7, AF11 to AF43");
	if (n & ECN_BITS)
		return cr_fail(e, -EINVAL,
			       "%lu sets the lower two bits, which belong to "
			       "ECN; if you mean the DSCP %lu, write %lu",
			       n, n, n << 2);
	*tos = (unsigned)n;
	return 0;
}

int tos_set(int fd, int family, unsigned tos)
{
	int value = (int)tos;
	int err = family == AF_INET6 ? setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS,
						  &value, sizeof(value))
				     : setsockopt(fd, IPPROTO_IP, IP_TOS,
						  &value, sizeof(value));

	return err ? -errno : 0;
}
