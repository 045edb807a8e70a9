/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the node says in RTCP, as its far side reads it.
 */
#ifndef TESTS_NODE_SAID_H
#define TESTS_NODE_SAID_H

#include <stdbool.h>
#include <sys/socket.h>

#include "rtp/rtcp.h"

struct said {
	struct rtcp_sender sender; /**< if it is an SR */
	struct rtcp_report report; /**< the first one  */
	uint32_t ssrc;
	unsigned reports, cnames, byes;
	bool is_sr;
	struct sockaddr_storage from;
};

/** The next RTCP packet at @fd, past RTP. */
struct said said_next(int fd);
/** The port that the next one comes from. */
unsigned said_port(int fd);
/** The next one that reports on what was said, and is of a sender. */
struct said said_full(int fd);

#endif
