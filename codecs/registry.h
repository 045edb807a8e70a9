/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The built-in codecs, one line each, for registry.c and tests; codecs as
 * people name them; plug-ins; and opening encoders and decoders.
 */
#ifndef CODECS_REGISTRY_H
#define CODECS_REGISTRY_H

#include "cr/codec.h"
#include "cr/error.h"

extern const struct cr_codec codec_pcmu;
extern const struct cr_codec codec_pcma;
extern const struct cr_codec codec_l16;
extern const struct cr_codec codec_g722;
extern const struct cr_codec codec_gsm;
extern const struct cr_codec codec_opus;
extern const struct cr_codec codec_g726_32;
extern const struct cr_codec codec_speex;
extern const struct cr_codec codec_speex_wb;
extern const struct cr_codec codec_amr;
extern const struct cr_codec codec_amr_wb;
extern const struct cr_codec codec_g723_1; /* only with CR_HAVE_AVCODEC */
extern const struct cr_codec codec_spin;

/** The codec @name into *@out; the number of @codec's mode @name, NULL: its
 * default one. 0, or -EINVAL with @e, which has the nearest name. */
int codec_named(const struct cr_codec **out, const char *name,
		struct cr_err *e);
int codec_mode_named(unsigned *mode, const struct cr_codec *codec,
		     const char *name, struct cr_err *e);

/* --- plug-ins --- */

/**
 * Load the codec in the shared object @path, which has a slash and exports a
 * const struct cr_codec cr_codec_plugin, behind those that cr_codecs has.
 * The object stays loaded. Before any other thread runs. Returns 0; or with @e
 * -ENOEXEC (no slash, not a codec, another ABI, a table that breaks the
 * contract), -EEXIST (there is one of its name), -ENOSPC (too many).
 */
int codec_plugin_load(const char *path, struct cr_err *e);

/** The reason why @c is unusable as a plug-in, or NULL. Pure. */
const char *codec_plugin_flaw(const struct cr_codec *c);

/* --- opening --- */

/*
 * Encoders and decoders are opened through these two: some libraries do not
 * check the memory that they allocate, so codec_open_*() makes sure of it
 * before.
 */

/** As @c's encoder_open(), but -ENOMEM with @e where memory is short. Any
 * thread. */
int codec_open_encoder(const struct cr_codec *c, void **enc,
		       const struct cr_codec_cfg *cfg, struct cr_err *e);

/** As @c's decoder_open(), which it has. */
int codec_open_decoder(const struct cr_codec *c, void **dec,
		       const struct cr_codec_cfg *cfg, struct cr_err *e);

#endif
