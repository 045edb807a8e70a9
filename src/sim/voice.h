/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a simulated call's frames hold: how much each would be missed, as the
 * daemon's receiver would rate it (cr_job.importance). By a model of talk,
 * spurts and pauses of exponential length in which all frames are sent; or by
 * the energy of the very recordings or turns that the feeder would send, in its
 * order (exactly, of PCM at 8 kHz).
 *
 * Thread rule: a model is constant once it is open; a voice belongs to the
 * thread that has its call.
 */
#ifndef SIM_VOICE_H
#define SIM_VOICE_H

#include "campaign/campaign.h"
#include "base/random.h"
#include "campaign/plan.h"
#include "speech/speech.h"

/** Of a flow. Zero is closed: nothing is known. */
struct voice_model {
	const struct campaign_flow *flow; /**< NULL: nothing is known of its
					       frames, as where a codec would
					       have to decode them first */
	struct speech_corpus *corpus;	  /**< recordings, or NULL */
	uint8_t *levels; /**< of them: [in.count * in.frames], or NULL */
	struct segments in;
	uint64_t seed;
};

struct voice_cfg {
	const struct campaign *campaign;
	const struct campaign_flow *flow; /**< of it */
	uint64_t seed;
	cr_ns duration; /**< of the campaign */
};

/** 0, or with @e what speech_open() says. Names of files are meant from the
 * campaign's folder. */
int voice_model_open(struct voice_model *m, const struct voice_cfg *cfg,
		     struct cr_err *e);
void voice_model_close(struct voice_model *m);

struct voice {
	const struct voice_model *model;
	struct random random;
	struct segment_walk walk;
	uint64_t next;	/**< frame that is not rated yet             */
	uint64_t turn;	/**< frame at which spurt or pause ends      */
	uint8_t latest; /**< importance of the frame before @next    */
	bool talking;
};

/** The voice of the call with @seed. */
void voice_init(struct voice *v, const struct voice_model *m, uint64_t seed);

/** The importance of frame @frame; of one before those asked for, which the
 * network has held back, that of the latest. */
uint8_t voice_at(struct voice *v, uint64_t frame);

#endif
