/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Audio files out: frames as they are stored, one after the other. Blocks on
 * the disk; one thread.
 */
#ifndef CONVERT_WRITER_H
#define CONVERT_WRITER_H

#include "convert/audio.h"

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
