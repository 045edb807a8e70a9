/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request to start a conversation: plain structs that any protocol can
 * fill, as those of node/call_request.h.
 */
#ifndef NODE_CONVERSATION_REQUEST_H
#define NODE_CONVERSATION_REQUEST_H

#include "node/call_request.h"
#include "rtp/payload_types.h"

/** Codecs of a party beside the one that it is sent. */
enum { PARTY_ALSO_MAX = 7 };

/** Of IP. */
enum party_family { PARTY_ANY, PARTY_IPV4, PARTY_IPV6 };
/** Their names. */
#define PARTY_FAMILY_NAMES "any", "ipv4", "ipv6", NULL

/** A party, as signalling has it. */
struct party_request {
	/** What it sends and receives. */
	struct call_side_request side;
	/** What it may send, too. */
	struct call_side_request also[PARTY_ALSO_MAX];
	unsigned nalso;
	/** Of what it may send, where a relay is to pass on no more than both
	 * parties have agreed on; then both say it. Types that are codecs' here
	 * and not passed on go through a codec. */
	struct passed_types passed;
	/** Of packets that it is sent; 0: as call_out_request's. */
	cr_ns ptime;
	cr_ns in_ptime; /**< of packets that it sends; 0: the conversation's */
	struct sockaddr_storage address; /**< no family: not known yet   */
	/** Goes with address: where its RTCP is (RFC 3605); no family: one port
	 * above. */
	struct sockaddr_storage rtcp_address;
	int learn;	   /**< enum learn_mode; -1: delayed, if it is known */
	uint32_t ssrc;	   /**< of what it sends; 0: that is learned         */
	uint32_t out_ssrc; /**< of what it is sent; 0: a random one */
	int rtcp;	   /**< enum endpoint_rtcp_mode; -1: PORT */
	const char *interface; /**< of its endpoint; NULL: any that fits     */
	/** enum party_family: of its endpoint while its address is not known.
	 */
	int family;
	struct call_types_request types;
	struct call_reception_request reception; /**< of what it sends */
	/** It wants nothing to be sent to it: "sendonly", "inactive" (RFC
	 * 3264, 8.4). RTCP goes on. */
	bool hold;
	/** Id of its endpoint, which is open: nothing else is said then. 0: a
	 * new one. */
	uint32_t endpoint;
};

/** What changes of a party. */
struct party_change {
	struct call_side_request side; /**< codec NULL: as it is */
	/** Goes with side: what it may send, too. */
	struct call_side_request also[PARTY_ALSO_MAX];
	unsigned nalso;
	struct passed_types passed; /**< goes with side, too */
	/** 0: as it is; with another codec, as party_request's. */
	cr_ns ptime;
	cr_ns in_ptime;			 /**< 0: as it is */
	struct sockaddr_storage address; /**< no family: as it is */
	/** Goes with address, as party_request's. */
	struct sockaddr_storage rtcp_address;
	int learn; /**< -1: as it is        */
	/** As call_types_request's, 0: none any more; -1: as they are. */
	int events, noise;
	/** Go with events, as call_types_request's. */
	unsigned events_clock;
	struct telephone_event_types more;
	int hold; /**< -1: as it is; 0, 1: as party_request's */
};

/** Whether packets are passed on as they are where no codec is needed. */
enum relay_request { RELAY_AUTO, RELAY_NEVER };
/** Their names. */
#define RELAY_REQUEST_NAMES "auto", "never", NULL

struct conversation_request {
	struct party_request party[2];
	cr_ns ptime; /**< as call_request's */
	struct task_terms terms;
	int relay; /**< enum relay_request       */
	/** Whose it is, for queries and records; NULL: nobody said. */
	const char *label;
	bool keep; /**< belongs to no session */
};

#endif
