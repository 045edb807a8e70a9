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

/** How one stream packs its frames. Zero means the format's defaults. */
struct payload_cfg {
	enum payload_kind kind;
	bool octet_align;  /**< AMR: RFC 4867, 8.1; default no            */
	uint16_t mode_set; /**< AMR: bit m: mode m allowed; 0: all        */
	/* How its receiver wants AMR's modes to change (RFC 4867, 8.1). */
	bool mode_second;     /**< every second frame at most                */
	bool mode_next;	      /**< to the next one of mode_set               */
	unsigned sample_rate; /**< Hz; says nothing about the layout         */
	unsigned samples;     /**< PCM: per frame; 0: a packet is one frame  */
	uint16_t frame_bytes; /**< FRAMES: of each; WHOLE: most; not 0       */
	uint16_t sid_bytes;   /**< FRAMES: of a SID at the end; 0: none      */
};

/** Do two samples share an octet? */
static inline bool payload_halves(const struct payload_cfg *cfg)
{
	return cfg->kind == PAYLOAD_G722 || cfg->kind == PAYLOAD_G726;
}

/** May a frame have any length? */
static inline bool payload_is_pcm(const struct payload_cfg *cfg)
{
	return cfg->kind == PAYLOAD_PCMU || cfg->kind == PAYLOAD_PCMA ||
	       cfg->kind == PAYLOAD_L16 || payload_halves(cfg);
}

/** The bytes that @samples take, where a frame may have any length. An odd
 * sample of two that share a byte takes none. */
static inline size_t payload_pcm_bytes(const struct payload_cfg *cfg,
				       unsigned samples)
{
	if (payload_halves(cfg))
		return samples / 2;
	return cfg->kind == PAYLOAD_L16 ? 2 * (size_t)samples : samples;
}

/** The samples in @bytes, where a frame may have any length. */
static inline unsigned payload_pcm_samples(const struct payload_cfg *cfg,
					   size_t bytes)
{
	if (payload_halves(cfg))
		return 2 * (unsigned)bytes;
	return (unsigned)(cfg->kind == PAYLOAD_L16 ? bytes / 2 : bytes);
}

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

/** What a payload says as a whole. */
struct payload_info {
	uint8_t cmr;	  /**< AMR: mode requested of us, or PAYLOAD_NO_CMR */
	unsigned nframes; /**< 1..PAYLOAD_FRAMES_MAX                    */
};

/** A validated payload being read. Only info is for callers. */
struct payload_iter {
	struct payload_info info;
	const struct payload_cfg *cfg;
	const uint8_t *p;
	size_t n;
	unsigned next; /**< frames read so far                             */
	size_t at;     /**< of the next frame: bits (AMR), octets (others) */
};

/**
 * Check the whole payload of @n bytes at @p and begin to read it. @cfg and @p
 * must outlive @it. Returns 0, or a negative enum payload_reason; *@it is
 * written only with 0. A CMR that is reserved or outside mode_set is ignored
 * (RFC 4867, 4.3.1); a packet with a reserved or foreign frame type is refused
 * as a whole (4.3.2), so is one with a mode outside mode_set (8.1).
 */
int payload_open(const struct payload_cfg *cfg, const uint8_t *p, size_t n,
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
int payload_pack(const struct payload_cfg *cfg, uint8_t cmr,
		 const struct cr_frame *frames, unsigned n, uint8_t *buf,
		 size_t cap);

/** Largest payload of one frame under @cfg, bytes. */
size_t payload_max_bytes(const struct payload_cfg *cfg);

/** The payload format that the codec called @name has of its own, or -1: enum
 * payload_kind. The codec "spin" travels as l16. */
int payload_kind_find(const char *name);

/** The payload format of @c, with its defaults. Returns 0, or -EINVAL when it
 * has none. */
int payload_cfg_of(const struct cr_codec *c, struct payload_cfg *out);

#endif
