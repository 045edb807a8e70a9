/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AMR and AMR-WB payloads (RFC 4867): bandwidth-efficient and octet-aligned,
 * up to PAYLOAD_FRAMES_MAX frames, one channel. No CRC, no robust sorting, no
 * interleaving.
 *
 *   bandwidth-efficient   CMR(4) [F FT(4) Q]* speech bits, one padding at end
 *   octet-aligned         CMR(4) 0000 [F FT(4) Q 00]* frames, each padded
 *
 * Both are the same walk over bits with other widths: struct layout.
 */
#include <errno.h>
#include <string.h>

#include "media/payload_bits.h"
#include "media/payload_format.h"

#define NFT 16u
#define RESERVED (-1)

/* A ToC entry without padding. */
#define TOC_F 0x20u
#define TOC_Q 0x01u
#define TOC_FT(entry) ((entry) >> 1 & 0xfu)
#define TOC_BITS 6u
#define CMR_BITS 4u

/* Speech bits by frame type: 3GPP TS 26.101 table 1a, TS 26.201 table 1a. The
 * SIDs of other codecs (NB 9..11) have no place in RFC 4867. */
struct codec {
	unsigned nmodes; /* frame type of the SID, too */
	int bits[NFT];
};

static const struct codec nb = {
	.nmodes = 8,
	.bits = { 95, 103, 118, 134, 148, 159, 204, 244, 39, RESERVED, RESERVED,
		  RESERVED, RESERVED, RESERVED, RESERVED, 0 },
};

static const struct codec wb = {
	.nmodes = 9,
	.bits = { 132, 177, 253, 285, 317, 365, 397, 461, 477, 40, RESERVED,
		  RESERVED, RESERVED, RESERVED, 0, 0 },
};

struct layout {
	unsigned head;	/* bits before the table       */
	unsigned entry; /* bits of a table entry       */
	unsigned align; /* frames start at multiples   */
};

static const struct layout efficient = { CMR_BITS, TOC_BITS, 1 };
static const struct layout aligned = { 8, 8, 8 };

static const struct codec *codec_of(const struct payload_cfg *cfg)
{
	return cfg->kind == PAYLOAD_AMR ? &nb : &wb;
}

static const struct layout *layout_of(const struct payload_cfg *cfg)
{
	return cfg->octet_align ? &aligned : &efficient;
}

static size_t octets(size_t bits)
{
	return (bits + 7) / 8;
}

/* Bits that a frame of @bits takes in the payload. */
static size_t span(const struct layout *l, unsigned bits)
{
	return (bits + l->align - 1) / l->align * l->align;
}

static bool mode_allowed(const struct payload_cfg *cfg, unsigned mode)
{
	return !cfg->mode_set || cfg->mode_set >> mode & 1;
}

static int check_entry(const struct payload_cfg *cfg, unsigned entry)
{
	const struct codec *c = codec_of(cfg);
	unsigned ft = TOC_FT(entry);

	if (c->bits[ft] == RESERVED)
		return PAYLOAD_BAD_TYPE;
	if (ft < c->nmodes && !mode_allowed(cfg, ft))
		return PAYLOAD_MODE_SET;
	return PAYLOAD_OK;
}

/* Read the table: number of entries, and bits of all frames. */
static int read_table(struct payload_iter *it, size_t *speech)
{
	const struct layout *l = layout_of(it->cfg);
	unsigned entry, n = 0;
	size_t at = l->head;
	int reason;

	*speech = 0;
	do {
		if (n == PAYLOAD_FRAMES_MAX)
			return PAYLOAD_TOO_MANY;
		if (at + l->entry > 8 * it->n)
			return PAYLOAD_SHORT;
		entry = bits_get(it->p, at, TOC_BITS);
		reason = check_entry(it->cfg, entry);
		if (reason)
			return reason;
		*speech += span(
			l, (unsigned)codec_of(it->cfg)->bits[TOC_FT(entry)]);
		at += l->entry;
		n++;
	} while (entry & TOC_F);
	it->info.nframes = n;
	it->at = at;
	return PAYLOAD_OK;
}

static int amr_open(struct payload_iter *it)
{
	unsigned cmr = bits_get(it->p, 0, CMR_BITS);
	size_t speech, need;
	int reason;

	reason = read_table(it, &speech);
	if (reason)
		return reason;
	need = octets(it->at + speech);
	if (it->n != need)
		return it->n < need ? PAYLOAD_SHORT : PAYLOAD_SURPLUS;
	if (cmr < codec_of(it->cfg)->nmodes && mode_allowed(it->cfg, cmr))
		it->info.cmr = (uint8_t)cmr;
	return PAYLOAD_OK;
}

static enum cr_frame_kind kind_of(const struct codec *c, unsigned entry)
{
	unsigned ft = TOC_FT(entry);

	if (ft == PAYLOAD_FT_NO_DATA)
		return CR_FRAME_NO_DATA;
	if (ft == PAYLOAD_FT_LOST || !(entry & TOC_Q))
		return CR_FRAME_BAD;
	return ft == c->nmodes ? CR_FRAME_SID : CR_FRAME_SPEECH;
}

static void amr_next(struct payload_iter *it, struct cr_frame *frame)
{
	const struct codec *c = codec_of(it->cfg);
	const struct layout *l = layout_of(it->cfg);
	unsigned entry = bits_get(it->p, l->head + it->next * (size_t)l->entry,
				  TOC_BITS);
	unsigned bits = (unsigned)c->bits[TOC_FT(entry)];

	frame->kind = kind_of(c, entry);
	frame->mode = (uint8_t)TOC_FT(entry);
	frame->bytes = (uint16_t)octets(bits);
	speech_get(it->p, it->at, bits, frame->data);
	it->at += span(l, bits);
}

/* The ToC entry of @f, F not set, or -EINVAL when it has none. */
static int entry_of(const struct payload_cfg *cfg, const struct cr_frame *f)
{
	const struct codec *c = codec_of(cfg);
	unsigned ft =
		f->kind == CR_FRAME_NO_DATA ? PAYLOAD_FT_NO_DATA : f->mode;
	unsigned q = f->kind == CR_FRAME_BAD ? 0 : TOC_Q;
	unsigned entry = ft << 1 | q;

	if (ft >= NFT || check_entry(cfg, entry))
		return -EINVAL;
	if (f->kind != CR_FRAME_BAD && f->kind != kind_of(c, entry))
		return -EINVAL;
	if (f->kind != CR_FRAME_NO_DATA &&
	    f->bytes != octets((unsigned)c->bits[ft]))
		return -EINVAL;
	return (int)entry;
}

/* Total payload octets of @n frames, or -EINVAL. */
static int pack_bytes(const struct payload_cfg *cfg,
		      const struct cr_frame *frames, unsigned n)
{
	const struct layout *l = layout_of(cfg);
	size_t bits = l->head + n * (size_t)l->entry;

	for (unsigned i = 0; i < n; i++) {
		int entry = entry_of(cfg, &frames[i]);

		if (entry < 0)
			return entry;
		bits += span(
			l,
			(unsigned)codec_of(cfg)->bits[TOC_FT((unsigned)entry)]);
	}
	return (int)octets(bits);
}

static void pack_frames(const struct payload_cfg *cfg,
			const struct cr_frame *frames, unsigned n, uint8_t *buf)
{
	const struct layout *l = layout_of(cfg);
	size_t toc = l->head, at = l->head + n * (size_t)l->entry;

	for (unsigned i = 0; i < n; i++) {
		unsigned entry = (unsigned)entry_of(cfg, &frames[i]);
		unsigned bits = (unsigned)codec_of(cfg)->bits[TOC_FT(entry)];

		bits_put(buf, toc, TOC_BITS, entry | (i + 1 < n ? TOC_F : 0));
		speech_put(buf, at, bits, frames[i].data);
		toc += l->entry;
		at += span(l, bits);
	}
}

static int amr_pack(const struct payload_cfg *cfg, uint8_t cmr,
		    const struct cr_frame *frames, unsigned n, uint8_t *buf,
		    size_t cap)
{
	int bytes;

	if (cmr != PAYLOAD_NO_CMR &&
	    (cmr >= codec_of(cfg)->nmodes || !mode_allowed(cfg, cmr)))
		return -EINVAL;
	bytes = pack_bytes(cfg, frames, n);
	if (bytes < 0)
		return bytes;
	if ((size_t)bytes > cap)
		return -ENOSPC;
	memset(buf, 0, (size_t)bytes);
	bits_put(buf, 0, CMR_BITS, cmr);
	pack_frames(cfg, frames, n, buf);
	return bytes;
}

static size_t amr_max_bytes(const struct payload_cfg *cfg)
{
	const struct codec *c = codec_of(cfg);
	const struct layout *l = layout_of(cfg);
	unsigned most = (unsigned)c->bits[c->nmodes]; /* SID: always allowed */

	for (unsigned m = 0; m < c->nmodes; m++)
		if (mode_allowed(cfg, m) && (unsigned)c->bits[m] > most)
			most = (unsigned)c->bits[m];
	return octets(l->head + l->entry + most);
}

const struct payload_format payload_amr = {
	.open = amr_open,
	.next = amr_next,
	.pack = amr_pack,
	.max_bytes = amr_max_bytes,
};
