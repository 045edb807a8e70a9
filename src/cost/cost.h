/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of codecs on this machine: CPU time per frame, measured over varied
 * speech with many states taking turns, as a server has it.
 *
 * Measuring runs on the calling thread and takes the CPU time it is given.
 */
#ifndef COST_COST_H
#define COST_COST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cr/codec.h"
#include "cr/sched.h"
#include "speech/speech.h"

/** The terms of a measurement. Zero-initialise, then set what matters. */
struct cost_plan {
	/** CPU time for one codec and mode, both directions, warm-up included;
	 * 0: 400 ms. At least one frame of every state is always measured. */
	cr_ns budget;
	unsigned states; /**< encoders and decoders taking turns; 0: 16  */
	uint64_t seed;	 /**< of the speech                             */
	/** Speech at the codec's rate; NULL: synthetic. Not owned. */
	const struct speech_corpus *corpus;
	/** When another thread sets it, measuring ends after a few frames,
	 * with -ECANCELED; NULL: never. */
	const atomic_bool *stop;
};

/** Points of a measured distribution. */
#define COST_QUANTILES 256u

/** The cost of one direction. */
struct cost_result {
	struct cr_cost cost; /**< per frame                              */
	cr_ns frame;	     /**< duration of a frame                    */
	uint64_t frames;     /**< measured                               */
	/** Of the costs of a frame, each standing for as many of them. */
	cr_ns quantile[COST_QUANTILES];
	bool synthetic; /**< over synthetic speech                  */
};

/** Both directions of a codec. */
struct cost_pair {
	struct cost_result enc, dec;
};

/** Frames that follow those of other calls, and frames that follow one of their
 * own call. */
struct cost_rows {
	struct cost_pair first, later;
};

/**
 * Measure @codec under @cfg. Returns 0 and fills *@out; -EINVAL (the codec
 * refuses @cfg, or plan->corpus has another sample rate), -ENOMEM, -ECANCELED
 * (plan->stop), with @e. Any thread; several at once disturb each other's
 * caches.
 */
int cost_measure(const struct cr_codec *codec, const struct cr_codec_cfg *cfg,
		 const struct cost_plan *plan, struct cost_pair *out,
		 struct cr_err *e);

/**
 * The same within about 20 ms of CPU time, for admission: means are good to a
 * few percent, p99 is little more than the largest. @corpus may be NULL, @stop
 * too (see struct cost_plan).
 */
int cost_quick(const struct cr_codec *codec, const struct cr_codec_cfg *cfg,
	       const struct speech_corpus *corpus, const atomic_bool *stop,
	       struct cost_pair *out, struct cr_err *e);

/**
 * Measure rows: each of plan->states (0: 101) states has two frames in turn,
 * the first one after those of all others, which have emptied the caches, the
 * second one after the first. Both are measured side by side, so that what
 * slows the machine slows both. Returns as cost_measure().
 */
int cost_measure_rows(const struct cr_codec *codec,
		      const struct cr_codec_cfg *cfg,
		      const struct cost_plan *plan, struct cost_rows *out,
		      struct cr_err *e);

/** Points of a curve. */
#define COST_POINTS 5u

/** The cost of a frame by the number of other states that had frames since its
 * own had one. */
struct cost_curve {
	unsigned points; /**< that there was time for                        */
	unsigned others[COST_POINTS];		  /**< 0, 1, 10, 100, 1000  */
	cr_ns enc[COST_POINTS], dec[COST_POINTS]; /**< of a frame           */
};

/**
 * Measure the curve by rows of ever more states; means are of the frames but
 * the dearest and cheapest twentieth. plan->budget is for all of it, half of
 * that for 1,000 others; points that it is too short for are left out.
 * plan->states is not used. Returns as cost_measure().
 */
int cost_measure_curve(const struct cr_codec *codec,
		       const struct cr_codec_cfg *cfg,
		       const struct cost_plan *plan, struct cost_curve *out,
		       struct cr_err *e);

/**
 * Measure conversion of 20 ms frames from @from to @to Hz: two of 8000, 16000
 * and 48000. Returns 0 and fills *@out; -EINVAL, -ENOMEM with @e.
 */
int cost_resample(unsigned from, unsigned to, struct cost_result *out,
		  struct cr_err *e);

/*
 * Synthetic speech, for machines without recordings: voiced sounds of moving
 * pitch and formants, noise and pauses, by a pulse train or noise through two
 * resonators. Coders find it about as hard as speech; nobody would take it for
 * any.
 */

/** A generator. Plain data. */
struct synth {
	double rate, phase;
	double pitch, formant[2]; /**< Hz, of the sound being made */
	double tap[2][2];	  /**< two resonators              */
	unsigned sound;		  /**< 0 pause, 1 noise, else voiced */
	size_t left;		  /**< samples of the sound          */
	uint64_t random;
};

/** Start; the same seed gives the same samples. @rate in Hz. */
void synth_init(struct synth *s, unsigned rate, uint64_t seed);

/** The next @n samples. */
void synth_read(struct synth *s, int16_t *pcm, size_t n);

#endif
