/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker and its calls, for tests of turns.
 */
#ifndef TESTS_TRANSCODE_FIXTURE_H
#define TESTS_TRANSCODE_FIXTURE_H

#include <netinet/in.h>
#include <stdlib.h>
#include <unistd.h>

#include "loopback.h"
#include "media/packet.h"
#include "media/transcode.h"

enum {
	FRAME = 160, /* 20 ms */
	FRAMES = 3,  /* in a packet that comes; one in each that leaves */
	/* the last of them finds the burst full */
	TURNS = BURST_PACKETS / FRAMES + 1,
	TICK = CR_US,
};

static inline struct codec_use side(const char *codec)
{
	struct codec_use s = { .codec = cr_codec_find(codec) };

	s.cfg.mode = s.codec->default_mode;
	s.cfg.sample_rate = 8000;
	s.cfg.samples = FRAME;
	s.kind = payload_kind_find(codec);
	return s;
}

/** PCMU to PCMA, for a test to change before new_call(). */
static inline struct stream_cfg plain_call(void)
{
	return (struct stream_cfg){
		.id = 1,
		.media = { .in = side("pcmu"), .out = side("pcma") },
		.release = { .kind = RELEASE_SPORADIC,
			     .period = FRAMES * 20 * CR_MS },
		.terms.deadline = FRAMES * 20 * CR_MS,
		.ring_frames = 8,
		.to.ss_family = AF_INET,
	};
}

/* The transcoder of a stream of its own. */
static inline struct transcoder *new_call(struct stream_cfg cfg)
{
	struct cr_err e = { "" };
	struct stream *s;

	stream_settle(&cfg, &(struct cr_cost){ 0 });
	if (stream_new(&s, &cfg, false, &e))
		fail_msg("%s", e.text);
	return stream_transcoder(s);
}

/* A worker, a call of its, and two trace rings: its own and another's. */
struct transcode_fixture {
	struct transcode_worker *w;
	struct trace *trace;
	struct trace_ring *other;
	struct transcoder *c;
};

static const uint8_t payload[FRAMES * FRAME];

static inline void fixture_open_with(struct transcode_fixture *g,
				     struct stream_cfg cfg)
{
	g->w = calloc(1, sizeof(*g->w));
	g->c = new_call(cfg);
	assert_non_null(g->w);
	assert_int_equal(trace_open(&g->trace, 2, 2), 0);
	transcode_init(g->w, UDP_IO_AUTO);
	g->w->quota_burst = 3600 * CR_SEC; /* all frames come at once */
	g->w->trace = trace_ring(g->trace, 0);
	g->other = trace_ring(g->trace, 1);
	g->w->fd = -1;
	g->w->batching = true;
	g->c->claimed = payload;
	g->c->meta.bytes = sizeof(payload);
}

static inline void fixture_open(struct transcode_fixture *g)
{
	fixture_open_with(g, plain_call());
}

static inline void fixture_close(struct transcode_fixture *g)
{
	assert_true(transcoder_unposted(g->c));
	stream_free(g->c->stream);
	trace_close(g->trace);
	transcode_fini(g->w);
	free(g->w);
}

static inline void turn(struct transcode_fixture *g)
{
	const struct live_run run = { .picked = 0 };

	transcode_run(g->w, g->c, &run);
	g->c->meta.rtp_ts += sizeof(payload);
}

/* --- frames as their receiver pushes them --- */

/* Of packet @n of a sender that began with @first. */
static inline struct receive_stage_frame speech_of(uint32_t first, unsigned n,
						   cr_ns at)
{
	return (struct receive_stage_frame){
		.meta.what = FRAME_RING_SPEECH,
		.payload = payload,
		.meta.bytes = sizeof(payload),
		.meta.rtp_ts = first + n * (uint32_t)sizeof(payload),
		.meta.rtp_seq = (uint16_t)n,
		.meta.arrival = at,
	};
}

static inline void fixture_push(struct transcode_fixture *g,
				struct receive_stage_frame f, bool restart)
{
	f.restart = restart;
	g->c->trace = g->other;
	packet_push_frame(g->c, &f);
}

/* Run the oldest frame. */
static inline void fixture_serve(struct transcode_fixture *g)
{
	const struct live_run run = { .picked = 0 };
	struct cr_job job;

	assert_true(transcode_peek(&g->c->lt.core, &job));
	assert_true(transcode_claim(&g->c->lt.core, job.seq));
	transcode_run(g->w, g->c, &run);
	transcode_flush(g->w);
}

/* The socket that hears the call. */
static inline int fixture_connect(struct transcode_fixture *g)
{
	struct sockaddr_storage at;
	int peer;

	g->c->stream->out.fd = loopback_socket(&at);
	peer = loopback_socket(&at);
	destination_set(&g->c->own_destination, &at);
	return peer;
}

static inline int fixture_begin(struct transcode_fixture *g)
{
	fixture_open(g);
	return fixture_connect(g);
}

/* Run the frames that still wait. */
static inline void fixture_end(struct transcode_fixture *g, int peer)
{
	while (frame_ring_waiting(g->c->ring))
		fixture_serve(g);
	(void)close(peer);
	(void)close(g->c->stream->out.fd);
	fixture_close(g);
}

/* The first packet that @peer has; all others go. */
static inline struct rtp_packet fixture_hear(int peer)
{
	uint8_t buf[BURST_BYTES];
	struct rtp_packet p;
	ssize_t n = recv(peer, buf, sizeof(buf), MSG_DONTWAIT);

	assert_true(n > 0);
	assert_int_equal(rtp_parse(buf, (size_t)n, &p), 0);
	while (recv(peer, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
	return p;
}

#endif
