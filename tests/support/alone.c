/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_alone PROGRAM ARGUMENT...: runs a test in a network of its own, where
 * that may be made (as root), so that tests which run at the same time neither
 * send to each other's ports nor want the same ones. Elsewhere in everybody's.
 */
#define _GNU_SOURCE
#include "own_network.h"

#include <errno.h>
#include <string.h>

int main(int argc, char **argv)
{
	if (argc < 2) {
		(void)fprintf(stderr, "usage: %s PROGRAM ARGUMENT...\n",
			      argv[0]);
		return 2;
	}
	if (own_network_enter() && !own_network_up()) {
		(void)fprintf(stderr, "%s: the loopback stays down: %s\n",
			      argv[0], strerror(errno));
		return 2;
	}
	(void)execvp(argv[1], argv + 1);
	(void)fprintf(stderr, "%s: %s: %s\n", argv[0], argv[1],
		      strerror(errno));
	return 2;
}
