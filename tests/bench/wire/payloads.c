/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded speech as payloads of PCM codecs, which keep nothing from one frame
 * to the next: so a call may begin anywhere.
 */
#include "payloads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codecs/g711.h"
#include "cr/codec.h"
#include "speech/speech.h"

#define COUNT 8192u /* 164 s of 20 ms frames */
/* A call is that far behind the one before: odd, so that 8,192 differ. */
#define APART 2531u

static int code(struct payloads *p, const struct cr_codec *c,
		const struct cr_codec_cfg *cfg, struct speech_reader *r,
		struct cr_err *e)
{
	int16_t pcm[CR_FRAME_SAMPLES_MAX];
	struct cr_frame frame;
	void *enc;
	int rc = c->encoder_open(&enc, cfg, e);

	if (rc)
		return rc;
	for (unsigned i = 0; i < COUNT; i++) {
		speech_read(r, pcm, cfg->samples);
		(void)c->encode(enc, cfg->mode, pcm, &frame);
		if (!i) {
			p->bytes = frame.bytes;
			p->data = malloc(COUNT * p->bytes);
		}
		if (!p->data)
			break;
		memcpy(p->data + i * p->bytes, frame.data, p->bytes);
	}
	c->encoder_close(enc);
	p->count = COUNT;
	return p->data ? 0 : cr_fail(e, -ENOMEM, "out of memory");
}

int payloads_open(struct payloads *p, const char *codec, unsigned rate,
		  cr_ns ptime, uint64_t seed, struct cr_err *e)
{
	const struct cr_codec *c = cr_codec_find(codec);
	struct cr_codec_cfg cfg = { .sample_rate = rate };
	struct speech_corpus *corpus;
	struct speech_reader reader;
	int rc;

	*p = (struct payloads){ 0 };
	for (unsigned i = 0; i < 256; i++)
		p->pcma[i] = alaw_encode(ulaw_decode((uint8_t)i));
	cfg.samples = (unsigned)(ptime * rate / CR_SEC);
	rc = speech_open(&corpus, rate, NULL, e);
	if (rc)
		return rc;
	speech_reader_init(&reader, corpus, seed, 0);
	rc = code(p, c, &cfg, &reader, e);
	speech_close(corpus);
	return rc;
}

void payloads_close(struct payloads *p)
{
	free(p->data);
	p->data = NULL;
}

const uint8_t *payloads_of(const struct payloads *p, uint32_t call,
			   uint32_t frame)
{
	return p->data + (call * APART + frame) % p->count * p->bytes;
}

bool payloads_right(const struct payloads *p, enum payloads_expect expect,
		    const uint8_t *said, const uint8_t *data, size_t bytes)
{
	if (expect == PAYLOADS_ANY)
		return true;
	if (bytes != p->bytes)
		return false;
	if (expect == PAYLOADS_SAME)
		return !memcmp(said, data, bytes);
	for (size_t i = 0; i < bytes; i++) {
		if (p->pcma[said[i]] != data[i])
			return false;
	}
	return true;
}
