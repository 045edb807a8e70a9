/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a party of a conversation sends: numbers that change with its SSRC,
 * ports that change with its address, digits and noise among its speech. And
 * an account of it: every packet of the plan is sent, withheld by the network
 * model, missed because the set-up took too long, or refused by the socket.
 *
 * The main thread makes it. The pacer builds packets and counts; the account
 * may be read when that has stopped.
 */
#ifndef FEEDER_PHONE_H
#define FEEDER_PHONE_H

#include <stdint.h>

#include "campaign/plan.h"
#include "feeder/ports.h"
#include "rtp/rtp.h"

/** Packets; name, help. Those sent are copies, too. */
#define PHONE_COUNTS(X)                                                        \
	X(sent_speech, "packets of speech that were sent")                     \
	X(sent_events, "packets of digits that were sent (RFC 4733)")          \
	X(sent_noise, "packets of comfort noise that were sent (RFC 3389)")    \
	X(copies, "of those sent: duplicates by the network model")            \
	X(held, "of those sent: overtaken by others, by the network model")    \
	X(withheld, "packets that the network model lost")                     \
	X(missed, "packets not sent because the set-up took too long")         \
	X(failed, "of those sent: refused by the feeder's own socket")

struct phone_counts {
#define PHONE_MEMBER(name, help) uint64_t name;
	PHONE_COUNTS(PHONE_MEMBER)
#undef PHONE_MEMBER
};

/** A digit as it was sent. */
struct phone_digit {
	uint64_t packets;  /**< 0: none left                               */
	uint32_t duration; /**< the longest that was told, units of clock  */
	bool ended;	   /**< an end was told                            */
};

struct phone {
	/* constant */
	const struct campaign_flow *flow;
	uint64_t seed;
	unsigned clock;	    /**< of its timestamps, Hz                     */
	uint32_t rtp_ticks; /**< of one packet of speech                   */
	uint8_t pt;	    /**< of speech                                 */
	struct port *ports; /**< [nports], owned: one for each address     */
	unsigned nports;

	/* pacer */
	struct phone_counts count;
	struct phone_digit digits[CAMPAIGN_DIGITS_MAX];

	/* main */
	unsigned signalled; /**< addresses that the daemon was told        */
	uint64_t drops;	    /**< packets for which its ports had no room   */
};

/** Of the party that says @call; no port is open. NULL: out of memory. */
struct phone *phone_new(const struct campaign_flow *flow,
			const struct plan_call *call);
/** Its ports are closed. NULL is fine. */
void phone_free(struct phone *p);

/** When, in the plan's time, @call goes on from port @n (from 1) if it is not
 * dialling; CR_NEVER: it does not. */
cr_ns phone_moves(const struct campaign_flow *flow,
		  const struct plan_call *call, unsigned n);

/** The header of @k. */
struct rtp_header phone_header(const struct phone *p,
			       const struct plan_packet *k);

/** Payload of a digit's or a noise's packet @k into @buf[PHONE_BYTES]; returns
 * its bytes. */
#define PHONE_BYTES 16u
size_t phone_payload(const struct phone *p, const struct plan_packet *k,
		     uint8_t *buf);

/** @k is sent. */
void phone_count(struct phone *p, const struct plan_packet *k);

/** All that it has put on the wire. */
uint64_t phone_sent(const struct phone *p);

#endif
