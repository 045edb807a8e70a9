/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One received datagram on its way into a stream's frame buffer: parse, find
 * the stream, check source, payload type and sequence, apply the release model,
 * push. Hostile input ends in a counted drop. A receiver's thread, under
 * rcu_read_begin().
 */
#ifndef MEDIA_PACKET_H
#define MEDIA_PACKET_H

#include "media/counters.h"
#include "media/rtp_stream.h"
#include "observe/trace_writer.h"
#include "udp/inlet.h"

struct packet_counters {
#define PACKET_MEMBER(name, ...) atomic_ullong name;
	PACKET_COUNTERS(PACKET_MEMBER)
#undef PACKET_MEMBER
};

/** A packet on its way to a stream. */
struct stream_packet {
	struct rtp_packet rtp;
	const struct intake_packet *in; /**< that it was parsed from */
	struct stream *stream;		/**< NULL: nobody listens */
	struct packet_type type;	/**< looked up once */
	bool begins; /**< a relay: the mode was transcode for the one before */
};

/** Packets of a receiver's streams in mode relay on their way out. Zero is
 * empty. */
struct relay_burst {
	struct burst burst; /**< burst_open() may come first */
	struct relay_unsent {
		struct stream *stream;
		size_t octets; /**< of payload */
	} unsent[BURST_PACKETS];
};

/** Send and count what waits. A receiver, before it leaves the read-side
 * critical section in which it took the packets. */
void relay_flush(struct relay_burst *out);

struct packet_path {
	struct stream_table *table;
	struct stream_cache cache;
	struct trace_ring *trace;
	struct relay_burst *relays; /**< what leaves as it came */
	unsigned receiver; /**< whose path this is: stream_cfg.receiver */
	/** @in is for a stream of @receiver, another one: let it have that. Not
	 * called where there is one only. */
	void (*hand_over)(struct packet_path *path, unsigned receiver,
			  const struct intake_packet *in);
	struct packet_counters count;
};

/**
 * Take one packet. Returns the transcoder whose task must be released (see
 * live_task_wake()), or NULL when it was dropped or needs no release.
 * @endpoint: whose port it came in on, or NULL for the shared port.
 */
struct transcoder *packet_take(struct packet_path *path,
			       const struct intake_packet *in,
			       struct endpoint *endpoint);

/** The same for a packet that another receiver has handed over, and counted. */
struct transcoder *packet_take_handed(struct packet_path *path,
				      const struct intake_packet *in);

/** Fetch into the cache what taking a packet for @c is about to use. */
void packet_fetch(const struct transcoder *c);

/** It is @now: do what the listener of @endpoint waits for, and say when it is
 * to be done again (endpoint_wait()). Returns as packet_take(). */
struct transcoder *packet_poll(struct packet_path *path,
			       struct endpoint *endpoint, cr_ns now);

/** Put a frame into the frame buffer of @transcoder (struct transcoder). Its
 * receive stage calls this. */
void packet_push_frame(void *transcoder, const struct receive_stage_frame *f);

/** Take one that came to the RTCP port of @endpoint. */
void packet_take_rtcp(struct packet_path *path, const struct intake_packet *in,
		      struct endpoint *endpoint);

/** Count a packet that came to the port of an endpoint that has gone. */
void packet_count_no_listener(struct packet_path *path);

#endif
