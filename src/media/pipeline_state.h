/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The insides of a pipeline, shared by its own files only: pipeline_open.c, who
 * makes it and changes its sides, and pipeline.c, who runs it.
 */
#ifndef MEDIA_PIPELINE_STATE_H
#define MEDIA_PIPELINE_STATE_H

#include <stdatomic.h>

#include "media/pipeline_sides.h"

struct pipeline {
	/* the inputs and the output in use, and what is in them */
	struct pipeline_cfg cfg;
	void *decoder, *encoder;
	struct resample *resample; /* NULL: same rate */
	unsigned in_rate, out_rate, in_clock, out_clock;
	unsigned frame; /* samples of an output frame */
	unsigned unit;	/* units of the input's clock in an input frame */
	uint8_t cmr;	/* of the last packet */
	uint8_t number; /* of the input */

	bool talking; /* within a talk spurt of the output */
	bool marked;  /* an input packet had the marker, its output has not */
	bool started, ran;
	bool rebased; /* the clock is not that of the packet before */
	uint32_t last_ts;
	uint32_t zero; /* output timestamp where `at` and `next` are 0 */
	int64_t at;    /* timestamp units since the first input packet */
	int64_t next;  /* where a packet without a gap would start */
	unsigned sender;

	unsigned nleft;
	int16_t *left; /* [frame], the output's */
	struct pipeline_source *source;
	struct pipeline_output *output;

	/* What any thread sees of the encoder: see encoder_word(). Control
	 * writes it with a new output; whoever asks for a mode, too. */
	_Atomic uint64_t encoder_word;
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

/** The mode that the next frame is to have. */
unsigned pipeline_mode_next(struct pipeline *p);

static inline struct pipeline_source *pipeline_source_at(
	const struct pipeline *p, unsigned number)
{
	return atomic_load_explicit(&p->input[number], memory_order_acquire);
}

#endif
