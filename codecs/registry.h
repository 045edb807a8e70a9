/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The built-in codecs, one line each, for registry.c and tests; and codecs as
 * people name them.
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

/** Show @c behind all others. Before any other thread runs. 0 or -ENOSPC. */
int codec_register(const struct cr_codec *c);

/** The codec @name into *@out; the number of @codec's mode @name, NULL: its
 * default one. 0, or -EINVAL with @e, which has the nearest name. */
int codec_named(const struct cr_codec **out, const char *name,
		struct cr_err *e);
int codec_mode_named(unsigned *mode, const struct cr_codec *codec,
		     const char *name, struct cr_err *e);

#endif
