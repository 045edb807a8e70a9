/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of the output become packets.
 *
 * A frame is encoded when its speech is there. Where a packet has several, the
 * first ones wait, encoded: so no packet of the input costs more than others
 * do. A packet leaves when it is full, and before that when something else
 * comes: silence, a SID (G.729 knows one at the end only: RFC 3551, 4.5.6), a
 * gap, another output, or what is not speech.
 */
#include <string.h>

#include "base/assert.h"
#include "media/pipeline_state.h"

bool pipeline_has_no_data(const struct pipeline *p)
{
	enum payload_kind kind = p->cfg.out.payload.kind;

	return kind == PAYLOAD_AMR || kind == PAYLOAD_AMR_WB;
}

/* Does our encoder decide where silence is? */
static bool own_silence(const struct pipeline *p)
{
	return pipeline_has_no_data(p) ||
	       (p->cfg.out.codec->dtx && p->cfg.out.cfg.dtx);
}

/* Does speech begin with this frame? */
static bool begins_speech(struct pipeline *p, enum cr_frame_kind kind,
			  bool silent)
{
	bool begins = kind == CR_FRAME_SPEECH && !p->talking;

	if (kind == CR_FRAME_SPEECH)
		p->talking = true;
	else if (silent || kind == CR_FRAME_SID)
		p->talking = false;
	return begins;
}

/* Of a packet's first frame. In AMR the marker goes with the first speech after
 * silence, so our encoder's own silence counts (RFC 4867, 4.1), so it does with
 * DTX (RFC 7587, 4.1); of others only the input knows (RFC 3551, 4.1). NO_DATA
 * that is sent stands for a frame without time, not silence. */
static bool take_marker(struct pipeline *p, enum cr_frame_kind kind,
			bool silent)
{
	bool begins = begins_speech(p, kind, silent);
	bool marked = p->marked;

	if (own_silence(p))
		return begins;
	if (!silent)
		p->marked = false;
	return marked;
}

/* A packet of @n frames; the rest of it is in @packet. */
static void emit(const struct pipeline_output *o, struct pipeline_scratch *s,
		 const struct cr_frame *frames, unsigned n,
		 struct pipeline_packet *packet)
{
	int bytes = payload_pack(&o->side.payload, PAYLOAD_NO_CMR, frames, n,
				 s->packet + PIPELINE_HEADROOM,
				 sizeof(s->packet) - PIPELINE_HEADROOM);

	/* our own encoder's frames always fit their own format */
	CR_ASSERT(bytes >= 0);
	packet->payload = s->packet + PIPELINE_HEADROOM;
	packet->bytes = (size_t)bytes;
	packet->pt = o->side.pt;
	if (!bytes)
		packet->silent = true;
}

/* --- one frame in a packet --- */

static void put_one(struct pipeline_run *r, const struct cr_frame *frame,
		    bool silent)
{
	struct pipeline *p = r->p;
	struct pipeline_packet packet = {
		.ts = pipeline_run_ts(r, 0),
		.silent = silent,
	};

	emit(p->output, r->s, frame, 1, &packet);
	packet.marker = take_marker(p, frame->kind, packet.silent);
	r->emit(r->arg, &packet);
}

/* --- several --- */

static void send_held(struct pipeline_output *o, struct pipeline_scratch *s,
		      pipeline_emit *to, void *arg)
{
	struct pipeline_held *h = &o->held;
	struct pipeline_packet packet = { .ts = h->ts, .marker = h->marker };
	const uint8_t *data = h->data;

	if (!h->n)
		return;
	for (unsigned i = 0; i < h->n; i++) {
		struct cr_frame *f = &s->packed[i];

		f->kind = h->frame[i].kind;
		f->mode = h->frame[i].mode;
		f->bytes = h->frame[i].bytes;
		memcpy(f->data, data, f->bytes);
		data += f->bytes;
	}
	emit(o, s, s->packed, h->n, &packet);
	h->n = 0;
	h->bytes = 0;
	to(arg, &packet);
}

static void hold(struct pipeline_run *r, const struct cr_frame *f)
{
	struct pipeline *p = r->p;
	struct pipeline_held *h = &p->output->held;
	uint32_t ts = pipeline_run_ts(r, 0);

	if (h->n && ts != h->next)
		send_held(p->output, r->s, r->emit, r->arg);
	if (h->n) {
		(void)begins_speech(p, f->kind, false);
	} else {
		h->ts = ts;
		h->marker = take_marker(p, f->kind, false);
	}
	h->frame[h->n].kind = f->kind;
	h->frame[h->n].mode = f->mode;
	h->frame[h->n].bytes = f->bytes;
	memcpy(h->data + h->bytes, f->data, f->bytes);
	h->bytes += f->bytes;
	h->next = pipeline_run_ts(r, p->frame);
	if (++h->n == p->frames || f->kind == CR_FRAME_SID)
		send_held(p->output, r->s, r->emit, r->arg);
}

void pipeline_put(struct pipeline_run *r, const struct cr_frame *frame,
		  bool silent)
{
	struct pipeline *p = r->p;

	if (p->frames == 1) {
		put_one(r, frame, silent);
	} else if (silent) {
		send_held(p->output, r->s, r->emit, r->arg);
		put_one(r, frame, true);
	} else {
		hold(r, frame);
	}
	p->noise.sent = false;
	r->out_at += p->frame;
}

void pipeline_flush(struct pipeline *p, struct pipeline_scratch *s,
		    pipeline_emit *to, void *arg)
{
	if (p->former) {
		send_held(p->former, s, to, arg);
		pipeline_output_free(p->former);
		p->former = NULL;
	}
	send_held(p->output, s, to, arg);
}
