/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Audio files as conversions know them, and the storage format of AMR and
 * AMR-WB (RFC 4867, section 5): a magic line, then frames of 20 ms, each a ToC
 * octet and its speech bits. Pure.
 */
#ifndef CONVERT_AUDIO_H
#define CONVERT_AUDIO_H

#include <stddef.h>
#include <stdint.h>

#include "cr/codec.h"
#include "cr/error.h"
#include "media/pipeline.h"

enum audio_kind { AUDIO_WAV, AUDIO_AMR, AUDIO_AWB };

/** Duration of every frame. */
#define AUDIO_FRAME (20 * CR_MS)
/** Octets of the longest frame in a file: 20 ms of WAV at 16 kHz. */
#define AUDIO_FRAME_MAX 640u
/** Octets that a payload has beyond that: AMR's CMR. */
#define AUDIO_PAYLOAD_MAX (AUDIO_FRAME_MAX + 1)

/** A file's format. */
struct audio {
	enum audio_kind kind;
	unsigned rate; /**< Hz */
};

/** By the ending of @name (.wav, .amr, .awb): 0 and *@kind, or -EINVAL with
 * @e. */
int audio_kind_of(const char *name, enum audio_kind *kind, struct cr_err *e);

/** "wav", "amr", "awb". */
const char *audio_kind_name(enum audio_kind kind);

/** The codec inside. */
const struct cr_codec *audio_codec(enum audio_kind kind);

/** A pipeline's side that reads or writes @a as RTP payloads: octet-aligned
 * AMR, or L16. @mode: of AMR. */
void audio_side(struct pipeline_side *side, const struct audio *a,
		unsigned mode);

/** The magic line of AMR or AMR-WB. */
const char *audio_magic(enum audio_kind kind);

/** Check the magic line at @p[@n]: its length, or -EINVAL with @e. */
int audio_magic_check(enum audio_kind kind, const uint8_t *p, size_t n,
		      struct cr_err *e);

/** Octets of the stored frame with ToC octet @toc, itself included; -EINVAL:
 * no frame type of @kind. */
int audio_stored_bytes(enum audio_kind kind, uint8_t toc);

#endif
