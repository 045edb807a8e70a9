/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receive stage of a stream: what becomes of its party's packets before
 * they are frames of its frame buffer. Packets wait in a jitter buffer
 * (rtp/jitter.h), or do not; what is missing there becomes frames that are
 * lost, and the party's silence becomes frames of silence (rtp/silence.h);
 * digits get their ticks. Only streams that ask for some of it have one, at a
 * port of their own.
 *
 *   packet --> [jitter buffer] --> speech, noise ---+
 *                 |      |                          +--> silence's timestamps
 *                 |      +-------> lost ------------+           |
 *                 +--------------> event --------------------> frame
 *   time ------------------------> silence, tick --------------> frame
 *
 * What waits comes out when the next packet comes, or a ptime after its time at
 * the latest: so a buffer wakes nobody for each packet.
 *
 * Events wait among the speech, in the order of their numbers, at the time that
 * they tell: an event's packets have the timestamp of its beginning and say how
 * long it has lasted (RFC 4733, 2.2). So what was said before a digit is heard
 * before it. None is lost here: what the buffer has no room for comes out.
 *
 * A party may change between codecs, also of several clocks (rtp/clocks.h). All
 * of them wait; inside, time has one clock. Frames have timestamps of their own
 * codec's, those that were made of that of the speech before them.
 *
 * A lost frame brings the packet behind it, if that waits and its codec tells
 * of lost ones (in-band FEC).
 *
 * How long a packet is, its payload says. A party may send others than were
 * agreed on (RFC 3264, 6.1; RFC 7587, 4.2): the agreed time is that of the
 * frames of silence only.
 *
 * Time is an argument; frames go to a function. One thread at a time: the
 * receiver of the stream's endpoint.
 */
#ifndef MEDIA_RECEIVE_STAGE_H
#define MEDIA_RECEIVE_STAGE_H

#include "cr/error.h"
#include "media/pipeline.h"
#include "media/frame_ring.h"
#include "rtp/jitter.h"
#include "rtp/rtp.h"
#include "rtp/telephone_event.h"

/** Which silence is filled. */
enum receive_stage_fill {
	RECEIVE_STAGE_FILL_NEVER,
	RECEIVE_STAGE_FILL_SIGNALLED, /**< that the party signals: SID,
					   comfort noise */
	RECEIVE_STAGE_FILL_ALWAYS     /**< any */
};

/** The settings of a receive stage. Zero: none is needed. */
struct receive_stage_terms {
	enum jitter_kind jitter;
	cr_ns least, most; /**< of the buffer's delay                        */
	enum receive_stage_fill fill;
	struct telephone_event_types events;
	uint8_t pt_noise; /**< payload type of comfort noise; 0: none */
};

static inline bool receive_stage_needed(const struct receive_stage_terms *t)
{
	return t->jitter != JITTER_OFF || t->fill != RECEIVE_STAGE_FILL_NEVER ||
	       t->events.n || t->pt_noise;
}

/** A frame for the frame buffer. */
struct receive_stage_frame {
	/** As far as its receive stage knows of it: `arrival` is when the frame
	 * is, by arrival or play-out. */
	struct cr_frame_meta meta;
	const uint8_t *payload; /**< of a packet; LOST: the one behind it */
	uint16_t lost; /**< packets in front of it that had not come in time */
	bool restart;  /**< of another sender than the one before */
};

struct receive_stage_cfg {
	struct receive_stage_terms terms;
	uint32_t clock;	     /**< of its time, Hz: its first codec's        */
	uint32_t step;	     /**< of silence: a frame's time, units of that */
	unsigned slot_bytes; /**< largest payload                           */
	void (*emit)(void *arg, const struct receive_stage_frame *frame);
	/** A packet that was taken will not come out. */
	void (*gone)(void *arg);
	void *arg;
};

struct receive_stage;

/** 0 and *@f, or -EINVAL or -ENOMEM with @e. */
int receive_stage_open(struct receive_stage **f,
		       const struct receive_stage_cfg *cfg, struct cr_err *e);
void receive_stage_close(struct receive_stage *f); /**< NULL is fine */

/** Does it buffer? Then it recognises old and lost packets itself. */
bool receive_stage_buffers(const struct receive_stage *f);

/** Codecs of a party, by number. */
#define RECEIVE_STAGE_CODECS 16u

/** A codec that a party may send. */
struct receive_stage_codec {
	const struct codec_use *side; /**< outlives the receive stage */
	uint32_t clock, rate;	      /**< of its timestamps and its PCM, Hz */
};

/** A packet that has come. */
struct receive_stage_arrival {
	enum frame_ring_what what;
	const struct rtp_packet *rtp;
	bool restart; /**< of another sender than the one before */
	/* speech: of which codec; events: their clock */
	uint8_t number;
	struct receive_stage_codec codec;
	cr_ns at;
};

/**
 * A packet has come. Frames that are due come out at once. Returns 0 or more,
 * or why the jitter buffer has refused it. Without one the caller has refused
 * old packets.
 */
enum jitter_put receive_stage_packet(struct receive_stage *f,
				     const struct receive_stage_arrival *in);

/** It is @now: frames that are due come out. Early or late calls do no harm. */
void receive_stage_poll(struct receive_stage *f, cr_ns now);

/** When to call receive_stage_poll(), unless packets come before; CR_NEVER: it
 * depends on packets. */
cr_ns receive_stage_due(const struct receive_stage *f);

/** Frames of silence are @period apart from now on, as was agreed of packets.
 */
void receive_stage_set_period(struct receive_stage *f, cr_ns period);

/** Fill @fill from the next packet on; what was filled before is behind that.
 */
void receive_stage_set_fill(struct receive_stage *f,
			    enum receive_stage_fill fill);

/** Packets that wait in its jitter buffer. */
unsigned receive_stage_waiting(const struct receive_stage *f);

#endif
