/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading raw G.722 recordings.
 */
#include "speech/g722.h"

#include <errno.h>

#include "codecs/lav.h"

enum {
	PIECE = 8000, /* bytes at once: one second */
};

int speech_g722_decode(const uint8_t *data, size_t size, int16_t *pcm,
		       struct cr_err *e)
{
	static const struct lav_spec spec = {
		.name = "g722",
		.sample_rate = 16000,
		.packet_max = PIECE,
	};
	struct lav *lav = NULL;
	int ret = lav_decoder_open(&lav, &spec, e);

	while (!ret && size) {
		size_t part = size < PIECE ? size : PIECE;

		if (lav_decode(lav, data, part, pcm, 2 * part) !=
		    (int)(2 * part))
			ret = cr_fail(e, -EIO, "libavcodec failed on G.722");
		data += part;
		size -= part;
		pcm += 2 * part;
	}
	lav_close(lav);
	return ret;
}
