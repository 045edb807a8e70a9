/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The AMR libraries, as linked and as installed. LIBRARY_AMR_FILE,
 * LIBRARY_AMR_WB_FILE and LIBRARY_AMR_WB_DECODER_FILE are the installed ones.
 */
#define _GNU_SOURCE
#include "library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <opencore-amrnb/interf_dec.h>
#include <opencore-amrnb/interf_enc.h>
#include <opencore-amrwb/dec_if.h>
#include <vo-amrwbenc/enc_if.h>

/* Types of frames of both codecs; LOST is AMR-WB's only. */
enum { LOST = 14, NO_DATA = 15 };

/* A library's functions: what AMR and AMR-WB call differently, and the rest. */
struct library {
	enum library_codec codec;
	void *(*nb_open)(int dtx);
	void *(*wb_open)(void);
	int (*nb_encode)(void *enc, enum Mode mode, const short *pcm,
			 unsigned char *out, int force_speech);
	int (*wb_encode)(void *enc, int mode, const short *pcm,
			 unsigned char *out, int dtx);
	void (*encoder_close)(void *enc);
	void *(*decoder_open)(void);
	void (*decode)(void *dec, const unsigned char *in, short *pcm, int bad);
	void (*decoder_close)(void *dec);
};

const struct library_facts library_facts[LIBRARY_CODECS] = {
	[LIBRARY_AMR] = { .name = "amr",
			  .sample_rate = 8000,
			  .samples = 160,
			  .modes = 8 },
	[LIBRARY_AMR_WB] = { .name = "amr-wb",
			     .sample_rate = 16000,
			     .samples = 320,
			     .modes = 9 },
};

static const struct library linked[LIBRARY_CODECS] = {
	[LIBRARY_AMR] = { .codec = LIBRARY_AMR,
			  .nb_open = Encoder_Interface_init,
			  .nb_encode = Encoder_Interface_Encode,
			  .encoder_close = Encoder_Interface_exit,
			  .decoder_open = Decoder_Interface_init,
			  .decode = Decoder_Interface_Decode,
			  .decoder_close = Decoder_Interface_exit },
	[LIBRARY_AMR_WB] = { .codec = LIBRARY_AMR_WB,
			     .wb_open = E_IF_init,
			     .wb_encode = E_IF_encode,
			     .encoder_close = E_IF_exit,
			     .decoder_open = D_IF_init,
			     .decode = D_IF_decode,
			     .decoder_close = D_IF_exit },
};

static struct library installed[LIBRARY_CODECS] = {
	[LIBRARY_AMR] = { .codec = LIBRARY_AMR },
	[LIBRARY_AMR_WB] = { .codec = LIBRARY_AMR_WB },
};

_Noreturn static void die(const char *what, const char *why)
{
	(void)fprintf(stderr, "library: %s: %s\n", what, why);
	abort();
}

const struct library *library_linked(enum library_codec codec)
{
	return &linked[codec];
}

/* A shared library, and where it is in this process. */
struct shared {
	void *handle;
	struct link_map *map;
};

static struct shared load(const char *file)
{
	struct shared so = { .handle = dlopen(file, RTLD_NOW | RTLD_LOCAL) };

	if (!so.handle || dlinfo(so.handle, RTLD_DI_LINKMAP, &so.map))
		die(file, dlerror());
	return so;
}

/* Set the function pointer at @function to @symbol of @so, which must be there
 * and neither in this program nor in another library. */
static void find(void *function, struct shared so, const char *symbol)
{
	void *address = dlsym(so.handle, symbol), *map;
	Dl_info where;

	if (!address || !dladdr1(address, &where, &map, RTLD_DL_LINKMAP))
		die(symbol, "not in the installed library");
	if (map != so.map)
		die(symbol, "found outside the installed library");
	memcpy(function, &address, sizeof(address));
}

static void load_amr(struct library *l)
{
	struct shared so = load(LIBRARY_AMR_FILE);

	find(&l->nb_open, so, "Encoder_Interface_init");
	find(&l->nb_encode, so, "Encoder_Interface_Encode");
	find(&l->encoder_close, so, "Encoder_Interface_exit");
	find(&l->decoder_open, so, "Decoder_Interface_init");
	find(&l->decode, so, "Decoder_Interface_Decode");
	find(&l->decoder_close, so, "Decoder_Interface_exit");
}

static void load_amr_wb(struct library *l)
{
	struct shared encoder = load(LIBRARY_AMR_WB_FILE);
	struct shared decoder = load(LIBRARY_AMR_WB_DECODER_FILE);

	find(&l->wb_open, encoder, "E_IF_init");
	find(&l->wb_encode, encoder, "E_IF_encode");
	find(&l->encoder_close, encoder, "E_IF_exit");
	find(&l->decoder_open, decoder, "D_IF_init");
	find(&l->decode, decoder, "D_IF_decode");
	find(&l->decoder_close, decoder, "D_IF_exit");
}

const struct library *library_installed(enum library_codec codec)
{
	struct library *l = &installed[codec];

	if (!l->decode && codec == LIBRARY_AMR)
		load_amr(l);
	else if (!l->decode)
		load_amr_wb(l);
	return l;
}

void *library_encoder(const struct library *l, bool dtx)
{
	void *enc = l->codec == LIBRARY_AMR ? l->nb_open(dtx) : l->wb_open();

	if (!enc)
		die(library_facts[l->codec].name, "no encoder");
	return enc;
}

void library_encoder_close(const struct library *l, void *enc)
{
	l->encoder_close(enc);
}

unsigned library_encode(const struct library *l, void *enc, unsigned mode,
			bool dtx, const int16_t *pcm, uint8_t *out)
{
	int16_t own[LIBRARY_SAMPLES_MAX]; /* they clear low bits in place */
	int bytes;

	memcpy(own, pcm, library_facts[l->codec].samples * sizeof(*pcm));
	if (l->codec == LIBRARY_AMR)
		bytes = l->nb_encode(enc, (enum Mode)mode, own, out, 0);
	else
		bytes = l->wb_encode(enc, (int)mode, own, out, dtx);
	if (bytes < 0 || bytes > (int)LIBRARY_FRAME_MAX)
		die(library_facts[l->codec].name, "no frame");
	return (unsigned)bytes;
}

unsigned library_frame_type(enum library_codec codec, unsigned byte,
			    bool started)
{
	unsigned modes = library_facts[codec].modes;
	unsigned type = byte & 15;

	if (!started)
		return type % modes;
	if (type <= modes || type == NO_DATA)
		return type;
	return codec == LIBRARY_AMR_WB ? LOST : NO_DATA;
}

void *library_decoder(const struct library *l)
{
	void *dec = l->decoder_open();

	if (!dec)
		die(library_facts[l->codec].name, "no decoder");
	return dec;
}

void library_decoder_close(const struct library *l, void *dec)
{
	l->decoder_close(dec);
}

void library_decode(const struct library *l, void *dec, const uint8_t *frame,
		    int16_t *pcm)
{
	l->decode(dec, frame, pcm, 0);
}
