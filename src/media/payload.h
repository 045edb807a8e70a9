/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payload formats: RTP payloads into codec frames (struct cr_frame) and back.
 *
 *   amr, amr-wb  RFC 4867, bandwidth-efficient and octet-aligned, mono; without
 *                CRC, robust sorting and interleaving (a call that asks for
 *                them must be refused before it comes here)
 *   pcmu, pcma   RFC 3551, one octet a sample
 *   l16          RFC 3551, 16 bits a sample, network byte order, mono
 *   g722         RFC 3551, an octet for two samples of 16 kHz
 *   g726-32      RFC 3551, an octet for two samples
 *   speex, -wb   RFC 5574, frames of as many bits as they say
 *   g723_1       RFC 3551, frames of 24, 20 or 4 octets
 *   others       as the codec says (enum cr_packing): frames of one length one
 *                behind the other, such as gsm (RFC 3551, 4.5.8), or a packet
 *                that is one frame
 *
 * What a frame holds:
 *
 *   AMR          mode = frame type: speech 0..7 (WB 0..8), SID 8 (WB 9),
 *                NO_DATA 15, WB SPEECH_LOST 14. data = the speech bits in the
 *                order of RFC 4867 (by class), first bit in the MSB, the last
 *                octet filled with zeros: a frame of the storage format
 *                without its ToC octet. A frame with Q = 0 is CR_FRAME_BAD and
 *                keeps mode and data; SPEECH_LOST is CR_FRAME_BAD, empty.
 *   PCMU, PCMA,  the octets
 *   G.722, G.726
 *   L16          the octets as on the wire, high one first: the codec swaps
 *   G.723.1      the octets; mode = the two low bits of the first one: 0 6.3
 *                kbit/s, 1 5.3 kbit/s, 2 SID
 *   Speex        the bits, filled up as a packet is: a zero, then ones
 *   others       the octets; mode = 0
 *
 * Pure functions over the caller's memory: any thread, no allocation.
 */
#ifndef MEDIA_PAYLOAD_H
#define MEDIA_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cr/codec.h"
#include "sdp/fmtp.h"

/** Most frames in one packet (240 ms of AMR). */
#define PAYLOAD_FRAMES_MAX 12u
/** A packet that is one frame, and no longer than this, is silence: Opus with
 * DTX shows it in nothing else (RFC 7587, 3.1.3; RFC 6716, 3.1). */
#define PAYLOAD_QUIET_BYTES 2u
/** CMR: no mode requested (RFC 4867, 4.3.1). */
#define PAYLOAD_NO_CMR 15u
/** AMR frame types without speech bits (3GPP TS 26.101, 26.201). */
#define PAYLOAD_FT_LOST 14u
#define PAYLOAD_FT_NO_DATA 15u

enum payload_kind {
	PAYLOAD_AMR,
	PAYLOAD_AMR_WB,
	PAYLOAD_PCMU,
	PAYLOAD_PCMA,
	PAYLOAD_L16,
	PAYLOAD_G723,
	PAYLOAD_G722,
	PAYLOAD_FRAMES,
	PAYLOAD_WHOLE,
	PAYLOAD_G726,
	PAYLOAD_SPEEX
};

#define PAYLOAD_NKINDS 11u

/** Of a payload type. */
#define CODEC_PT_UNSAID 255u

/**
 * One end's codec, how it is used, and how its frames travel: what a request, a
 * description or a campaign asks for, checked in place by codec_use_check()
 * (node/call_check.h), is what a pipeline and payloads use. Zero asks for the
 * defaults, but for pt.
 */
struct codec_use {
	/* Asked for by name; texts are static when that was checked. */
	const char *name; /**< of the codec; NULL: not said             */
	const char *mode; /**< NULL: the codec's, or the best of mode_set */
	uint8_t pt; /**< of its packets; CODEC_PT_UNSAID: RFC 3551's, or 96 */
	/** The mode is the one that @mode names. complexity: a tunable
	 * encoder's. samples, of PCM: of a frame; 0: a packet is one. */
	struct cr_codec_cfg cfg;
	struct fmtp_amr amr; /**< AMR's payload format, and how its modes change
			      */
	/* by the codec's name */
	const struct cr_codec *codec;
	enum payload_kind kind;
	uint16_t frame_bytes; /**< FRAMES: of each; WHOLE: most; not 0       */
	uint16_t sid_bytes;   /**< FRAMES: of a SID at the end; 0: none      */
	/** An output: frames in a packet, up to PAYLOAD_FRAMES_MAX; 0: one. An
	 * input takes what comes. */
	unsigned frames;
};

/** Do two samples share an octet? */
static inline bool payload_halves(const struct codec_use *use)
{
	return use->kind == PAYLOAD_G722 || use->kind == PAYLOAD_G726;
}

/** May a frame have any length? */
static inline bool payload_is_pcm(const struct codec_use *use)
{
	return use->kind == PAYLOAD_PCMU || use->kind == PAYLOAD_PCMA ||
	       use->kind == PAYLOAD_L16 || payload_halves(use);
}

/** The bytes that @samples take, where a frame may have any length. An odd
 * sample of two that share a byte takes none. */
static inline size_t payload_pcm_bytes(const struct codec_use *use,
				       unsigned samples)
{
	if (payload_halves(use))
		return samples / 2;
	return use->kind == PAYLOAD_L16 ? 2 * (size_t)samples : samples;
}

/** The samples in @bytes, where a frame may have any length. */
static inline unsigned payload_pcm_samples(const struct codec_use *use,
					   size_t bytes)
{
	if (payload_halves(use))
		return 2 * (unsigned)bytes;
	return (unsigned)(use->kind == PAYLOAD_L16 ? bytes / 2 : bytes);
}

/** Sampling rate of its PCM, Hz. */
static inline unsigned codec_use_rate(const struct codec_use *s)
{
	return s->cfg.sample_rate ? s->cfg.sample_rate : s->codec->sample_rate;
}

/** Rate of its RTP timestamps, Hz. */
static inline unsigned codec_use_clock(const struct codec_use *s)
{
	return cr_codec_clock(s->codec, s->cfg.sample_rate);
}

/** How many samples a decoder makes of a frame of @bytes at @data. */
static inline unsigned codec_use_samples(const struct codec_use *s,
					 const uint8_t *data, unsigned bytes)
{
	unsigned rate = codec_use_rate(s), n = 0;

	if (s->codec->any_length)
		return payload_pcm_samples(s, bytes);
	if (s->codec->packet_samples)
		n = s->codec->packet_samples(data, bytes, rate);
	return n ? n
		 : (unsigned)(cr_codec_frame_ns(s->codec, &s->cfg) * rate /
			      CR_SEC);
}

/** How much speech a packet of an output has, ns. */
static inline cr_ns codec_use_packet(const struct codec_use *s)
{
	return cr_codec_frame_ns(s->codec, &s->cfg) *
	       (s->frames ? s->frames : 1);
}

/** What may be the same of two uses of a codec. */
enum codec_same {
	SAME_CODEC = 1, /**< with its rate, and the time of "spin" */
	SAME_MODE = 1 << 1,
	SAME_FRAME = 1 << 2, /**< cfg.samples */
	SAME_DTX = 1 << 3,
	SAME_COMPLEXITY = 1 << 4,
	SAME_FEC = 1 << 5,
	SAME_PT = 1 << 6,
	SAME_LAYOUT = 1 << 7,	    /**< octet_align, mode_set */
	SAME_MODE_CHANGES = 1 << 8, /**< mode_second, mode_next */
	SAME_PACKET = 1 << 9,	    /**< how many frames it has */

	/** One decoder may go on for the other; of PCM, which a decoder takes
	 * as it comes, also without SAME_FRAME. */
	SAME_DECODER = SAME_CODEC | SAME_FRAME | SAME_LAYOUT,
	/** One encoder may. */
	SAME_ENCODER = SAME_CODEC | SAME_DTX | SAME_COMPLEXITY | SAME_FEC,
	/** Both take as long. */
	SAME_COST = SAME_ENCODER | SAME_MODE | SAME_FRAME,
	/** What one party sends is what the other one is to be sent. That one
	 * end's encoder tries harder is its own matter. */
	SAME_RELAYED =
		SAME_CODEC | SAME_MODE | SAME_DTX | SAME_FEC | SAME_LAYOUT,
	/** The same speech, but for the mode in use, also if packets of one
	 * are longer. */
	SAME_SPEECH = SAME_ENCODER | SAME_PT | SAME_LAYOUT | SAME_MODE_CHANGES,
	/** The same output, but for the mode in use. */
	SAME_OUTPUT = SAME_SPEECH | SAME_FRAME | SAME_PACKET
};

/** Are @a and @b, both checked, the same in all of @what, of enum codec_same?
 */
bool codec_use_same(const struct codec_use *a, const struct codec_use *b,
		    unsigned what);

/** Why a payload was refused; negative, so that -reason counts from 1. */
enum payload_reason {
	PAYLOAD_OK = 0,
	PAYLOAD_EMPTY = -1,    /**< nothing at all                         */
	PAYLOAD_SHORT = -2,    /**< ends within a table or a frame         */
	PAYLOAD_SURPLUS = -3,  /**< octets beyond what the table announces */
	PAYLOAD_TOO_MANY = -4, /**< more than PAYLOAD_FRAMES_MAX           */
	PAYLOAD_BAD_TYPE = -5, /**< reserved or foreign frame type         */
	PAYLOAD_MODE_SET = -6, /**< a mode outside mode_set                */
	PAYLOAD_ODD = -7,      /**< half a sample                          */
	PAYLOAD_TOO_LONG = -8  /**< a PCM frame beyond any codec's         */
};

/** One more than the largest -reason: the size of a table of counters. */
#define PAYLOAD_NREASONS 9u

/** Name of @reason for counters and logs ("bad-type"); never NULL. */
const char *payload_reason_name(int reason);

/** Header of a whole payload. */
struct payload_info {
	uint8_t cmr;	  /**< AMR: mode requested of us, or PAYLOAD_NO_CMR */
	unsigned nframes; /**< 1..PAYLOAD_FRAMES_MAX                    */
};

/** A validated payload being read. Only info is for callers. */
struct payload_iter {
	struct payload_info info;
	const struct codec_use *use;
	const uint8_t *p;
	size_t n;
	unsigned next; /**< frames read so far                             */
	size_t at;     /**< of the next frame: bits (AMR), octets (others) */
};

/**
 * Check the whole payload of @n bytes at @p and begin to read it. @use and @p
 * must outlive @it. Returns 0, or a negative enum payload_reason; *@it is
 * written only with 0. A CMR that is reserved or outside mode_set is ignored
 * (RFC 4867, 4.3.1); a packet with a reserved or foreign frame type is refused
 * as a whole (4.3.2), so is one with a mode outside mode_set (8.1).
 */
int payload_open(const struct codec_use *use, const uint8_t *p, size_t n,
		 struct payload_iter *it);

/** The next frame, oldest first, copied to *@frame (of data only the frame's
 * bytes are written). False, and *@frame untouched: that was all. */
bool payload_next(struct payload_iter *it, struct cr_frame *frame);

/**
 * Pack @n frames (1..PAYLOAD_FRAMES_MAX) into @buf of @cap bytes.
 *
 * @cmr: AMR: mode we request of the other side, or PAYLOAD_NO_CMR.
 * Returns the payload's bytes; 0: nothing to send (only NO_DATA frames in a
 * format that has no sign for them); -EINVAL: a frame, mode, CMR or count that
 * the format or mode_set has no place for; -ENOSPC: @cap is too small.
 */
int payload_pack(const struct codec_use *use, uint8_t cmr,
		 const struct cr_frame *frames, unsigned n, uint8_t *buf,
		 size_t cap);

/** Largest payload of one frame under @use, bytes. */
size_t payload_max_bytes(const struct codec_use *use);

/** The payload format that the codec called @name has of its own, or -1: enum
 * payload_kind. The codec "spin" travels as l16. */
int payload_kind_find(const char *name);

/** Fill in the payload format of @use->codec. Returns 0, or -EINVAL when it has
 * none. */
int payload_format_find(struct codec_use *use);

/* --- payload types that are passed on to another endpoint --- */

/** Types that one side passes on to the other, as both have agreed on them, and
 * what the other side knows them by. Signalling says them; without it one goes
 * by the types of the two codecs. */
#define PASSED_TYPES_MAX 64u

struct passed_types {
	unsigned n; /**< 0: nobody has said */
	struct passed_type {
		uint8_t pt, as;
		uint32_t clock; /**< of speech, Hz; 0: it travels among that */
	} one[PASSED_TYPES_MAX];
};

static inline bool passed_has(const struct passed_types *p, uint8_t pt)
{
	for (unsigned i = 0; i < p->n; i++)
		if (p->one[i].pt == pt)
			return true;
	return false;
}

#endif
