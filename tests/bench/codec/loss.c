/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speech through a codec that loses frames: WAV files of the same speech go to
 * a folder. What is encoded (source), and what comes of it whole, with lost
 * frames concealed by the decoder, and with silence in their place. The file
 * "lost" has the numbers of the lost frames, one a line.
 *
 *     bench-loss CODEC PERCENT SEED SECONDS FOLDER
 *
 * tests/bench/loss compares them by PESQ.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/splitmix.h"
#include "cr/codec.h"
#include "speech/speech.h"

enum { SOURCE, WHOLE, CONCEALED, SILENCE, FILES };

static const char *const names[FILES] = { "source", "whole", "concealed",
					  "silence" };

struct job {
	const struct cr_codec *codec;
	unsigned percent, seconds;
	uint64_t seed;
	const char *folder;
};

static void put32(uint8_t *p, uint32_t v)
{
	for (unsigned i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

/* Mono, 16 bits, @samples at @rate. */
static FILE *wav_create(const char *folder, const char *name, uint32_t rate,
			uint32_t samples)
{
	uint8_t head[44] = "RIFF....WAVEfmt \x10\0\0\0\1\0\1\0........"
			   "\2\0\x10\0data";
	char path[4096];
	FILE *f;

	put32(head + 4, 36 + 2 * samples);
	put32(head + 24, rate);
	put32(head + 28, 2 * rate);
	put32(head + 40, 2 * samples);
	(void)snprintf(path, sizeof(path), "%s/%s.wav", folder, name);
	f = fopen(path, "wb");
	if (!f || fwrite(head, sizeof(head), 1, f) != 1) {
		perror(path);
		exit(1);
	}
	return f;
}

/* The file of lost frames' numbers. */
static FILE *lost_create(const char *folder)
{
	char path[4096];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/lost", folder);
	f = fopen(path, "w");
	if (!f) {
		perror(path);
		exit(1);
	}
	return f;
}

static void run(const struct job *j, const struct speech_corpus *corpus)
{
	const struct cr_codec *c = j->codec;
	const struct cr_codec_cfg cfg = { .mode = c->default_mode };
	static const struct cr_frame bad = { .kind = CR_FRAME_BAD };
	static int16_t pcm[FILES][CR_FRAME_SAMPLES_MAX];
	unsigned frames = j->seconds * c->sample_rate / c->samples, lost = 0;
	struct speech_reader reader;
	struct cr_frame f = { 0 };
	uint64_t random = j->seed;
	void *enc, *whole, *dec;
	FILE *out[FILES], *numbers = lost_create(j->folder);

	if (c->encoder_open(&enc, &cfg, NULL) ||
	    c->decoder_open(&whole, &cfg, NULL) ||
	    c->decoder_open(&dec, &cfg, NULL))
		exit(1);
	for (unsigned i = 0; i < FILES; i++)
		out[i] = wav_create(j->folder, names[i], c->sample_rate,
				    frames * c->samples);
	speech_reader_init(&reader, corpus, 1, 0);
	for (unsigned k = 0; k < frames; k++) {
		bool gone = splitmix64(&random) % 100 < j->percent;

		speech_read(&reader, pcm[SOURCE], c->samples);
		(void)c->encode(enc, c->default_mode, pcm[SOURCE], &f);
		(void)c->decode(whole, &f, pcm[WHOLE]);
		(void)c->decode(dec, gone ? &bad : &f, pcm[CONCEALED]);
		memset(pcm[SILENCE], 0, sizeof(pcm[SILENCE]));
		if (!gone)
			memcpy(pcm[SILENCE], pcm[WHOLE], sizeof(pcm[WHOLE]));
		lost += gone;
		if (gone)
			(void)fprintf(numbers, "%u\n", k);
		for (unsigned i = 0; i < FILES; i++)
			(void)fwrite(pcm[i], 2, c->samples, out[i]);
	}
	for (unsigned i = 0; i < FILES; i++)
		(void)fclose(out[i]);
	(void)fclose(numbers);
	c->encoder_close(enc);
	c->decoder_close(whole);
	c->decoder_close(dec);
	printf("%u of %u frames lost\n", lost, frames);
}

int main(int argc, char **argv)
{
	struct speech_corpus *corpus;
	struct cr_err e = { 0 };
	struct job j;

	if (argc != 6) {
		(void)fprintf(stderr, "usage: bench-loss CODEC PERCENT SEED "
				      "SECONDS FOLDER\n");
		return 2;
	}
	j = (struct job){ .codec = cr_codec_find(argv[1]),
			  .percent = (unsigned)strtoul(argv[2], NULL, 10),
			  .seed = strtoull(argv[3], NULL, 10),
			  .seconds = (unsigned)strtoul(argv[4], NULL, 10),
			  .folder = argv[5] };
	if (!j.codec || j.codec->sample_rate > 16000) {
		(void)fprintf(stderr,
			      "bench-loss: no codec %s of 8 or 16 kHz\n",
			      argv[1]);
		return 2;
	}
	if (speech_open(&corpus, j.codec->sample_rate, NULL, &e)) {
		(void)fprintf(stderr, "bench-loss: %s\n", e.text);
		return 1;
	}
	run(&j, corpus);
	speech_close(corpus);
	return 0;
}
