/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sides of a pipeline: what it decodes, of which it may have several, and
 * what it encodes. The pipeline's own; see media/pipeline.h.
 *
 * An input's codec is opened when its first frame comes, by the thread that
 * runs the pipeline. What is constant of it, control makes.
 */
#ifndef MEDIA_PIPELINE_SIDES_H
#define MEDIA_PIPELINE_SIDES_H

#include "media/pipeline.h"
#include "resample/resample.h"

/** An input. */
struct pipeline_source {
	/* of the thread that runs */
	void *decoder;		   /**< NULL: not used yet               */
	struct resample *resample; /**< NULL: same rate as the output    */
	unsigned to;		   /**< rate that it converts to; 0: none yet */
	unsigned sender;	   /**< whose speech the decoder has had */
	/* constant */
	unsigned rate, clock;
	unsigned unit; /**< units of the clock in a frame */
	struct codec_use side;
};

/** A packet that is not full yet. */
struct pipeline_held {
	unsigned n;	   /**< frames                          */
	uint32_t ts, next; /**< of the first; of the one behind */
	bool marker;
	struct {
		enum cr_frame_kind kind;
		uint8_t mode;
		uint16_t bytes;
	} frame[PAYLOAD_FRAMES_MAX];
	uint8_t *data; /**< theirs, one behind the other */
	size_t bytes;
};

/** The output. Of the thread that runs, from when it has taken it. */
struct pipeline_output {
	void *encoder;
	unsigned rate, clock;
	unsigned frame;	 /**< samples                              */
	unsigned frames; /**< in a packet                          */
	cr_ns time;	 /**< of a packet                          */
	unsigned serial; /**< among those of its pipeline          */
	unsigned mode;	 /**< that its last frame had              */
	int64_t turned;	 /**< where that was new, in samples       */
	struct codec_use side;
	struct pipeline_held held;
	int16_t left[]; /**< samples that make no whole frame yet */
};

/** Nothing is opened yet. NULL: out of memory. */
struct pipeline_source *pipeline_source_new(const struct codec_use *side);
void pipeline_source_free(struct pipeline_source *s); /**< NULL is fine */

/** Can it be decoded here? 0, or -EINVAL, -ENOMEM with @e. */
int pipeline_source_check(const struct codec_use *side, struct cr_err *e);

/** Make it ready to decode speech of the sender @sender for @rate: a decoder
 * without a past, if it is another one's. 0; or -EINVAL, -ENOMEM with @e. */
int pipeline_source_open(struct pipeline_source *s, unsigned sender,
			 unsigned rate, struct cr_err *e);

/** Bytes that the frames of a packet of several may take. */
size_t pipeline_output_store(const struct pipeline_output *o);

/** Let @to go on with the @n samples that @from has left over, and with its
 * encoder if that is the same. Returns how many these are now. */
unsigned pipeline_output_follow(struct pipeline_output *to,
				struct pipeline_output *from, unsigned n);

#endif
