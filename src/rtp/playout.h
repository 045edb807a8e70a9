/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long packets are to wait before they are played: from the transits of
 * the latest ones, as rtp/jitter.h says. A transit is an arrival less the time
 * that the sender's timestamp stands for, ns; only differences of transits
 * mean anything.
 *
 * Pure; one thread at a time.
 */
#ifndef RTP_PLAYOUT_H
#define RTP_PLAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "cr/time.h"

enum { PLAYOUT_WINDOW = 64 };

/** Speech or silence is being sent: how fast the delay may shrink. */
enum playout_speech {
	PLAYOUT_SPEAKS, /**< slowly                                         */
	PLAYOUT_SILENT, /**< by a quarter of the time that passes            */
	PLAYOUT_PAUSES	/**< at once: nothing waits, nothing is played       */
};

struct playout {
	bool adaptive; /**< else the delay is @most                         */
	cr_ns least, most;

	cr_ns offset; /**< from timestamps to play-out                      */
	cr_ns floor;  /**< the fastest transit of the window                */
	cr_ns margin; /**< adaptive: what is added to the mean              */
	cr_ns want;   /**< adaptive: 4 sigma; the margin shrinks to this    */
	cr_ns mean;   /**< adaptive: of the window                          */
	cr_ns last;   /**< arrival of the latest packet                     */

	unsigned n, at;	  /**< number that are known; place of the next */
	unsigned floor_n; /**< so many of them count for the floor */
	int64_t sum;	  /**< of the window, us                       */
	uint64_t squares; /**< modulo 2^64: its differences count only */
	int64_t floor_us; /**< as @floor                               */
	int64_t transit_us[PLAYOUT_WINDOW];
};

/** Zero @p and set its bounds, @most > 0. A fixed delay is @most. */
void playout_init(struct playout *p, bool adaptive, cr_ns least, cr_ns most);

/** A packet is @duration long: this says how many of them the floor is of. */
void playout_packets(struct playout *p, cr_ns duration);

/** Forget the transits, and begin with @transit. The margin stays. */
void playout_begin(struct playout *p, cr_ns transit, cr_ns arrival);

/** The next packet has come. */
void playout_add(struct playout *p, cr_ns transit, cr_ns arrival,
		 enum playout_speech speech);

/** A pause: the delay shrinks at once, but the offset not below @least. */
void playout_pause(struct playout *p, cr_ns least);

#endif
