/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is there memory for what a codec's library is about to ask for? What another
 * thread takes meanwhile, the daemon's --memory-reserve has room for.
 */
#include "codecs/opening.h"

#include "base/memory.h"
#include "codecs/common.h"

int codec_open_encoder(const struct cr_codec *c, void **enc,
		       const struct cr_codec_cfg *cfg, struct cr_err *e)
{
	return memory_there(MEMORY_FOR_LIBRARY) ? c->encoder_open(enc, cfg, e)
						: codec_no_memory(c, e);
}

int codec_open_decoder(const struct cr_codec *c, void **dec,
		       const struct cr_codec_cfg *cfg, struct cr_err *e)
{
	return memory_there(MEMORY_FOR_LIBRARY) ? c->decoder_open(dec, cfg, e)
						: codec_no_memory(c, e);
}
