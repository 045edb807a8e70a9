/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a payload format implements: private to payload*.c. Arguments and
 * results are those of the functions of payload.h with the same name.
 */
#ifndef MEDIA_PAYLOAD_FORMAT_H
#define MEDIA_PAYLOAD_FORMAT_H

#include "media/payload.h"

struct payload_format {
	/** Validate; fill @it->info and @it->at. cfg, p and n are set, n > 0.
	 */
	int (*open)(struct payload_iter *it);
	/** Read the next frame; there is one. */
	void (*next)(struct payload_iter *it, struct cr_frame *frame);
	/** Pack; 1 <= @n <= PAYLOAD_FRAMES_MAX. */
	int (*pack)(const struct payload_cfg *cfg, uint8_t cmr,
		    const struct cr_frame *frames, unsigned n, uint8_t *buf,
		    size_t cap);
	size_t (*max_bytes)(const struct payload_cfg *cfg);
};

extern const struct payload_format payload_amr;	   /**< and AMR-WB         */
extern const struct payload_format payload_pcm;	   /**< without frames     */
extern const struct payload_format payload_g723;   /**< G.723.1            */
extern const struct payload_format payload_speex;  /**< Speex, both bands */
extern const struct payload_format payload_frames; /**< of one length    */
extern const struct payload_format payload_whole;  /**< a packet, a frame */

/**
 * Pack frames that are sent as they are, one behind the other. NO_DATA frames
 * at the end are left out; elsewhere they would shift time: -EINVAL.
 * @fits: may this frame be sent? Never asked for NO_DATA.
 */
int payload_concat(const struct cr_frame *frames, unsigned n, uint8_t *buf,
		   size_t cap, bool (*fits)(const struct cr_frame *));

#endif
