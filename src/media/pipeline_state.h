/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The insides of a pipeline, shared by its own files only:
 *
 *   pipeline_open.c   makes it and changes its sides
 *   pipeline.c        runs it: time, speech
 *   pipeline_packet.c frames become packets
 *   pipeline_made.c   what was not sent as speech: lost packets, silence
 */
#ifndef MEDIA_PIPELINE_STATE_H
#define MEDIA_PIPELINE_STATE_H

#include <stdatomic.h>

#include "media/pipeline_sides.h"
#include "rtp/comfort_noise.h"

/** The party's silence. */
struct pipeline_noise {
	struct comfort_noise_generator
		generator;	  /**< where decoders have none */
	struct comfort_noise now; /**< as it was told */
	/* as comfort noise that is sent */
	bool sent; /**< since the last speech */
	uint8_t level;
	int64_t at; /**< `next` when it was sent last */
};

struct pipeline {
	/* the inputs and the output in use, and what is in them */
	struct pipeline_cfg cfg;
	void *decoder, *encoder;
	struct resample *resample; /* NULL: same rate */
	unsigned in_rate, out_rate, in_clock, out_clock;
	unsigned frame;	 /* samples of an output frame */
	unsigned frames; /* of these in a packet */
	unsigned unit;	 /* units of the input's clock in an input frame */
	uint8_t cmr;	 /* of the last packet */
	uint8_t number;	 /* of the input */

	bool talking; /* within a talk spurt of the output */
	bool marked;  /* an input packet had the marker, its output has not */
	bool started, ran;
	bool rebased; /* the clock is not that of the packet before */
	bool again;   /* the sender is not that of the packet before */
	uint32_t last_ts;
	uint32_t zero; /* output timestamp where `at` and `next` are 0 */
	int64_t at;    /* timestamp units since the first input packet */
	int64_t next;  /* where a packet without a gap would start */
	cr_ns heard;   /* arrival of what is at `at`; CR_NEVER: none */
	unsigned sender;

	struct pipeline_noise noise;

	unsigned nleft;
	int16_t *left; /* [frame], the output's */
	struct pipeline_source *source;
	struct pipeline_output *output;
	struct pipeline_output *former; /* has frames left to send; NULL: none
					 */

	/* What any thread sees of the encoder: see encoder_word(). Control
	 * writes it with a new output; whoever asks for a mode, too. */
	_Atomic uint64_t encoder_word;
	atomic_uint noise_word; /* the next cfg.pt_noise: control's */
	/* The next output; control puts it there (release), who runs takes it
	 * (acquire). */
	_Atomic(struct pipeline_output *) offered;
	/* stored (release) before packets can have their number */
	_Atomic(struct pipeline_source *) input[PIPELINE_INPUTS];
	/* control */
	unsigned ninputs, serial;
};

/** Make the codecs ready for a packet: those that it asks for, and that control
 * wants. 0, or a negative enum payload_reason. */
int pipeline_ready(struct pipeline *p, const struct pipeline_input *in);

/** One run: what the helpers pass along. */
struct pipeline_run {
	struct pipeline *p;
	struct pipeline_scratch *s;
	pipeline_emit *emit;
	void *arg;
	int64_t out_at; /**< samples of the output since the first packet */
};

/** Where @in belongs; after a gap what was left over has no place. */
struct pipeline_run pipeline_begin(struct pipeline *p,
				   struct pipeline_scratch *s,
				   const struct pipeline_input *in,
				   pipeline_emit *emit, void *arg);

/** The output's timestamp of @samples behind where @r is. */
uint32_t pipeline_run_ts(const struct pipeline_run *r, unsigned samples);

/** Is there a sign for a frame without speech? */
bool pipeline_has_no_data(const struct pipeline *p);

/** Send @frame, or let it wait until its packet is full. @silent: it need not
 * be sent. */
void pipeline_put(struct pipeline_run *r, const struct cr_frame *frame,
		  bool silent);

/** Send one decoded frame of @n samples in scratch->decoded. */
void pipeline_feed(struct pipeline_run *r, unsigned n);
/** The same of a frame of silence: as comfort noise, where that is sent.
 * @heard: as it was recorded, not as it was described. */
void pipeline_feed_quiet(struct pipeline_run *r, unsigned n, bool heard);

/** Send @n samples of concealment in place of what @r would have at this place;
 * or what @next, the packet behind, says of it (NULL: there is none). */
void pipeline_feed_lost(struct pipeline_run *r, unsigned n,
			const struct pipeline_input *next);

/** Begin with silence that nobody has described. */
void pipeline_quiet_init(struct pipeline *p);

/** The mode that the frame at @at, in samples of the output, is to have. */
unsigned pipeline_mode_next(struct pipeline *p, int64_t at);

static inline struct pipeline_source *pipeline_source_at(
	const struct pipeline *p, unsigned number)
{
	return atomic_load_explicit(&p->input[number], memory_order_acquire);
}

#endif
