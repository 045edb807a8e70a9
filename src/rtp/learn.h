/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The belief of an endpoint (our end towards one party) about its party: from
 * which address it sends, and with which SSRC. Phones choose their SSRC
 * themselves and sit behind NAT, so neither is known before a packet has come.
 * Ports are open to anybody, so not every packet may count.
 *
 * A packet's *source* is its address and its SSRC. The *current* source is the
 * one that is heard. Others are refused, or tried as newcomers.
 *
 * Ranks. How far signalling vouches for an address:
 *   signalled  the party's address, as signalling has it
 *   host       another port of that host, or of the host that signalling
 *              itself came from (restricted latching, RFC 7362, 4)
 *   other      any other address
 *
 * Modes.
 *   strict      only the signalled address is heard.
 *   immediate   the first valid packet decides.
 *   delayed     so, too. But for `window` after it an address of the same rank
 *               that was heard for longer replaces it, unless it leads. Longer
 *               means: in at least two more fifths of a second (LEARN_SLOT).
 *               Packets are not counted, or the fastest sender would win.
 *   asymmetric  is heard as delayed, but answers go to the signalled address.
 *
 * Proof. Three valid packets whose sequence numbers follow each other prove a
 * newcomer (RFC 3550, A.1 asks for two). The third is accepted. The two before
 * it are lost and counted as waiting.
 *
 * How long the current source has its place. It *speaks* until it has sent
 * nothing for `silence`. It is *absent* when it has sent nothing for `absence`.
 * It has to prove itself, too, by three packets that do not go back and leave
 * out fewer than 64 numbers each. If it does not do so within `silence` of its
 * first packet, it is absent from then on until it does. So a stray first
 * packet keeps nobody out for longer than that.
 *
 * It *leads* when it has proved itself and is at the signalled address, or was
 * heard in LEARN_LEAD slots. From then on its address or its SSRC is what a
 * newcomer must have, however long it says nothing. A party replaced while it
 * led is the *former* source: its address may return.
 *
 * Needs of a newcomer (valid packets; strict: from the signalled address
 * only):
 *
 *   newcomer                     current speaks    silent       absent
 *   same address, other SSRC     proof             one packet*  one packet*
 *   address of a higher rank     proof             one packet   one packet
 *   the former source's address  proof             proof        proof
 *   goes on with the current     refused           one packet   one packet
 *     one's SSRC and sequence
 *   the current one's SSRC       refused           refused      proof
 *   any other, and the current
 *     one leads                  refused           refused      refused***
 *     one does not               refused**         refused      proof and heard
 *                                                               for longer
 *
 *   *   proof, if the current source has not proved itself: or a sprayer of
 *       random SSRCs that came first would keep the endpoint for ever.
 *       "Goes on" needs a current source that has proved itself, too, and a
 *       number that is at most 3000 ahead.
 *   **  delayed, within the window, same rank: proof and heard for longer.
 *   *** proof, within `window` of an offer that repeats the party's address:
 *       behind NAT a phone that was on hold has another address afterwards, and
 *       its own description says the same as before.
 *
 * If there is no current source, one packet is enough for all of them. Heard
 * for longer than an absent one: in more slots than that ever was; proof alone,
 * if that has not proved itself.
 * Two SSRCs of one address at once: the newer wins. The older one can return
 * while the newer speaks, but only with three packets without one of the newer
 * in between. Until then it is refused as foreign.
 *
 * So whoever cannot send from the party's own address, and is not vouched for
 * more, does not take a call over while its party speaks: not by any number of
 * packets, not by a copied SSRC. Nor does he while it is silent, once it leads,
 * if he does not know its SSRC.
 * A foreigner can have the party's place if he came before it led, copies the
 * SSRC and the numbers of one that is silent, or came while it was on notice
 * (below) or absent just after an offer. The party gets it back
 *   - with proof, if its address has the higher rank, or if it led before,
 * while the foreigner speaks,
 *   - with proof after the foreigner was absent and was heard for longer, if he
 *     does not lead,
 *   - with proof after it was heard for longer, if the mode is delayed, within
 *     the window, if he does not lead,
 *   - by a new offer.
 * RTP does not show which of two addresses of the same rank is the party's when
 * both keep sending, nor whether the first one had a right to be it.
 *
 * Notice. A new offer with another address says that the party moves. If
 * the current source is not at that address, it is on notice: it is heard until
 * another one comes, as if it was absent, and answers go to the signalled
 * address. If nobody has come within `window`, it has its place again. The
 * first address that is signalled (that of an answer) takes from a source of
 * another host that it leads: others may have been there before the party.
 *
 * Names and numbers are close to those of other servers: rtpengine's option
 * endpoint-learning is delayed, immediate, heuristic or off, and Asterisk's
 * strictrtp wants 4 packets in sequence.
 *
 * Pure: time is an argument, nothing is allocated. An endpoint's state belongs
 * to one thread, but any thread may read the counters.
 */
#ifndef RTP_LEARN_H
#define RTP_LEARN_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/address.h"
#include "base/counter.h"
#include "cr/time.h"
#include "rtp/send_to.h"

enum learn_mode {
	LEARN_STRICT,
	LEARN_IMMEDIATE,
	LEARN_DELAYED,
	LEARN_ASYMMETRIC,
	LEARN_MODES
};

/** Packets in sequence that prove a source. */
#define LEARN_PROOF 3u
/** The unit of "heard for longer". A party that sends a packet in every
 * 200 ms is heard in each. */
#define LEARN_SLOT (200 * CR_MS)
/** Slots in which a source must have been heard to lead. */
#define LEARN_LEAD 5u
/** Newcomers of different addresses that are tried at the same time. Higher
 * ranks displace lower ones. */
#define LEARN_RIVALS 4u

/** More than twice the longest gap of a sender that saves packets in silence
 * but goes on sending: 400 ms with Opus (RFC 7587, 3.1.3), 160 ms with AMR. */
#define LEARN_SILENCE CR_SEC
/** A phone may send nothing at all in a pause of speech. Pauses have a mean of
 * 1.6 s (ITU-T P.59). If they end at random, 4 % are longer than this. */
#define LEARN_ABSENCE (5 * CR_SEC)
#define LEARN_WINDOW (3 * CR_SEC)

/** The terms of signalling. Zero-initialise, then set what is known. */
struct learn_terms {
	enum learn_mode mode;
	/** The address that the party signalled; family 0: not known (strict
	 * then refuses every packet). A hold by 0.0.0.0 or port 0 is not known,
	 * too. */
	struct sockaddr_storage signalled;
	/** The host that signalling itself came from, its port does not matter;
	 * family 0: not known. */
	struct sockaddr_storage host;
	/** Addresses that may be sent to, from loopback if @local: no other is
	 * heard as a party. NULL: all may be. */
	const struct send_to *may;
	bool local;
	bool ssrc_signalled; /**< only packets with @ssrc are taken */
	uint32_t ssrc;
	/** See above; 0: the defaults. */
	cr_ns silence, absence, window;
};

/** The facts of a packet that the endpoint needs. */
struct learn_arrival {
	const struct sockaddr_storage *from;
	uint32_t ssrc;
	uint16_t seq;
	/** It is RTP of a payload type that the endpoint has. Others are
	 * accepted from the current source, and prove nothing. */
	bool valid;
};

/** The verdict on a packet. Accepted: 0, or a sum of the next two. */
enum learn_result {
	LEARN_ACCEPTED = 0,
	/** With another SSRC than the packet before: new decoder state, new
	 * timestamp base, marker on the next packet out. */
	LEARN_NEW_SSRC = 1,
	/** Answers go to learn_to() from now on, which has changed. */
	LEARN_NEW_ADDRESS = 2,

	LEARN_FOREIGN_ADDRESS = 4, /**< refused: not the party's address */
	LEARN_FOREIGN_SSRC = 5,	   /**< refused: not the party's SSRC */
	LEARN_WAITING = 6 /**< refused: its source has not proved itself */
};

static inline bool learn_accepts(unsigned result)
{
	return result < LEARN_FOREIGN_ADDRESS;
}

/** Every packet is in one of the first four. Name, head of column, help: as in
 * the other lists of counters. */
#define LEARN_COUNTERS(X)                                                      \
	X(accepted, NULL, "packets of the party")                              \
	LEARN_RARE_COUNTERS(X)
#define LEARN_RARE_COUNTERS(X)                                                 \
	X(foreign_address, NULL,                                               \
	  "packets from an address that is not the party's")                   \
	X(foreign_ssrc, NULL,                                                  \
	  "packets with an SSRC that signalling did not name, or that the "    \
	  "party has replaced")                                                \
	X(waiting, NULL,                                                       \
	  "packets lost because their sender had not proved itself yet, by "   \
	  "three in sequence")                                                 \
	X(ssrc_changes, NULL, "times the party's SSRC changed")                \
	X(address_changes, NULL, "times the party's address changed")

/** Their places in an array of all. */
enum learn_counter {
#define LEARN_PLACE(name, label, help) LEARN_COUNTER_##name,
	LEARN_COUNTERS(LEARN_PLACE)
#undef LEARN_PLACE
		LEARN_NCOUNTERS
};

/** A newcomer that is tried. */
struct learn_rival {
	struct sockaddr_storage from;
	cr_ns heard;
	unsigned long long mark; /**< accepted packets when it was heard */
	uint32_t ssrc;
	uint32_t votes, slot; /**< slots it was heard in; the last of them */
	uint16_t seq;
	uint8_t run;  /**< in sequence; 0: this place is free */
	uint8_t rank; /**< that of its address; higher: of the current one */
};

/** The counters may be read by any thread, @known and @ssrc by the endpoint's;
 * the rest is private. Align it to a cache line. */
struct learn {
	/* for every packet: the first 52 octets */
	bool settled; /**< the current source needs no more thought */
	bool known;   /**< there is a current source */
	uint16_t seq;
	uint32_t ssrc; /**< of the current source */
	cr_ns heard;
	atomic_ullong accepted;
	struct sockaddr_storage at;

#define LEARN_MEMBER(name, label, help) atomic_ullong name;
	LEARN_RARE_COUNTERS(LEARN_MEMBER)
#undef LEARN_MEMBER

	/* of the current source */
	cr_ns since;	     /**< its first packet */
	uint8_t run;	     /**< packets towards its proof */
	uint8_t rank;	     /**< of its address */
	bool proven;	     /**< it has proved itself */
	bool leads;	     /**< no stranger takes its place */
	bool on_notice;	     /**< since @opened */
	bool repeated;	     /**< its address was signalled again at @opened */
	bool contested;	     /**< the window that began at @opened is open */
	bool replaced_known; /**< there is @replaced */
	uint32_t replaced;   /**< the SSRC that it had before */
	cr_ns opened;
	uint32_t votes, slot; /**< as a rival's, up to LEARN_LEAD */
	struct sockaddr_storage
		former; /**< the former leader may return; or family 0 */

	struct learn_rival rival[LEARN_RIVALS];
	struct learn_terms terms;
};

/** Begin with nothing learned. */
void learn_init(struct learn *l, const struct learn_terms *terms);

/**
 * Go on under a new offer's or answer's @terms. Addresses that these do not
 * name (family 0) are as before. Offers that repeat the address take nothing
 * from the current source; one with another address puts it on notice,
 * and a first one gives its rank. It is forgotten when it may not be heard
 * under @terms. Afterwards answers go to learn_to().
 */
void learn_again(struct learn *l, const struct learn_terms *terms, cr_ns now);

/** The address of answers: the current source, or the signalled one; family
 * 0: not known yet. Valid until the next call. */
const struct sockaddr_storage *learn_to(const struct learn *l);

/** Copy the counters. Any thread; each is exact, but they are not of the same
 * moment while packets come. */
void learn_counts(const struct learn *l,
		  unsigned long long out[LEARN_NCOUNTERS]);
/** Go on to count from @from, as it was read. */
void learn_set_counts(struct learn *l,
		      const unsigned long long from[LEARN_NCOUNTERS]);

/** learn_packet() of any source in any state. */
unsigned learn_any_packet(struct learn *l, const struct learn_arrival *p,
			  cr_ns now);

/** address_equal() with IPv4 in line; a sender's address, so with its scope. */
static inline bool learn_same_address(const struct sockaddr_storage *a,
				      const struct sockaddr_storage *b)
{
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;

	if (a->ss_family == AF_INET)
		return b->ss_family == AF_INET &&
		       a4->sin_port == b4->sin_port &&
		       a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return address_equal(a, b);
}

/**
 * Judge the packet @p that came at @now: an enum learn_result, or a sum of
 * them. An accepted packet is the party's. The endpoint's thread, for every
 * packet.
 */
static inline unsigned learn_packet(struct learn *l,
				    const struct learn_arrival *p, cr_ns now)
{
	if (!l->settled || p->ssrc != l->ssrc ||
	    !learn_same_address(p->from, &l->at))
		return learn_any_packet(l, p, now);
	counter_add(&l->accepted, 1);
	l->seq = p->seq;
	l->heard = now;
	return LEARN_ACCEPTED;
}

#endif
