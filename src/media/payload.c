/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payload formats: a struct payload_format for each family, and the choice
 * between them. A frame's bits are not looked at but where its length depends
 * on them.
 */
#include "media/payload.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "codecs/speex_bits.h"

/** Arguments and results are those of the functions of payload.h with the same
 * name. */
struct payload_format {
	/** Validate; fill @it->info and @it->at. use, p and n are set, n > 0.
	 */
	int (*open)(struct payload_iter *it);
	/** Read the next frame; there is one. */
	void (*next)(struct payload_iter *it, struct cr_frame *frame);
	/** Pack; 1 <= @n <= PAYLOAD_FRAMES_MAX. NULL: frames are sent as they
	 * are, one behind the other, if they fit. */
	int (*pack)(const struct codec_use *use, uint8_t cmr,
		    const struct cr_frame *frames, unsigned n, uint8_t *buf,
		    size_t cap);
	/** May @f be sent, with so many others @behind it? It is not NO_DATA.
	 */
	bool (*fits)(const struct codec_use *use, const struct cr_frame *f,
		     unsigned behind);
	size_t (*max_bytes)(const struct codec_use *use);
	size_t longest; /**< if that is a constant */
};

/* NO_DATA frames at the end are left out; elsewhere they would shift time. */
static int pack_as_they_are(const struct payload_format *format,
			    const struct codec_use *use,
			    const struct cr_frame *frames, unsigned n,
			    uint8_t *buf, size_t cap)
{
	size_t total = 0;

	while (n && frames[n - 1].kind == CR_FRAME_NO_DATA)
		n--;
	for (unsigned i = 0; i < n; i++) {
		if (frames[i].kind == CR_FRAME_NO_DATA ||
		    !format->fits(use, &frames[i], n - 1 - i))
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

/* The next @bytes are a frame. */
static void copy_frame(struct payload_iter *it, struct cr_frame *frame,
		       enum cr_frame_kind kind, size_t bytes)
{
	frame->kind = kind;
	frame->mode = 0;
	frame->bytes = (uint16_t)bytes;
	memcpy(frame->data, it->p + it->at, bytes);
	it->at += bytes;
}

/* --- bits --- */

/*
 * Bits of payloads whose frames do not begin at octets.
 * Bit 0 is the highest of the first octet. The caller knows that the bits are
 * there.
 */

/* The @width <= 8 bits at bit @at, right-justified. */
static inline unsigned bits_get(const uint8_t *p, size_t at, unsigned width)
{
	unsigned shift = (unsigned)(at % 8);
	unsigned two = (unsigned)p[at / 8] << 8;

	if (shift + width > 8)
		two |= p[at / 8 + 1];
	return two >> (16 - shift - width) & ((1u << width) - 1);
}

/* Or the @width <= 8 low bits of @v in at bit @at. */
static inline void bits_put(uint8_t *p, size_t at, unsigned width, unsigned v)
{
	unsigned shift = (unsigned)(at % 8);
	unsigned two = v << (16 - shift - width);

	p[at / 8] = (uint8_t)(p[at / 8] | two >> 8);
	if (shift + width > 8)
		p[at / 8 + 1] = (uint8_t)(p[at / 8 + 1] | two);
}

/* Copy @bits from bit @at of @p to the start of @out, zeros behind. */
static inline void speech_get(const uint8_t *p, size_t at, unsigned bits,
			      uint8_t *out)
{
	unsigned whole = bits / 8, rest = bits % 8;
	unsigned shift = (unsigned)(at % 8);

	p += at / 8;
	if (!shift)
		memcpy(out, p, whole);
	else
		for (unsigned i = 0; i < whole; i++)
			out[i] = (uint8_t)(p[i] << shift |
					   p[i + 1] >> (8 - shift));
	if (rest)
		out[whole] = (uint8_t)(bits_get(p + whole, shift, rest)
				       << (8 - rest));
}

/* Or the first @bits of @in in at bit @at of @p. */
static inline void speech_put(uint8_t *p, size_t at, unsigned bits,
			      const uint8_t *in)
{
	unsigned whole = bits / 8, rest = bits % 8;

	if (at % 8 == 0)
		memcpy(p + at / 8, in, whole);
	else
		for (unsigned i = 0; i < whole; i++)
			bits_put(p, at + 8u * i, 8, in[i]);
	if (rest)
		bits_put(p, at + 8u * whole, rest, in[whole] >> (8 - rest));
}

/* --- AMR --- */

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

static const struct codec *amr_codec_of(const struct codec_use *use)
{
	return use->kind == PAYLOAD_AMR ? &nb : &wb;
}

static const struct layout *layout_of(const struct codec_use *use)
{
	return use->amr.octet_align ? &aligned : &efficient;
}

static size_t octets_of_bits(size_t bits)
{
	return (bits + 7) / 8;
}

/* Bits that a frame of @bits takes in the payload. */
static size_t span_bits(const struct layout *l, unsigned bits)
{
	return (bits + l->align - 1) / l->align * l->align;
}

static bool mode_allowed(const struct codec_use *use, unsigned mode)
{
	return !use->amr.mode_set || use->amr.mode_set >> mode & 1;
}

static int check_entry(const struct codec_use *use, unsigned entry)
{
	const struct codec *c = amr_codec_of(use);
	unsigned ft = TOC_FT(entry);

	if (c->bits[ft] == RESERVED)
		return PAYLOAD_BAD_TYPE;
	if (ft < c->nmodes && !mode_allowed(use, ft))
		return PAYLOAD_MODE_SET;
	return PAYLOAD_OK;
}

/* Read the table: number of entries, and bits of all frames. */
static int read_table(struct payload_iter *it, size_t *speech)
{
	const struct layout *l = layout_of(it->use);
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
		reason = check_entry(it->use, entry);
		if (reason)
			return reason;
		*speech += span_bits(
			l,
			(unsigned)amr_codec_of(it->use)->bits[TOC_FT(entry)]);
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
	need = octets_of_bits(it->at + speech);
	if (it->n != need)
		return it->n < need ? PAYLOAD_SHORT : PAYLOAD_SURPLUS;
	if (cmr < amr_codec_of(it->use)->nmodes && mode_allowed(it->use, cmr))
		it->info.cmr = (uint8_t)cmr;
	return PAYLOAD_OK;
}

static enum cr_frame_kind amr_kind_of(const struct codec *c, unsigned entry)
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
	const struct codec *c = amr_codec_of(it->use);
	const struct layout *l = layout_of(it->use);
	unsigned entry = bits_get(it->p, l->head + it->next * (size_t)l->entry,
				  TOC_BITS);
	unsigned bits = (unsigned)c->bits[TOC_FT(entry)];

	frame->kind = amr_kind_of(c, entry);
	frame->mode = (uint8_t)TOC_FT(entry);
	frame->bytes = (uint16_t)octets_of_bits(bits);
	speech_get(it->p, it->at, bits, frame->data);
	it->at += span_bits(l, bits);
}

/* The ToC entry of @f, F not set, or -EINVAL when it has none. */
static int toc_entry_of(const struct codec_use *use, const struct cr_frame *f)
{
	const struct codec *c = amr_codec_of(use);
	unsigned ft =
		f->kind == CR_FRAME_NO_DATA ? PAYLOAD_FT_NO_DATA : f->mode;
	unsigned q = f->kind == CR_FRAME_BAD ? 0 : TOC_Q;
	unsigned entry = ft << 1 | q;

	if (ft >= NFT || check_entry(use, entry))
		return -EINVAL;
	if (f->kind != CR_FRAME_BAD && f->kind != amr_kind_of(c, entry))
		return -EINVAL;
	if (f->kind != CR_FRAME_NO_DATA &&
	    f->bytes != octets_of_bits((unsigned)c->bits[ft]))
		return -EINVAL;
	return (int)entry;
}

/* Total payload octets of @n frames, or -EINVAL. */
static int pack_bytes(const struct codec_use *use,
		      const struct cr_frame *frames, unsigned n)
{
	const struct layout *l = layout_of(use);
	size_t bits = l->head + n * (size_t)l->entry;

	for (unsigned i = 0; i < n; i++) {
		int entry = toc_entry_of(use, &frames[i]);

		if (entry < 0)
			return entry;
		bits += span_bits(l, (unsigned)amr_codec_of(use)
					     ->bits[TOC_FT((unsigned)entry)]);
	}
	return (int)octets_of_bits(bits);
}

static void pack_amr_frames(const struct codec_use *use,
			    const struct cr_frame *frames, unsigned n,
			    uint8_t *buf)
{
	const struct layout *l = layout_of(use);
	size_t toc = l->head, at = l->head + n * (size_t)l->entry;

	for (unsigned i = 0; i < n; i++) {
		unsigned entry = (unsigned)toc_entry_of(use, &frames[i]);
		unsigned bits =
			(unsigned)amr_codec_of(use)->bits[TOC_FT(entry)];

		bits_put(buf, toc, TOC_BITS, entry | (i + 1 < n ? TOC_F : 0));
		speech_put(buf, at, bits, frames[i].data);
		toc += l->entry;
		at += span_bits(l, bits);
	}
}

static int amr_pack(const struct codec_use *use, uint8_t cmr,
		    const struct cr_frame *frames, unsigned n, uint8_t *buf,
		    size_t cap)
{
	int bytes;

	if (cmr != PAYLOAD_NO_CMR &&
	    (cmr >= amr_codec_of(use)->nmodes || !mode_allowed(use, cmr)))
		return -EINVAL;
	bytes = pack_bytes(use, frames, n);
	if (bytes < 0)
		return bytes;
	if ((size_t)bytes > cap)
		return -ENOSPC;
	memset(buf, 0, (size_t)bytes);
	bits_put(buf, 0, CMR_BITS, cmr);
	pack_amr_frames(use, frames, n, buf);
	return bytes;
}

static size_t amr_max_bytes(const struct codec_use *use)
{
	const struct codec *c = amr_codec_of(use);
	const struct layout *l = layout_of(use);
	unsigned most = (unsigned)c->bits[c->nmodes]; /* SID: always allowed */

	for (unsigned m = 0; m < c->nmodes; m++)
		if (mode_allowed(use, m) && (unsigned)c->bits[m] > most)
			most = (unsigned)c->bits[m];
	return octets_of_bits(l->head + l->entry + most);
}

static const struct payload_format payload_amr = {
	.open = amr_open,
	.next = amr_next,
	.pack = amr_pack,
	.max_bytes = amr_max_bytes,
};

/* --- PCM --- */

/*
 * PCM payloads (RFC 3551, 4.5.2, 4.5.4, 4.5.11, 4.5.14): PCMU, PCMA, L16, G.722
 * and G726-32, mono. Octets pass through; no sample is looked at. With
 * use->cfg.samples set a packet is cut into frames of that length, of which the
 * last may be shorter; without, it is one frame.
 */

static size_t pcm_max_bytes(const struct codec_use *use)
{
	unsigned samples = use->cfg.samples;

	if (!payload_pcm_bytes(use, samples) || samples > CR_PCM_SAMPLES_MAX)
		samples = CR_PCM_SAMPLES_MAX;
	return payload_pcm_bytes(use, samples);
}

static int pcm_open(struct payload_iter *it)
{
	size_t frame = pcm_max_bytes(it->use);
	size_t n = (it->n + frame - 1) / frame;

	if (it->use->kind == PAYLOAD_L16 && it->n % 2)
		return PAYLOAD_ODD;
	if (!it->use->cfg.samples && n > 1)
		return PAYLOAD_TOO_LONG;
	if (n > PAYLOAD_FRAMES_MAX)
		return PAYLOAD_TOO_MANY;
	it->info.nframes = (unsigned)n;
	return PAYLOAD_OK;
}

static void pcm_next(struct payload_iter *it, struct cr_frame *frame)
{
	size_t bytes = pcm_max_bytes(it->use);

	if (bytes > it->n - it->at)
		bytes = it->n - it->at;
	copy_frame(it, frame, CR_FRAME_SPEECH, bytes);
}

static bool pcm_fits(const struct codec_use *use, const struct cr_frame *f,
		     unsigned behind)
{
	(void)behind;
	return f->kind == CR_FRAME_SPEECH && f->bytes &&
	       f->bytes <= payload_pcm_bytes(use, CR_PCM_SAMPLES_MAX) &&
	       !(use->kind == PAYLOAD_L16 && f->bytes % 2);
}

static const struct payload_format payload_pcm = {
	.open = pcm_open,
	.next = pcm_next,
	.fits = pcm_fits,
	.max_bytes = pcm_max_bytes,
};

/* --- G.723.1 --- */

/*
 * G.723.1 payloads (RFC 3551, 4.5.3): frames one behind the other; the two low
 * bits of a frame's first octet say how long it is, and the rate may change at
 * any frame.
 */

#define G723_SID 2u
#define G723_RATE_BITS 3u
#define G723_LONGEST 24u

/* Octets by rate bits; 3 is reserved. */
static const uint8_t g723_frame_bytes[] = { G723_LONGEST, 20, 4, 0 };

static int g723_open(struct payload_iter *it)
{
	unsigned n = 0;
	size_t bytes;

	for (size_t at = 0; at < it->n; at += bytes, n++) {
		bytes = g723_frame_bytes[it->p[at] & G723_RATE_BITS];
		if (!bytes)
			return PAYLOAD_BAD_TYPE;
		if (n == PAYLOAD_FRAMES_MAX)
			return PAYLOAD_TOO_MANY;
		if (bytes > it->n - at)
			return PAYLOAD_SHORT;
	}
	it->info.nframes = n;
	return PAYLOAD_OK;
}

static void g723_next(struct payload_iter *it, struct cr_frame *frame)
{
	unsigned rate = it->p[it->at] & G723_RATE_BITS;

	copy_frame(it, frame, rate == G723_SID ? CR_FRAME_SID : CR_FRAME_SPEECH,
		   g723_frame_bytes[rate]);
	frame->mode = (uint8_t)rate;
}

/* The rate bits decide; the mode is for readers. */
static bool g723_fits(const struct codec_use *use, const struct cr_frame *f,
		      unsigned behind)
{
	(void)use;
	(void)behind;
	return f->kind != CR_FRAME_BAD && f->bytes &&
	       f->bytes == g723_frame_bytes[f->data[0] & G723_RATE_BITS];
}

static const struct payload_format payload_g723 = {
	.open = g723_open,
	.next = g723_next,
	.fits = g723_fits,
	.longest = G723_LONGEST,
};

/* --- Speex --- */

/*
 * Speex payloads (RFC 5574, 3.3): frames one behind the other, bit by bit, and
 * after the last one a zero and ones up to the octet's end. A frame that we
 * hand on is filled up in the same way. Which frames have which bits is
 * codecs/speex_bits.h.
 */

/* A frame with room for a request. */
#define SPEEX_LONGEST 128u

/* A zero, then ones, in the bits of @p behind @bits up to the octet's end. */
static void fill_up(uint8_t *p, size_t bits)
{
	unsigned rest = (unsigned)(-bits & 7);

	if (!rest)
		return;
	p += bits / 8;
	*p = (uint8_t)((*p & (0xff00u >> bits % 8)) | ((1u << (rest - 1)) - 1));
}

static int speex_open(struct payload_iter *it)
{
	size_t end = 8 * it->n, at = 0;
	unsigned n = 0;
	int bits;

	while ((bits = speex_bits_frame(it->p, at, end)) > 0) {
		if (n++ == PAYLOAD_FRAMES_MAX)
			return PAYLOAD_TOO_MANY;
		if (octets_of_bits((size_t)bits) > SPEEX_LONGEST)
			return PAYLOAD_TOO_LONG;
		at += (size_t)bits;
	}
	if (bits < 0)
		return bits == SPEEX_BITS_SHORT ? PAYLOAD_SHORT
						: PAYLOAD_BAD_TYPE;
	if (!n)
		return PAYLOAD_EMPTY;
	/* How it is filled up is not looked at: there are senders of zeros. */
	if (octets_of_bits(at) != it->n)
		return PAYLOAD_SURPLUS;
	it->info.nframes = n;
	return PAYLOAD_OK;
}

static void speex_next(struct payload_iter *it, struct cr_frame *frame)
{
	unsigned bits = (unsigned)speex_bits_frame(it->p, it->at, 8 * it->n);

	frame->kind = speex_bits_silent(it->p, it->at, 8 * it->n)
			      ? CR_FRAME_SID
			      : CR_FRAME_SPEECH;
	frame->mode = 0;
	frame->bytes = (uint16_t)octets_of_bits(bits);
	speech_get(it->p, it->at, bits, frame->data);
	fill_up(frame->data, bits);
	it->at += bits;
}

/* Bits of @f, if it is one frame, well filled up; else 0. */
static unsigned bits_of(const struct cr_frame *f)
{
	int bits = 0;

	if ((f->kind == CR_FRAME_SPEECH || f->kind == CR_FRAME_SID) &&
	    f->bytes <= SPEEX_LONGEST)
		bits = speex_bits_frame(f->data, 0, 8 * (size_t)f->bytes);
	if (bits <= 0 || octets_of_bits((size_t)bits) != f->bytes)
		return 0;
	return (unsigned)bits;
}

static int speex_pack(const struct codec_use *use, uint8_t cmr,
		      const struct cr_frame *frames, unsigned n, uint8_t *buf,
		      size_t cap)
{
	size_t at = 0;

	(void)use;
	(void)cmr;
	while (n && frames[n - 1].kind == CR_FRAME_NO_DATA)
		n--;
	for (unsigned i = 0; i < n; i++) {
		unsigned bits = bits_of(&frames[i]);

		if (!bits)
			return -EINVAL;
		if (octets_of_bits(at + bits) > cap)
			return -ENOSPC;
		memset(buf + octets_of_bits(at), 0,
		       octets_of_bits(at + bits) - octets_of_bits(at));
		speech_put(buf, at, bits, frames[i].data);
		at += bits;
	}
	fill_up(buf, at);
	return (int)octets_of_bits(at);
}

static const struct payload_format payload_speex = {
	.open = speex_open,
	.next = speex_next,
	.pack = speex_pack,
	.longest = SPEEX_LONGEST,
};

/* --- frames of one length, and whole packets --- */

/*
 * Payloads that need not be understood: frames of one length, one behind the
 * other, of which the last may be a SID of another length (GSM and G.729: RFC
 * 3551, 4.5.8 and 4.5.6); and packets that are one frame each (Opus: RFC 7587,
 * 4.2). What the octets mean is the decoder's affair.
 */

static int frames_open(struct payload_iter *it)
{
	size_t frame = it->use->frame_bytes, rest = it->n % frame;
	size_t n = it->n / frame;

	if (rest && rest != it->use->sid_bytes)
		return PAYLOAD_SHORT;
	n += rest != 0;
	if (n > PAYLOAD_FRAMES_MAX)
		return PAYLOAD_TOO_MANY;
	it->info.nframes = (unsigned)n;
	return PAYLOAD_OK;
}

static void frames_next(struct payload_iter *it, struct cr_frame *frame)
{
	bool sid = it->n - it->at < it->use->frame_bytes;

	if (sid)
		copy_frame(it, frame, CR_FRAME_SID, it->use->sid_bytes);
	else
		copy_frame(it, frame, CR_FRAME_SPEECH, it->use->frame_bytes);
}

static size_t most_bytes(const struct codec_use *use)
{
	return use->frame_bytes;
}

/* A SID is the last one. */
static bool frames_fits(const struct codec_use *use, const struct cr_frame *f,
			unsigned behind)
{
	if (f->kind == CR_FRAME_SID)
		return !behind && f->bytes && f->bytes == use->sid_bytes;
	return f->kind == CR_FRAME_SPEECH && f->bytes == use->frame_bytes;
}

static int whole_open(struct payload_iter *it)
{
	if (it->n > it->use->frame_bytes)
		return PAYLOAD_TOO_LONG;
	it->info.nframes = 1;
	return PAYLOAD_OK;
}

static void whole_next(struct payload_iter *it, struct cr_frame *frame)
{
	copy_frame(it, frame, CR_FRAME_SPEECH, it->n);
}

static bool whole_fits(const struct codec_use *use, const struct cr_frame *f,
		       unsigned behind)
{
	return !behind && f->kind != CR_FRAME_BAD && f->bytes &&
	       f->bytes <= use->frame_bytes;
}

static const struct payload_format payload_frames = {
	.open = frames_open,
	.next = frames_next,
	.fits = frames_fits,
	.max_bytes = most_bytes,
};

static const struct payload_format payload_whole = {
	.open = whole_open,
	.next = whole_next,
	.fits = whole_fits,
	.max_bytes = most_bytes,
};

/* --- the choice --- */

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

int payload_open(const struct codec_use *use, const uint8_t *p, size_t n,
		 struct payload_iter *it)
{
	struct payload_iter draft = {
		.info = { .cmr = PAYLOAD_NO_CMR },
		.use = use,
		.p = p,
		.n = n,
	};
	int reason;

	if (!n)
		return PAYLOAD_EMPTY;
	reason = formats[use->kind]->open(&draft);
	if (!reason)
		*it = draft;
	return reason;
}

bool payload_next(struct payload_iter *it, struct cr_frame *frame)
{
	if (it->next == it->info.nframes)
		return false;
	formats[it->use->kind]->next(it, frame);
	it->next++;
	return true;
}

int payload_pack(const struct codec_use *use, uint8_t cmr,
		 const struct cr_frame *frames, unsigned n, uint8_t *buf,
		 size_t cap)
{
	const struct payload_format *format = formats[use->kind];

	if (!n || n > PAYLOAD_FRAMES_MAX)
		return -EINVAL;
	if (format->pack)
		return format->pack(use, cmr, frames, n, buf, cap);
	return pack_as_they_are(format, use, frames, n, buf, cap);
}

size_t payload_max_bytes(const struct codec_use *use)
{
	const struct payload_format *format = formats[use->kind];

	return format->longest ? format->longest : format->max_bytes(use);
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

int payload_format_find(struct codec_use *use)
{
	const struct cr_codec *c = use->codec;
	int kind = PAYLOAD_WHOLE;

	if (c->packing == CR_PACK_OWN) {
		kind = payload_kind_find(c->name);
		if (kind < 0)
			return -EINVAL;
	} else if (c->packing == CR_PACK_FRAMES) {
		kind = PAYLOAD_FRAMES;
		use->frame_bytes = c->modes[0].bytes;
		use->sid_bytes = c->sid_bytes;
	} else {
		use->frame_bytes = c->frame_max;
	}
	use->kind = (enum payload_kind)kind;
	return 0;
}

/* --- two uses --- */

bool codec_use_same(const struct codec_use *a, const struct codec_use *b,
		    unsigned what)
{
	unsigned same = 0;

	if (a->codec == b->codec && codec_use_rate(a) == codec_use_rate(b) &&
	    a->cfg.spin == b->cfg.spin)
		same |= SAME_CODEC;
	if (a->cfg.mode == b->cfg.mode)
		same |= SAME_MODE;
	if (a->cfg.samples == b->cfg.samples)
		same |= SAME_FRAME;
	if (a->cfg.dtx == b->cfg.dtx)
		same |= SAME_DTX;
	if (a->cfg.complexity == b->cfg.complexity)
		same |= SAME_COMPLEXITY;
	if (a->cfg.fec == b->cfg.fec)
		same |= SAME_FEC;
	if (a->pt == b->pt)
		same |= SAME_PT;
	if (a->amr.octet_align == b->amr.octet_align &&
	    a->amr.mode_set == b->amr.mode_set)
		same |= SAME_LAYOUT;
	if (a->amr.mode_second == b->amr.mode_second &&
	    a->amr.mode_next == b->amr.mode_next)
		same |= SAME_MODE_CHANGES;
	if ((a->frames ? a->frames : 1) == (b->frames ? b->frames : 1))
		same |= SAME_PACKET;
	return (same & what) == what;
}
