/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings of SCTP for the silence that a peer is allowed.
 */
#include "transport/silence.h"

#include "transport/transport.h"

enum {
	HEARTBEATS = 8, /* of a living peer within the limit, or more */
	HEARTBEAT_MAX_MS = 1000,
	/* Time-outs of data and of heartbeats both count as retransmissions;
	 * the shortest are 200 ms, but each doubles the next up to 2 s. */
	RETRANSMISSIONS_A_SECOND = 4,
	RETRANSMISSIONS_FIRST = 10,
};

struct silence silence_for(cr_ns limit)
{
	struct silence s = { .limit = limit ? limit : TRANSPORT_PEER_TIMEOUT };
	cr_ns beat;

	s.limit = cr_ns_min(cr_ns_max(s.limit, TRANSPORT_PEER_TIMEOUT_MIN),
			    TRANSPORT_PEER_TIMEOUT_MAX);
	beat = s.limit / HEARTBEATS / CR_MS;
	s.heartbeat_ms = (unsigned)cr_ns_min(beat, HEARTBEAT_MAX_MS);
	s.retransmissions =
		(uint16_t)(RETRANSMISSIONS_FIRST +
			   RETRANSMISSIONS_A_SECOND * s.limit / CR_SEC);
	return s;
}
