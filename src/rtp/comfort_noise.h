/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comfort noise (RFC 3389): its payload in and out, a generator of it, and what
 * describes a noise that was heard.
 *
 * Between CN and the SID frames of AMR nothing is converted parameter by
 * parameter: AMR has the noise's spectrum as LSFs and its energy before a
 * weighting of its own, so a table of ours would be right for one codec and one
 * version only. Sound is the common ground. SID to CN: the decoder's comfort
 * noise goes through comfort_noise_measure(). CN to SID: the generator's noise
 * goes to an encoder with DTX, which makes SID frames of it at its own cadence.
 *
 * The generator is ours: spandsp's noise_state_t makes white noise only, and
 * allocates. This one has no memory but its struct.
 *
 * Pure functions over the caller's memory; a generator belongs to one thread at
 * a time.
 */
#ifndef RTP_COMFORT_NOISE_H
#define RTP_COMFORT_NOISE_H

#include <stddef.h>
#include <stdint.h>

/** Most reflection coefficients that are used; more are read and ignored. */
#define COMFORT_NOISE_ORDER_MAX 12u
/** Bytes of the longest payload that is built. */
#define COMFORT_NOISE_BYTES_MAX (1u + COMFORT_NOISE_ORDER_MAX)
/** The lowest level; nothing of it is left in 16 bits. */
#define COMFORT_NOISE_SILENT 127u

/** A noise, as a payload describes it. */
struct comfort_noise {
	uint8_t level; /**< 0..127: -dBov; 0 is a full-scale square wave */
	uint8_t order; /**< of reflection[]; 0: white                   */
	/** Coefficients k = 258 (n - 127) / 32768, n in 0..254; of the filter
	 * 1 / (1 + a1 z^-1 + ...), where a1 = k for order 1: below 127 is a
	 * noise with more low frequencies. */
	uint8_t reflection[COMFORT_NOISE_ORDER_MAX];
};

/**
 * Parse the @bytes at @payload (RFC 3389, 3). 0, or -EINVAL: empty, the first
 * bit set, or a reserved coefficient (255). @out is written only with 0. Pure.
 */
int comfort_noise_parse(const uint8_t *payload, size_t bytes,
			struct comfort_noise *out);

/** Write @noise to @buf[COMFORT_NOISE_BYTES_MAX]; what is out of range is cut.
 * Returns the payload's bytes. Pure. */
size_t comfort_noise_build(uint8_t *buf, const struct comfort_noise *noise);

/** Makes noise. Zero-initialised it is silent. Private. */
struct comfort_noise_generator {
	uint64_t random;
	unsigned order;
	float gain; /* of the next sample's excitation */
	float goal; /* that gain gets near to, sample by sample */
	float k[COMFORT_NOISE_ORDER_MAX];
	float state[COMFORT_NOISE_ORDER_MAX + 1];
};

/** Start in silence; one @seed makes the same noise again. */
void comfort_noise_start(struct comfort_noise_generator *g, uint64_t seed);

/**
 * Be this @noise from now on. The level is got to within some 10 ms, so that no
 * step is heard. Coefficients are those of the sample rate that is generated.
 */
void comfort_noise_set(struct comfort_noise_generator *g,
		       const struct comfort_noise *noise);

/** The next @n samples. At any rate; to 1 dB of the level from 12 to 85 -dBov
 * (louder noise is clipped, fainter is less than a step). */
void comfort_noise_generate(struct comfort_noise_generator *g, int16_t *pcm,
			    size_t n);

/** Describe the noise in @pcm[@n] with @order (0..COMFORT_NOISE_ORDER_MAX)
 * coefficients. Silence, or no samples: COMFORT_NOISE_SILENT, white. Pure. */
void comfort_noise_measure(const int16_t *pcm, size_t n, unsigned order,
			   struct comfort_noise *out);

#endif
