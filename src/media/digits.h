/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The digits of a stream: telephone events on their way from one party to the
 * other (rtp/telephone_event.h), and the speech that is not to be heard
 * meanwhile: senders put the tones into that, too.
 *
 * Pure; the worker that runs the call's job.
 */
#ifndef MEDIA_DIGITS_H
#define MEDIA_DIGITS_H

#include "rtp/telephone_event.h"

struct digits {
	struct telephone_event_relay relay;
	unsigned speech; /**< clock of the output's speech, Hz: timestamps */
	bool over;	 /**< an event has come: speech before @end is muted */
	uint32_t end;	 /**< timestamp of the output                       */
};

/** Clocks, Hz. */
struct digits_clocks {
	unsigned in, out; /**< of events that come and go           */
	unsigned speech;  /**< of what they are sent among          */
};

/** 0 or -EINVAL. */
int digits_init(struct digits *d, const struct digits_clocks *clocks);

/** Events that begin from now on have these, which digits_init() would take. */
void digits_set_clocks(struct digits *d, const struct digits_clocks *clocks);

/** A packet of events has come. @out: what to send, in this order. */
void digits_packet(struct digits *d, cr_ns now,
		   const struct telephone_event_arrival *in,
		   struct telephone_event_burst *out);

/** From now on packets are another sender's: end the present event. */
void digits_restart(struct digits *d, struct telephone_event_burst *out);

/** It is @now. */
void digits_tick(struct digits *d, cr_ns now,
		 struct telephone_event_burst *out);

/** Is there more to send of an event, with time or its packets? */
bool digits_go_on(const struct digits *d);

/** Is speech of the output's timestamp @ts not to be heard? Speech is muted for
 * some 16 s (at 8 kHz) at most, however far the events' timestamps leap. */
bool digits_mute(struct digits *d, uint32_t ts);

#endif
