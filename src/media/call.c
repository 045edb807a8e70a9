/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One direction of one call: construction, destruction and the engine's view
 * of its ring. What rx does with a call is in packet.c, what workers do in
 * turn.c.
 */
#include "media/call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A packet may carry up to this much speech, whatever was agreed. */
#define PACKET_SPEECH_MAX (60 * CR_MS)

/* The largest payload worth accepting from @in, bytes. */
static size_t largest_payload(const struct pipeline_side *in)
{
	cr_ns frame = cr_codec_frame_ns(in->codec, &in->cfg);
	size_t frames = (size_t)(PACKET_SPEECH_MAX / frame);
	size_t one = payload_max_bytes(&in->payload);

	if (in->codec->any_length) {
		size_t samples = (size_t)(PACKET_SPEECH_MAX *
					  pipeline_side_rate(in) / CR_SEC);

		return samples * sizeof(int16_t);
	}
	return one * (frames ? frames : 1);
}

static void fill_task(struct call *c)
{
	struct cr_task *t = &c->lt.core.task;
	const struct call_cfg *cfg = &c->cfg;

	t->id = cfg->id;
	t->cls = cfg->cls;
	t->period = cfg->release.period;
	t->rel_deadline = cfg->release.rel_deadline;
	t->cost = cfg->cost;
	t->nice = cfg->nice;
	t->weight = cfg->weight ? cfg->weight : 1024;
	t->contract = cfg->contract;
	memset(&t->cpus, 0xff, sizeof(t->cpus));
}

int call_new(struct call **out, const struct call_cfg *cfg, struct cr_err *e)
{
	struct call *c = aligned_alloc(CALL_LINE, sizeof(*c));
	int err;

	if (!c)
		return cr_fail(e, -ENOMEM, "out of memory for a call");
	memset(c, 0, sizeof(*c));
	c->cfg = *cfg;
	/* more than the ring holds cannot wait for its turn: a flood is over
	 * when the ring has forgotten it */
	c->cfg.release.ahead_max = cfg->ring_frames * cfg->release.period;
	c->seq_out = cfg->seq_out;
	c->ts_step =
		(uint32_t)(cfg->release.period *
			   (cr_ns)pipeline_side_clock(&cfg->media.in) / CR_SEC);
	c->source = cfg->source;
	c->source_known = cfg->source.ss_family != 0;
	fill_task(c);
	err = release_init(&c->release, &c->cfg.release, e);
	if (!err)
		err = release_init(&c->served, &cfg->release, e);
	if (!err)
		err = pipeline_open(&c->pipeline, &cfg->media, e);
	if (err) {
		call_free(c);
		return err;
	}
	if (cfg->ts_first_known)
		pipeline_first_ts(c->pipeline, cfg->ts_first);
	c->slot_bytes = largest_payload(&cfg->media.in);
	c->ring = cr_ring_new(cfg->ring_frames, c->slot_bytes);
	if (!c->ring) {
		call_free(c);
		return cr_fail(e, -ENOMEM, "out of memory for a call's ring");
	}
	*out = c;
	return 0;
}

void call_free(struct call *c)
{
	if (!c)
		return;
	cr_ring_free(c->ring);
	pipeline_close(c->pipeline);
	free(c);
}

size_t call_bytes(const struct call *c)
{
	return sizeof(*c) + cr_ring_bytes(c->ring) +
	       pipeline_bytes(c->pipeline);
}

bool call_peek(struct core_task *t, struct cr_job *job)
{
	struct call *c = call_of_core(t);
	struct release_times when;
	struct cr_frame_meta meta;

	if (!cr_ring_peek(c->ring, &meta))
		return false;
	job->seq = meta.seq;
	job->arrival = meta.arrival;
	when = release_next(&c->served, meta.arrival);
	job->eligible = when.eligible;
	job->deadline = when.deadline;
	return true;
}

bool call_claim(struct core_task *t, uint64_t seq)
{
	struct call *c = call_of_core(t);

	c->claimed = cr_ring_claim(c->ring, seq, &c->meta);
	if (!c->claimed)
		return false;
	(void)release_arrival(&c->served, c->meta.arrival);
	return true;
}

static bool is_amr(const struct pipeline_side *s)
{
	return s->payload.kind == PAYLOAD_AMR ||
	       s->payload.kind == PAYLOAD_AMR_WB;
}

bool call_takes_cmr(const struct call_cfg *heard, const struct call_cfg *sent)
{
	const struct pipeline_side *in = &heard->media.in;
	const struct pipeline_side *out = &sent->media.out;

	return is_amr(in) && in->payload.kind == out->payload.kind;
}
