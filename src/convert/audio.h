/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Audio files as conversions know them, and the storage format of AMR and
 * AMR-WB (RFC 4867, section 5): a magic line, then frames of 20 ms, each a ToC
 * octet and its speech bits. Pure.
 *
 * Audio files in: one RTP payload after the other, 20 ms each, as a pipeline
 * takes them. Nothing in the file is believed; what is broken is said with its
 * place. Blocks on the disk; one thread.
 *
 * Audio files out: frames as they are stored, one after the other. Blocks on
 * the disk; one thread.
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
void audio_side(struct codec_use *side, const struct audio *a, unsigned mode);

/** The magic line of AMR or AMR-WB. */
const char *audio_magic(enum audio_kind kind);

struct reader {
	int fd; /**< the caller's */
	struct audio audio;
	uint64_t size; /**< of the file, bytes, when it was opened      */
	uint64_t at;   /**< of the next frame, bytes                    */
	uint64_t end;  /**< of what is speech, bytes                    */
	size_t have;   /**< bytes at `at` that are in buf               */
	size_t first;  /**< where in buf                                */
	uint8_t buf[8192];
};

/** Read the header of file @fd of @size bytes. 0, or -errno with @e. */
int reader_open(struct reader *r, int fd, enum audio_kind kind, uint64_t size,
		struct cr_err *e);

/** The next payload into @payload[AUDIO_PAYLOAD_MAX]: its length; 0: the end;
 * or -errno with @e: cut off, broken, input error. */
int reader_next(struct reader *r, uint8_t *payload, struct cr_err *e);

struct writer {
	int fd; /**< the caller's; empty at first */
	struct audio audio;
	uint64_t bytes; /**< of speech so far */
};

/** Begin. 0, or -errno with @e. */
int writer_open(struct writer *w, int fd, const struct audio *a,
		struct cr_err *e);

/** Append @n bytes of stored frames. 0, or -errno with @e: disk full, or the
 * file would be longer than its format can tell. */
int writer_put(struct writer *w, const uint8_t *frames, size_t n,
	       struct cr_err *e);

/** All frames are in: complete the header. 0, or -errno with @e. */
int writer_finish(struct writer *w, struct cr_err *e);

/** Turn one of a pipeline's output payloads of @n bytes into a stored frame at
 * @frame[AUDIO_FRAME_MAX]; returns its length. Pure. */
size_t writer_frame(enum audio_kind kind, const uint8_t *payload, size_t n,
		    uint8_t *frame);

#endif
