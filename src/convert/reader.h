/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Audio files in: one RTP payload after the other, 20 ms each, as a pipeline
 * takes them. Nothing in the file is believed; what is broken is said with its
 * place. Blocks on the disk; one thread.
 */
#ifndef CONVERT_READER_H
#define CONVERT_READER_H

#include "convert/audio.h"

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

#endif
