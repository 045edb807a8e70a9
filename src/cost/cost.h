/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What codecs cost on this machine: CPU time per frame, measured over varied
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

/** How to measure. Zero-initialise, then set what matters. */
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

/** What one direction costs. */
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

/** What a frame costs by how many other states had frames since its own had
 * one. */
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

/** The cost matrix: every codec, mode and direction, and resampling. */
struct cost_table;

/**
 * Measure all built-in codecs in all modes in about @seconds (0: 10) of CPU
 * time; those with kernels also with the library's own (stock), in the same
 * time. Two fifths of it are for curves, one for each codec. No other thread
 * may be inside a codec meanwhile. Recordings are those that are installed;
 * where there are none, speech is synthetic and the table says so. "spin" is
 * left out: it costs what one asks for. Returns 0 and sets
 * *@t, or -ENOMEM, -EINVAL with @e.
 */
int cost_table_open(struct cost_table **t, double seconds, struct cr_err *e);

/** NULL is fine. */
void cost_table_close(struct cost_table *t);

/** Were recordings found to measure with, at 16 kHz (@wide) or 8? */
bool cost_is_recorded(const struct cost_table *t, bool wide);

/** One line of the matrix. Texts are static, results the table's. */
struct cost_line {
	const char *codec, *mode;
	const char *direction; /**< "encode", "decode"; of codec "resample",
				  "up", "down", its mode the new rate */
	unsigned sample_rate;
	const struct cost_result *result;
	const struct cost_result *stock; /**< with the library's own functions;
					    NULL: measured once only */
	double calls_per_core;		 /**< that a core serves at most */
	double weight; /**< cores for 12 million calls: the thesis, 6.1 */
};

/** What frames of a codec in its default mode cost by what came between. */
struct cost_curve_line {
	const char *codec, *mode;
	unsigned sample_rate;
	const struct cost_curve *curve;
};

/** How many curves @t has; curve @i. */
size_t cost_curves(const struct cost_table *t);
struct cost_curve_line cost_curve_line(const struct cost_table *t, size_t i);

/** How many lines @t has. */
size_t cost_lines(const struct cost_table *t);
struct cost_line cost_line(const struct cost_table *t, size_t i);

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
