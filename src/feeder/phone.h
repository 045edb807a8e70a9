/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A party of a two-way call: what it sends, what it is sent, and whether the
 * two balance with what the daemon counted between them.
 *
 * The main thread makes a phone. The pacer builds its packets and counts, the
 * receiving thread hears; accounts may be read, and are judged, when both have
 * stopped.
 */
#ifndef FEEDER_PHONE_H
#define FEEDER_PHONE_H

#include <stdbool.h>
#include <stdint.h>

#include "campaign/plan.h"
#include "base/random.h"
#include "feeder/ports.h"
#include "media/counters.h"
#include "rtp/rtp.h"

/*
 * What a party sends: numbers that change with its SSRC, ports that change with
 * its address, digits and noise among its speech. And an account of it: every
 * packet of the plan is sent, withheld by the network model, missed because the
 * set-up took too long, or refused by the socket.
 */

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

/** The keys of a telephone, by the codes of their events (RFC 4733, 3.2). */
#define PHONE_KEYS 16u
extern const char phone_keys[PHONE_KEYS + 1];

/** A digit as it was sent. */
struct phone_digit {
	uint64_t packets;  /**< 0: none left                               */
	uint32_t duration; /**< the longest reported duration, RTP ticks */
	bool ended;	   /**< its end was received */
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
	unsigned signalled; /**< addresses signalled to the daemon */
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
struct rtp_packet phone_header(const struct phone *p,
			       const struct plan_packet *k);

/** Payload of a digit's or a noise's packet @k into @buf[PHONE_BYTES]; returns
 * its bytes. */
#define PHONE_BYTES 16u
size_t phone_payload(const struct phone *p, const struct plan_packet *k,
		     uint8_t *buf);

/** @k is sent. */
void phone_count(struct phone *p, const struct plan_packet *k);

/*
 * What a party is sent, packet by packet: do sequence numbers and timestamps go
 * on, is any speech there twice, which digits came, and was there speech in
 * them.
 */

/** Digits that are kept of one party: all that it can be sent, and as many
 * again. */
#define HEARD_DIGITS 128u

/** Packets; name, help. */
#define HEARD_COUNTS(X)                                                        \
	X(packets, "packets that came")                                        \
	X(speech, "of these: speech")                                          \
	X(events, "of these: digits (RFC 4733)")                               \
	X(noise, "of these: comfort noise (RFC 3389)")                         \
	X(wrong_ssrc, "of these: with an SSRC that the daemon did not tell")   \
	X(foreign, "of these: of no payload type that was agreed")             \
	X(malformed, "of these: digits or noise that cannot be read")          \
	X(repeated, "packets with a number that had come before")              \
	X(overtaken, "packets behind a newer one")                             \
	X(restarts, "packets with a number far from the others")               \
	X(backward,                                                            \
	  "packets of speech or noise whose timestamp does not rise")          \
	X(jumps, "packets of speech further behind the last one than its "     \
		 "length, with the next number")                               \
	X(in_digit, "packets of speech in the middle of a digit")              \
	X(more_digits, "digits beyond those that are kept")

struct heard_counts {
#define HEARD_MEMBER(name, help) uint64_t name;
	HEARD_COUNTS(HEARD_MEMBER)
#undef HEARD_MEMBER
};

/** Negotiated formats; a payload type of -1: none. */
struct heard_cfg {
	uint32_t ssrc; /**< 0: it is relayed, so the other party's          */
	int pt, pt_event, pt_noise;
	uint32_t rtp_ticks; /**< of one packet of speech */
	int64_t deaf; /**< ppm of packets dropped unseen: a planted fault */
	uint64_t seed;
};

/** A digit as it came. */
struct heard_digit {
	uint32_t ts;
	uint8_t code;
	uint32_t duration; /**< the longest, RTP ticks                     */
	uint64_t packets, ends;
};

/** The label of the key, or '?'. */
static inline char heard_digit_key(const struct heard_digit *d)
{
	return d->code < PHONE_KEYS ? phone_keys[d->code] : '?';
}

/** Zero, with cfg. */
struct heard {
	struct heard_cfg cfg;
	struct heard_counts count;
	struct heard_digit digits[HEARD_DIGITS];
	unsigned ndigits;
	struct rtp_source source;
	/* private */
	struct random random;
	uint32_t ssrc; /* of the packet before      */
	bool speaking; /* speech or noise has come */
	uint32_t ts;   /* of the last of these     */
	uint32_t ts_first, seq;
};

void heard_init(struct heard *h, const struct heard_cfg *cfg);

/** Packet @p has come. True: it is new speech, and *@index its number, counted
 * by timestamps from the first one's. */
bool heard_packet(struct heard *h, const struct rtp_packet *p, uint64_t *index);

/*
 * The balance of one direction of a two-way call: what one party sent, what
 * the daemon counted of it, and what the other party was sent. Every packet
 * must be in each of the three, and once:
 *
 *   sent        = taken in + refused, by each of the daemon's reasons
 *   taken in + made = transcoded + dropped, by each of its reasons
 *   transcoded <= sent on <= transcoded + made for what was missing
 *   sent on     = came to the other party
 *
 * What comes goes on without a break: no number and no speech twice, and no
 * number left out for which nothing was missing. Digits come in the order in
 * which they were dialled, none twice, each as long as it was, and without
 * speech in it.
 *
 * What is relayed is not transcoded: it comes as it was sent, so only the sums
 * are judged.
 *
 * Pure.
 */

/** Sentences that a direction can earn. */
#define BALANCE_FAULTS_MAX 16u
#define BALANCE_TEXT 256u

/** One direction. */
struct balance_side {
	const struct phone *phone; /**< who sends                       */
	const struct heard *heard; /**< what the other one is sent      */
	/** The daemon's counters of the stream, by enum stream_counter. */
	const uint64_t *daemon;
	bool reported;	    /**< the daemon reported these */
	uint64_t drops;	    /**< of the other one's sockets             */
	unsigned clock_out; /**< of the timestamps of what comes, Hz    */
	/** One packet out for each of speech in: equally long, and no codec
	 * leaves any out. */
	bool one_to_one;
	/** The daemon passes packets on as they are: numbers, timestamps and
	 * what is wrong with them are the sender's. */
	bool relay;
};

/** Result of a balance. Zero: no fault. */
struct balance {
	unsigned count; /**< of faults */
	char faults[BALANCE_FAULTS_MAX][BALANCE_TEXT];
	unsigned digits_sent;  /**< dialled, and something of it was sent */
	unsigned digits_right; /**< of these: came as they were           */
};

/** Judge @s into @out. */
void balance_judge(const struct balance_side *s, struct balance *out);

#endif
