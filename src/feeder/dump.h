/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps what one call received and writes it as a file that players know:
 * .amr and .awb (storage format, RFC 4867 section 5; lost frames are NO_DATA),
 * .wav for PCM codecs (lost frames are silence), .g723_1 (raw frames; lost
 * ones are untransmitted-frame octets), for ffmpeg -f g723_1.
 *
 * The receiver puts, the main thread writes when the receiver has stopped.
 */
#ifndef FEEDER_DUMP_H
#define FEEDER_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "campaign/campaign.h"
#include "cr/error.h"

struct dump;

/** @out: what is received; @samples: of one packet. NULL: no memory or no
 * format for this codec. */
struct dump *dump_new(const struct codec_use *out, unsigned samples);

/** Keep the payload of output frame @index. Out of memory: kept as lost. */
void dump_put(struct dump *d, uint64_t index, const uint8_t *payload,
	      size_t bytes);

/** Write @dir/@name with the ending that fits. 0, or -errno with @e. */
int dump_write(const struct dump *d, const char *dir, const char *name,
	       struct cr_err *e);

/** Write it as a listener would hear it, as @dir/@name.wav: lost frames as the
 * codec's decoder conceals them. 0, or -errno with @e. */
int dump_write_speech(const struct dump *d, const char *dir, const char *name,
		      struct cr_err *e);

/** Does dump_write() leave something to decode? */
bool dump_coded(const struct dump *d);

void dump_free(struct dump *d); /**< NULL is fine */

#endif
