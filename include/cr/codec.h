/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codec plug-in interface, for built-in codecs and for those from outside.
 *
 * A codec turns PCM (native-endian int16, mono) into frames and back. It knows
 * nothing of RTP: how frames are packed into payloads is src/media/payload.
 * Encoder and decoder states are opaque, owned by one call and used by one
 * thread at a time (the worker that runs the call's job); no locks inside.
 * What a frame costs is not said here: the program measures it.
 */
#ifndef CR_CODEC_H
#define CR_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cr/error.h"
#include "cr/time.h"

/** Raised with every incompatible change of this header. */
#define CR_CODEC_ABI 2u
/** Largest frame of any codec, bytes (L16 at 16 kHz, 60 ms). */
#define CR_FRAME_MAX 1920u
/** Largest frame of a codec whose frames have any length, samples (16 kHz,
 * 60 ms). */
#define CR_PCM_SAMPLES_MAX 960u
/** Largest frame of any codec, samples (48 kHz, 120 ms). No frame lasts longer,
 * at whatever rate. */
#define CR_FRAME_SAMPLES_MAX 5760u

enum cr_frame_kind {
	CR_FRAME_SPEECH,
	CR_FRAME_SID,	  /**< comfort-noise parameters                    */
	CR_FRAME_NO_DATA, /**< nothing to send or nothing received         */
	CR_FRAME_BAD	  /**< received damaged or lost: decoder conceals  */
};

/** One codec frame, outside any packet. */
struct cr_frame {
	enum cr_frame_kind kind;
	uint8_t mode;	/**< codec mode (AMR frame type); 0 where none  */
	uint16_t bytes; /**< length of data                             */
	uint8_t data[CR_FRAME_MAX];
};

/** How RTP packs the frames of a codec. */
enum cr_packing {
	/** In a way of its own, which src/media/payload knows by the codec's
	 * name: built-in codecs only. */
	CR_PACK_OWN,
	/** Frames of modes[0].bytes, the same in every mode, one behind the
	 * other; the last may be a SID of sid_bytes. */
	CR_PACK_FRAMES,
	/** A packet is one frame of 1..frame_max bytes. */
	CR_PACK_WHOLE,
};

/** One operating mode (bit rate). */
struct cr_codec_mode {
	const char *name;  /**< "12.2"                     */
	uint32_t bit_rate; /**< bit/s                     */
	uint16_t bytes;	   /**< of a speech frame's data   */
};

/** How a call uses a codec. Zero-initialise, then set what matters. */
struct cr_codec_cfg {
	unsigned mode;	      /**< index into modes[]                         */
	unsigned sample_rate; /**< Hz, of rates[]; 0: the codec's own         */
	unsigned samples;     /**< per frame; 0: the codec's own; PCM: ptime  */
	bool dtx;	      /**< discontinuous transmission, where known    */
	unsigned complexity; /**< of a tunable encoder: 1 + 0..10; 0: its own */
	unsigned fec;	     /**< tunable: loss to protect from, percent     */
	cr_ns spin;	     /**< CPU time per frame; codec "spin" only      */
};

/**
 * struct cr_codec - one codec
 *
 * The registry (codecs/registry.c) lists them. An encoder or decoder may be
 * missing (NULL open): the codec then works in one direction only.
 *
 * A codec from outside is a shared object with a
 *
 *     const struct cr_codec cr_codec_plugin
 *
 * loaded with the programs' option --codec. It has both directions, and its
 * packing is not CR_PACK_OWN.
 */
struct cr_codec {
	uint32_t abi;	      /**< CR_CODEC_ABI; built-in codecs: 0         */
	const char *name;     /**< "amr": control protocol, campaigns       */
	const char *rtp_name; /**< "AMR": SDP encoding name                 */
	const char *help;     /**< one line: what, standard, library        */
	int static_pt;	      /**< RFC 3551 payload type, or -1: dynamic    */
	unsigned sample_rate; /**< Hz, of the PCM side                      */
	unsigned rtp_clock;   /**< Hz, of RTP timestamps at sample_rate     */
	unsigned samples;     /**< per frame at sample_rate                 */
	bool any_length;      /**< PCM of CR_PACK_OWN: frames of any length */
	/** Rates of the PCM side, Hz, rising, 0 at the end; NULL: sample_rate
	 * only. */
	const unsigned *rates;
	bool clock_is_rate; /**< the RTP clock is the rate, not rtp_clock  */
	bool rate_follows;  /**< unsaid, the rate is the call's other side's */
	/** Lengths that a frame may have, ns, rising, 0 at the end; NULL: only
	 * samples, or any_length. A decoder takes what comes. */
	const cr_ns *lengths;
	bool dtx;     /**< knows discontinuous transmission                */
	bool tunable; /**< knows cfg.complexity and cfg.fec                */
	bool declares_cost; /**< a frame takes cfg.spin: never measured   */
	bool kernels; /**< of its library: codecs/kernels may replace some  */
	enum cr_packing packing; /**< of its frames, in RTP                 */
	uint16_t sid_bytes;	 /**< CR_PACK_FRAMES: of a SID; 0: has none */
	uint16_t frame_max;	 /**< CR_PACK_WHOLE: bytes, <= CR_FRAME_MAX */
	const struct cr_codec_mode *modes; /**< [nmodes], nmodes >= 1       */
	unsigned nmodes, default_mode;

	/**
	 * Make an encoder. @cfg is copied. Returns 0 and sets *@enc, or
	 * -EINVAL (mode, rate or length the codec lacks), -ENOMEM, with @e.
	 */
	int (*encoder_open)(void **enc, const struct cr_codec_cfg *cfg,
			    struct cr_err *e);
	/**
	 * Encode @pcm, the samples of one frame, and fill @out: kind, mode,
	 * bytes, data. @mode may change with every frame.
	 * Returns 0, or -EINVAL for a mode the codec lacks.
	 */
	int (*encode)(void *enc, unsigned mode, const int16_t *pcm,
		      struct cr_frame *out);
	void (*encoder_close)(void *enc); /**< NULL is fine */

	int (*decoder_open)(void **dec, const struct cr_codec_cfg *cfg,
			    struct cr_err *e);
	/**
	 * Decode @in into @pcm. A frame that does not fit the codec (length,
	 * mode) is concealed, never an error: input is from the network.
	 * Returns the number of samples written (<= CR_FRAME_SAMPLES_MAX). Of
	 * a lost frame or of silence they may be fewer or more than are
	 * missing: it is called again, or the rest is dropped.
	 */
	unsigned (*decode)(void *dec, const struct cr_frame *in, int16_t *pcm);
	/**
	 * In place of a lost frame, when @next, the one behind it, has come:
	 * what @next says of it (in-band FEC), or concealment. @next is to be
	 * decoded afterwards. Returns as decode(), up to where @next begins.
	 * NULL: frames say nothing of others.
	 */
	unsigned (*recover)(void *dec, const struct cr_frame *next,
			    int16_t *pcm);
	void (*decoder_close)(void *dec); /**< NULL is fine */
	/**
	 * CR_PACK_WHOLE: how many samples at @rate decode() will make of
	 * @packet; 0: it is none. NULL: as many as a frame has. Any thread.
	 */
	unsigned (*packet_samples)(const uint8_t *packet, unsigned bytes,
				   unsigned rate);
};

/* The rest belongs to the program: a plug-in cannot call it. */

/** All codecs, NULL-terminated, in the order they are shown. */
extern const struct cr_codec *const *const cr_codecs;

/** "relayed", which is none of them: it stands for a codec that both parties of
 * a two-way call have, and has neither encoder nor decoder. */
extern const struct cr_codec cr_codec_relayed;

/** The codec called @name, or NULL. */
const struct cr_codec *cr_codec_find(const char *name);

/** Index of the mode called @name in @c ("12.2"), or -1. */
int cr_codec_mode_find(const struct cr_codec *c, const char *name);

/** Can @c have @rate, Hz? */
bool cr_codec_has_rate(const struct cr_codec *c, unsigned rate);

/** The rates of @c for a message: "8000, 16000 or 48000". Returns @buf. */
const char *cr_codec_rates_text(const struct cr_codec *c, char *buf,
				size_t size);

/** May a frame of @c last @time? */
bool cr_codec_has_length(const struct cr_codec *c, cr_ns time);

/** Rate of the RTP timestamps of @c at sample rate @rate (0: its own), Hz. */
unsigned cr_codec_clock(const struct cr_codec *c, unsigned rate);

/** Nominal frame duration of @c under @cfg, in ns. */
cr_ns cr_codec_frame_ns(const struct cr_codec *c,
			const struct cr_codec_cfg *cfg);

#endif
