/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telephone events (RFC 4733): digits and other signals that are sent as
 * packets among the speech. Their payload in and out, and a relay that carries
 * them from one RTP stream to another.
 *
 * Pure: no clock, no allocation; time is an argument, which never goes back. A
 * relay belongs to one thread at a time.
 *
 * A relay promises about the stream that it writes:
 * - An event has one timestamp (that of its start), durations in the clock of
 *   the output that never fall, a marker on its first packet only, and three
 *   end packets: those of the sender are passed on as they come, what is
 *   missing is made here.
 * - Timestamps of events rise. So digits of equal value stay apart, and a
 *   packet that comes late, twice, or after the end begins no second event.
 * - An event longer than 0xffff units of the output's clock is cut into
 *   segments (RFC 4733, 2.5.1.3), however the sender did cut it.
 * - An event that is not heard of for a while is ended.
 */
#ifndef RTP_TELEPHONE_EVENT_H
#define RTP_TELEPHONE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cr/time.h"

/** Bytes of one event in a payload. */
#define TELEPHONE_EVENT_BYTES 4u
/** Events of a packet that are looked at (RFC 4733, 2.5.1.5); real senders
 * pack one. */
#define TELEPHONE_EVENT_PACKED_MAX 4u
/** Most packets that one packet can lead to is 54: each of four events in it
 * may end the one before (3) and be longer by 0xffff units than known (6
 * segments of the output, and 6 more for one that was lost; the last one is
 * sent three times). */
#define TELEPHONE_EVENT_BURST_MAX 64u

/** One event as a payload has it. */
struct telephone_event {
	uint8_t code; /**< 0..9, 10 *, 11 #, 12..15 A..D; others by RFC */
	bool end;
	uint8_t volume;	   /**< 0..63: -dBm0                              */
	uint16_t duration; /**< since the packet's timestamp, in its clock */
};

/**
 * Parse the first event of the @bytes at @payload; the reserved bit is ignored.
 * 0, or -EINVAL when they are not whole events, or none. @out is written only
 * with 0. Pure.
 */
int telephone_event_parse(const uint8_t *payload, size_t bytes,
			  struct telephone_event *out);

/** Write @event to @buf[TELEPHONE_EVENT_BYTES]; volumes above 63 become 63.
 * Returns TELEPHONE_EVENT_BYTES. Pure. */
size_t telephone_event_build(uint8_t *buf, const struct telephone_event *event);

/** The codes that a party takes; bit c % 64 of word c / 64. */
struct telephone_event_set {
	uint64_t codes[4];
};

/** 0-15: the digits, which every party takes that takes events at all. */
extern const struct telephone_event_set telephone_event_digits;

/** Payload types that a party may send events by, each with a clock of its own
 * (RFC 4733, 2.3.5), whatever that of the speech is. */
#define TELEPHONE_EVENT_TYPES 3u
struct telephone_event_type {
	uint8_t pt;
	uint32_t clock; /**< Hz */
};
struct telephone_event_types {
	unsigned n;
	struct telephone_event_type one[TELEPHONE_EVENT_TYPES];
};

/** Is @hz a clock that events are known at here: 8000, 16000, ... 48000? */
static inline bool telephone_event_is_clock(unsigned hz)
{
	return hz >= 8000 && hz <= 48000 && hz % 8000 == 0;
}

/** The settings of a relay. */
struct telephone_event_cfg {
	/** Hz, of the durations that come and go. Where they change, that is
	 * for events that begin then. */
	unsigned clock_in, clock_out;
	struct telephone_event_set takes; /**< others are dropped, counted */
	cr_ns timeout;	/**< an event not heard of for so long is ended      */
	cr_ns interval; /**< between end packets that are made here          */
};

/** A configuration with digits, 300 ms until an event is given up (six updates
 * of a slow sender), 20 ms between ends. */
struct telephone_event_cfg telephone_event_defaults(unsigned clock_in,
						    unsigned clock_out);

/** Counts of a relay: events of packets_in are relayed,
 * repeated, late or unwanted; events_out are relayed + made. */
struct telephone_event_counts {
	uint64_t packets;   /**< came                                        */
	uint64_t malformed; /**< of packets: not whole events, or none       */
	uint64_t excess;    /**< events beyond those of a packet looked at   */
	uint64_t records;   /**< events (of packets) that were looked at     */
	uint64_t relayed;   /**< of records: sent on                         */
	uint64_t repeated;  /**< of records: say nothing new                 */
	uint64_t late;	    /**< of records: overtaken, or after the end     */
	uint64_t unwanted;  /**< of records: a code that the party rejects   */
	uint64_t made;	    /**< packets out that nobody sent to us          */
	uint64_t begun;	    /**< events on the output                        */
	uint64_t ended;	    /**< of begun                                    */
	uint64_t timed_out; /**< of ended: the end was never seen            */
	uint64_t cut_short; /**< of ended: another event or sender came     */
};

/** A packet to send: everything that the stream does not know itself. */
struct telephone_event_packet {
	uint32_t ts;
	bool marker;
	uint8_t payload[TELEPHONE_EVENT_BYTES];
};

/** Packets to send now, in this order. */
struct telephone_event_burst {
	unsigned n;
	struct telephone_event_packet packets[TELEPHONE_EVENT_BURST_MAX];
};

/** A packet that has come. */
struct telephone_event_arrival {
	const uint8_t *payload;
	size_t bytes;
	uint32_t ts;
	bool marker;
	/** The timestamp of the output that speech of @ts would get. Used for
	 * an event's first packet only. */
	uint32_t ts_out;
};

/** A relay from one stream to another. Read counts; the rest is private. */
struct telephone_event_relay {
	struct telephone_event_cfg cfg;
	struct telephone_event_counts counts;
	/* The newest event. */
	bool known;   /* there is one                        */
	bool active;  /* its end has not been seen           */
	bool marked;  /* its first packet has gone out       */
	bool starved; /* ended by time-out: it may go on     */
	uint8_t code, volume;
	unsigned clock_in, clock_out;
	uint32_t ts_in;	     /* of the segment that comes           */
	uint64_t before_in;  /* length of earlier segments          */
	uint64_t length_in;  /* the whole event so far              */
	bool sent_out;	     /* some event had a timestamp          */
	uint32_t ts_out;     /* of the segment that goes            */
	uint64_t before_out; /* length of earlier segments          */
	unsigned ends_left;  /* end packets to send                 */
	cr_ns heard, next_end;
};

/** Start with @cfg. 0, or -EINVAL for a clock that is none. */
int telephone_event_relay_init(struct telephone_event_relay *r,
			       const struct telephone_event_cfg *cfg);

/** A packet has come at @now. @out: what to send (n may be 0). */
void telephone_event_relay_packet(struct telephone_event_relay *r, cr_ns now,
				  const struct telephone_event_arrival *in,
				  struct telephone_event_burst *out);

/** When telephone_event_relay_poll() has something to do; CR_NEVER: not before
 * the next packet. */
cr_ns telephone_event_relay_due(const struct telephone_event_relay *r);

/** It is @now: send ends that are due, give up an event that is not heard of.
 * Early or late calls do no harm. */
void telephone_event_relay_poll(struct telephone_event_relay *r, cr_ns now,
				struct telephone_event_burst *out);

/** The input begins anew (another SSRC, other timestamps): end what goes on,
 * at once, and forget the old timestamps. */
void telephone_event_relay_restart(struct telephone_event_relay *r,
				   struct telephone_event_burst *out);

/** An event goes on: speech is not to be heard. */
static inline bool telephone_event_relay_active(
	const struct telephone_event_relay *r)
{
	return r->active;
}

/* --- the digits of a stream: a relay, and the speech that is not to be heard
 * meanwhile: senders put the tones into that, too --- */

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
