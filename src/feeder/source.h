/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What calls say: real speech, encoded and packed before the campaign begins,
 * so that pacing costs no codec time. A source holds many different segments;
 * a voice is one call's way through them: its own first segment, its own
 * offset and its own order.
 *
 * A source is read-only once it is open: any thread.
 */
#ifndef FEEDER_SOURCE_H
#define FEEDER_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "campaign/campaign.h"
#include "campaign/plan.h"
#include "cr/error.h"
#include "speech/speech.h"

/** Load the recordings @input of a campaign (files, folders and globs; none:
 * the installed ones) at @rate Hz: speech_open(). @base: the campaign file;
 * relative names are beside it. Any thread. */
int recordings_open(struct speech_corpus **corpus, const char *base,
		    const struct campaign_texts *input, unsigned rate,
		    struct cr_err *e);

/** Called while speech is made: @done of @total of what @phase says. */
typedef void source_progress(void *arg, const char *phase, unsigned done,
			     unsigned total);

struct source;

struct source_cfg {
	const struct campaign_flow *flow; /**< input, voice, in, ptime  */
	const char
		*base; /**< the campaign file: relative inputs are beside it */
	uint64_t seed;
	cr_ns duration; /**< of the campaign: segments need not be longer  */
	source_progress *progress; /**< may be NULL */
	void *arg;
};

/** Encode the speech of a flow. Returns 0 and sets *@s, or -errno with @e. */
int source_open(struct source **s, const struct source_cfg *cfg,
		struct cr_err *e);
void source_close(struct source *s); /**< NULL is fine */

/** Do flows @a and @b have the same speech, so that one source serves both? */
bool source_fits(const struct campaign_flow *a, const struct campaign_flow *b);

/** One call's speech. */
struct source_voice {
	const struct source *source;
	struct segment_walk walk;
};

void source_voice_init(struct source_voice *v, const struct source *s,
		       uint64_t seed);

/** Payload of media frame @frame, owned by the source; 0 *@bytes: silent. */
const uint8_t *source_payload(const struct source_voice *v, uint64_t frame,
			      size_t *bytes);

/** For plan_stream: @voice is a struct source_voice. */
bool source_silent(const void *voice, uint64_t frame);

/** Payload format of an endpoint. -EINVAL: none for this codec. */
int source_codec_use(const struct codec_use *endpoint, struct codec_use *out);

#endif
