/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PCM payloads (RFC 3551, 4.5.2, 4.5.4, 4.5.11, 4.5.14): PCMU, PCMA, L16, G.722
 * and G726-32, mono. Octets pass through; no sample is looked at. With
 * cfg->samples set a packet is cut into frames of that length, of which the
 * last may be shorter; without, it is one frame.
 */
#include <string.h>

#include "media/payload_format.h"

static size_t pcm_max_bytes(const struct payload_cfg *cfg)
{
	unsigned samples = cfg->samples;

	if (!payload_pcm_bytes(cfg, samples) || samples > CR_PCM_SAMPLES_MAX)
		samples = CR_PCM_SAMPLES_MAX;
	return payload_pcm_bytes(cfg, samples);
}

static int pcm_open(struct payload_iter *it)
{
	size_t frame = pcm_max_bytes(it->cfg);
	size_t n = (it->n + frame - 1) / frame;

	if (it->cfg->kind == PAYLOAD_L16 && it->n % 2)
		return PAYLOAD_ODD;
	if (!it->cfg->samples && n > 1)
		return PAYLOAD_TOO_LONG;
	if (n > PAYLOAD_FRAMES_MAX)
		return PAYLOAD_TOO_MANY;
	it->info.nframes = (unsigned)n;
	return PAYLOAD_OK;
}

static void pcm_next(struct payload_iter *it, struct cr_frame *frame)
{
	size_t bytes = pcm_max_bytes(it->cfg);

	if (bytes > it->n - it->at)
		bytes = it->n - it->at;
	frame->kind = CR_FRAME_SPEECH;
	frame->mode = 0;
	frame->bytes = (uint16_t)bytes;
	memcpy(frame->data, it->p + it->at, bytes);
	it->at += bytes;
}

static bool fits_g711(const struct cr_frame *f)
{
	return f->kind == CR_FRAME_SPEECH && f->bytes &&
	       f->bytes <= CR_PCM_SAMPLES_MAX;
}

static bool fits_halves(const struct cr_frame *f)
{
	return f->kind == CR_FRAME_SPEECH && f->bytes &&
	       f->bytes <= CR_PCM_SAMPLES_MAX / 2;
}

static bool fits_l16(const struct cr_frame *f)
{
	return f->kind == CR_FRAME_SPEECH && f->bytes &&
	       f->bytes <= 2 * CR_PCM_SAMPLES_MAX && f->bytes % 2 == 0;
}

static int pcm_pack(const struct payload_cfg *cfg, uint8_t cmr,
		    const struct cr_frame *frames, unsigned n, uint8_t *buf,
		    size_t cap)
{
	bool (*fits)(const struct cr_frame *f) = fits_g711;

	(void)cmr;
	if (cfg->kind == PAYLOAD_L16)
		fits = fits_l16;
	else if (payload_halves(cfg))
		fits = fits_halves;
	return payload_concat(frames, n, buf, cap, fits);
}

const struct payload_format payload_pcm = {
	.open = pcm_open,
	.next = pcm_next,
	.pack = pcm_pack,
	.max_bytes = pcm_max_bytes,
};
