/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payload formats: the common part. One file per family does the work.
 */
#include "media/payload_format.h"

#include <errno.h>
#include <string.h>

static const struct payload_format *const formats[PAYLOAD_NKINDS] = {
	[PAYLOAD_AMR] = &payload_amr,	  [PAYLOAD_AMR_WB] = &payload_amr,
	[PAYLOAD_PCMU] = &payload_pcm,	  [PAYLOAD_PCMA] = &payload_pcm,
	[PAYLOAD_L16] = &payload_pcm,	  [PAYLOAD_G723] = &payload_g723,
	[PAYLOAD_G722] = &payload_pcm,	  [PAYLOAD_FRAMES] = &payload_frames,
	[PAYLOAD_WHOLE] = &payload_whole, [PAYLOAD_G726] = &payload_pcm,
	[PAYLOAD_SPEEX] = &payload_speex,
};

const char *payload_reason_name(int reason)
{
	static const char *const names[PAYLOAD_NREASONS] = {
		[-PAYLOAD_OK] = "ok",
		[-PAYLOAD_EMPTY] = "empty",
		[-PAYLOAD_SHORT] = "short",
		[-PAYLOAD_SURPLUS] = "surplus",
		[-PAYLOAD_TOO_MANY] = "too-many-frames",
		[-PAYLOAD_BAD_TYPE] = "bad-type",
		[-PAYLOAD_MODE_SET] = "mode-set",
		[-PAYLOAD_ODD] = "half-sample",
		[-PAYLOAD_TOO_LONG] = "too-long",
	};

	if (reason > 0 || reason <= -(int)PAYLOAD_NREASONS)
		return "unknown";
	return names[-reason];
}

int payload_open(const struct payload_cfg *cfg, const uint8_t *p, size_t n,
		 struct payload_iter *it)
{
	struct payload_iter draft = {
		.info = { .cmr = PAYLOAD_NO_CMR },
		.cfg = cfg,
		.p = p,
		.n = n,
	};
	int reason;

	if (!n)
		return PAYLOAD_EMPTY;
	reason = formats[cfg->kind]->open(&draft);
	if (!reason)
		*it = draft;
	return reason;
}

bool payload_next(struct payload_iter *it, struct cr_frame *frame)
{
	if (it->next == it->info.nframes)
		return false;
	formats[it->cfg->kind]->next(it, frame);
	it->next++;
	return true;
}

int payload_pack(const struct payload_cfg *cfg, uint8_t cmr,
		 const struct cr_frame *frames, unsigned n, uint8_t *buf,
		 size_t cap)
{
	if (!n || n > PAYLOAD_FRAMES_MAX)
		return -EINVAL;
	return formats[cfg->kind]->pack(cfg, cmr, frames, n, buf, cap);
}

size_t payload_max_bytes(const struct payload_cfg *cfg)
{
	return formats[cfg->kind]->max_bytes(cfg);
}

int payload_concat(const struct cr_frame *frames, unsigned n, uint8_t *buf,
		   size_t cap, bool (*fits)(const struct cr_frame *))
{
	size_t total = 0;

	while (n && frames[n - 1].kind == CR_FRAME_NO_DATA)
		n--;
	for (unsigned i = 0; i < n; i++) {
		if (frames[i].kind == CR_FRAME_NO_DATA || !fits(&frames[i]))
			return -EINVAL;
		total += frames[i].bytes;
	}
	if (total > cap)
		return -ENOSPC;
	for (unsigned i = 0; i < n; i++) {
		memcpy(buf, frames[i].data, frames[i].bytes);
		buf += frames[i].bytes;
	}
	return (int)total;
}

int payload_kind_find(const char *name)
{
	static const struct {
		const char *name;
		enum payload_kind kind;
	} kinds[] = {
		{ "amr", PAYLOAD_AMR },	       { "amr-wb", PAYLOAD_AMR_WB },
		{ "pcmu", PAYLOAD_PCMU },      { "pcma", PAYLOAD_PCMA },
		{ "l16", PAYLOAD_L16 },	       { "g723_1", PAYLOAD_G723 },
		{ "spin", PAYLOAD_L16 },       { "g722", PAYLOAD_G722 },
		{ "g726-32", PAYLOAD_G726 },   { "speex", PAYLOAD_SPEEX },
		{ "speex-wb", PAYLOAD_SPEEX },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(name, kinds[i].name) == 0)
			return (int)kinds[i].kind;
	return -1;
}

int payload_cfg_of(const struct cr_codec *c, struct payload_cfg *out)
{
	struct payload_cfg cfg = { .sample_rate = c->sample_rate };
	int kind;

	switch (c->packing) {
	case CR_PACK_FRAMES:
		cfg.kind = PAYLOAD_FRAMES;
		cfg.frame_bytes = c->modes[0].bytes;
		cfg.sid_bytes = c->sid_bytes;
		break;
	case CR_PACK_WHOLE:
		cfg.kind = PAYLOAD_WHOLE;
		cfg.frame_bytes = c->frame_max;
		break;
	case CR_PACK_OWN:
	default:
		kind = payload_kind_find(c->name);
		if (kind < 0)
			return -EINVAL;
		cfg.kind = (enum payload_kind)kind;
		break;
	}
	*out = cfg;
	return 0;
}
