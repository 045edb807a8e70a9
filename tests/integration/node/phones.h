/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fixture's node with a call of two streams of two phones that speak RTCP,
 * too: each has a port and the one above it.
 */
#ifndef TESTS_NODE_PHONES_H
#define TESTS_NODE_PHONES_H

#include "node_fixture.h"
#include "node/interfaces.h"

enum { OCTETS = 160, PARTY_SSRC = 0xabcd };

struct phone {
	struct port_pairs *ports;
	struct port_pair at;
	struct sockaddr_storage endpoint; /**< RTP */
	struct rtp_packet next;
};

/** Party A is the first one. */
struct phones {
	struct node_fixture rig;
	struct node_call *c;
	struct phone phone[2];
	unsigned long long sent; /**< datagrams to the node */
};

void phone_open(struct phone *p, uint8_t pt);
void phone_close(struct phone *p);

/** @rtcp: what is asked for of party A, who speaks PCMU, or NULL: nothing.
 * @codec: of B. */
void phones_open(struct phones *t, const char *rtcp, const char *codec);
void phones_close(struct phones *t);

/** @data from @fd to an endpoint's port for RTP, or the one above. */
void phones_send(struct phones *t, int fd, const void *data, size_t n,
		 struct sockaddr_storage to, bool rtcp_port);
/** Party @i says the next @n frames, without every fourth. */
void phones_say(struct phones *t, unsigned i, unsigned n);

/** What the node knows of party @i by RTCP. */
struct endpoint_rtcp_info phones_rtcp(const struct phones *t, unsigned i);
/** What party @i is sent has this SSRC. */
uint32_t phones_ssrc_to(const struct phones *t, unsigned i);

#endif
