/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payloads by frame number, and three file formats.
 */
#include "feeder/dump.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "feeder/source.h"
#include "media/payload.h"
#include "run/run.h"
#include "speech/wav.h"

#define MAX_FRAMES (UINT64_C(1) << 24) /* 93 hours of 20 ms */
#define G723_UNTRANSMITTED 3u	       /* two low bits of the first octet */

struct kept {
	uint8_t *data; /* NULL: lost */
	size_t bytes;
};

struct dump {
	struct codec_use endpoint;
	struct codec_use payload;
	unsigned samples;
	struct kept *frames;
	uint64_t count, room;
};

struct dump *dump_new(const struct codec_use *out, unsigned samples)
{
	struct dump *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->endpoint = *out;
	d->samples = samples;
	if (source_codec_use(out, &d->payload)) {
		free(d);
		return NULL;
	}
	return d;
}

static bool make_frame_room(struct dump *d, uint64_t index)
{
	uint64_t room = d->room ? d->room : 256;
	struct kept *grown;

	while (room <= index)
		room *= 2;
	if (room == d->room)
		return true;
	grown = realloc(d->frames, room * sizeof(*grown));
	if (!grown)
		return false;
	memset(grown + d->room, 0, (room - d->room) * sizeof(*grown));
	d->frames = grown;
	d->room = room;
	return true;
}

void dump_put(struct dump *d, uint64_t index, const uint8_t *payload,
	      size_t bytes)
{
	struct kept *k;

	if (index >= MAX_FRAMES || !make_frame_room(d, index))
		return;
	k = &d->frames[index];
	if (k->data)
		return;
	k->data = malloc(bytes ? bytes : 1);
	if (!k->data)
		return;
	memcpy(k->data, payload, bytes);
	k->bytes = bytes;
	if (index >= d->count)
		d->count = index + 1;
}

/* The first frame of a payload; false when it is lost or broken. */
static bool read_frame(const struct dump *d, uint64_t i, struct cr_frame *f)
{
	const struct kept *k = &d->frames[i];
	struct payload_iter it;

	return k->data &&
	       payload_open(&d->payload, k->data, k->bytes, &it) == 0 &&
	       payload_next(&it, f);
}

/* ToC octet: F=0, FT, Q, two zeros (RFC 4867, 5.3). */
static void write_amr(const struct dump *d, FILE *f)
{
	struct cr_frame frame;

	(void)fputs(d->payload.kind == PAYLOAD_AMR ? "#!AMR\n" : "#!AMR-WB\n",
		    f);
	for (uint64_t i = 0; i < d->count; i++) {
		bool quality = true;

		if (!read_frame(d, i, &frame))
			frame = (struct cr_frame){ .mode = PAYLOAD_FT_NO_DATA };
		else
			quality = frame.kind != CR_FRAME_BAD;
		(void)fputc(frame.mode << 3 | quality << 2, f);
		(void)fwrite(frame.data, 1, frame.bytes, f);
	}
}

/* Decode it as a listener would: the decoder conceals lost frames; with PCM
 * codecs they are silence. */
static int write_wav(const struct dump *d, FILE *f, struct cr_err *e)
{
	const struct cr_codec *c = d->endpoint.codec;
	int16_t pcm[CR_FRAME_SAMPLES_MAX];
	uint8_t head[WAV_HEADER_BYTES];
	void *dec = NULL;
	int rc = c->decoder_open(&dec, &d->endpoint.cfg, e);

	if (rc)
		return rc;
	wav_header(head, codec_use_rate(&d->endpoint), d->count * d->samples);
	(void)fwrite(head, 1, sizeof(head), f);
	for (uint64_t i = 0; i < d->count; i++) {
		struct cr_frame frame;
		bool there = read_frame(d, i, &frame);

		memset(pcm, 0, sizeof(pcm));
		if (!there)
			frame = (struct cr_frame){ .kind = CR_FRAME_BAD };
		if (there || !c->any_length)
			(void)c->decode(dec, &frame, pcm);
		wav_put(f, pcm, d->samples);
	}
	c->decoder_close(dec);
	return 0;
}

static int write_dump(const struct dump *d, bool decoded, const char *dir,
		      const char *name, struct cr_err *e)
{
	static const char *const names[PAYLOAD_NKINDS] = {
		[PAYLOAD_AMR] = "amr",
		[PAYLOAD_AMR_WB] = "awb",
		[PAYLOAD_G723] = "g723_1",
	};
	enum payload_kind kind = d->payload.kind;
	char full[256];
	struct cr_frame frame;
	struct run_file file;
	int rc, closed;

	(void)snprintf(full, sizeof(full), "%s.%s", name,
		       decoded || !names[kind] ? "wav" : names[kind]);
	rc = run_file_open(&file, dir, full, e);
	if (rc)
		return rc;
	if (!decoded && (kind == PAYLOAD_AMR || kind == PAYLOAD_AMR_WB))
		write_amr(d, file.f);
	else if (decoded || kind != PAYLOAD_G723)
		rc = write_wav(d, file.f, e);
	else
		for (uint64_t i = 0; i < d->count; i++)
			if (read_frame(d, i, &frame))
				(void)fwrite(frame.data, 1, frame.bytes,
					     file.f);
			else
				(void)fputc(G723_UNTRANSMITTED, file.f);
	closed = run_file_close(&file, rc ? NULL : e);
	return rc ? rc : closed;
}

int dump_write(const struct dump *d, const char *dir, const char *name,
	       struct cr_err *e)
{
	return write_dump(d, false, dir, name, e);
}

int dump_write_speech(const struct dump *d, const char *dir, const char *name,
		      struct cr_err *e)
{
	return write_dump(d, true, dir, name, e);
}

bool dump_coded(const struct dump *d)
{
	return !d->endpoint.codec->any_length;
}

void dump_free(struct dump *d)
{
	if (!d)
		return;
	for (uint64_t i = 0; i < d->count; i++)
		free(d->frames[i].data);
	free(d->frames);
	free(d);
}
