/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a party of a conversation is sent, packet by packet: do sequence numbers
 * and timestamps go on, is any speech there twice, which digits came, and was
 * there speech in them.
 *
 * The receiving thread hears. The account may be read when that has stopped.
 */
#ifndef FEEDER_HEARD_H
#define FEEDER_HEARD_H

#include <stdbool.h>
#include <stdint.h>

#include "campaign/random.h"
#include "rtp/rtp.h"

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

/** What is agreed; a payload type of -1: none. */
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

/** What a telephone has on that key, or '?'. */
static inline char heard_digit_key(const struct heard_digit *d)
{
	static const char keys[] = "0123456789*#ABCD";

	if (d->code >= sizeof(keys) - 1)
		return '?';
	return keys[d->code];
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

/** Numbers of packets that never came. */
uint64_t heard_gaps(const struct heard *h);

#endif
