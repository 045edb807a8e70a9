/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speech through a codec that loses frames, or its state: WAV files of the same
 * speech go to a folder. What is encoded (source), and what comes of it whole,
 * with lost frames concealed by the decoder, and with silence in their place.
 * The file "fates" has a character for each frame: what has become of it.
 *
 *     bench-loss CODEC PERCENT|FATES SEED SECONDS FOLDER [WARM]
 *
 * tests/bench/loss compares the files by PESQ. Not a test: it asserts nothing.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/random.h"
#include "cr/codec.h"
#include "speech/speech.h"

static const struct field rows[] = { { .name = NULL } };

static const struct cli_line operands[] = {
	{ "CODEC", "One of 8 or 16 kHz that codec-runner --codecs lists." },
	{ "PERCENT", "Of the frames, how many are lost, each by itself." },
	{ "FATES", "Or a file with a character for each frame: \".\" came, "
		   "\"c\" is lost and concealed by the decoder, \"s\" is left "
		   "out: silence, of which the decoder does not know; \"e\" "
		   "came of an encoder that begins with it, \"d\" comes to "
		   "such a decoder: both of \"concealed\". Frames behind its "
		   "end came." },
	{ "SEED", "Of what PERCENT loses; the same, the same frames." },
	{ "SECONDS", "Of speech." },
	{ "FOLDER", "Which is there; files in it are replaced." },
	{ "WARM",
	  "Frames before it that a codec of \"e\" or \"d\" has been run "
	  "over (default: 0)." },
	{ NULL, NULL }
};
static const struct cli_line examples[] = {
	{ "bench-loss amr 5 1 96 out", "96 s of AMR, without 5 % of it." },
	{ "bench-loss pcmu out/fates 1 96 again",
	  "The same frames lost of another codec." },
	{ NULL, NULL }
};

static const struct cli cli = {
	.program = "bench-loss",
	.synopsis = "CODEC PERCENT|FATES SEED SECONDS FOLDER [WARM]",
	.summary = "speech through a codec that loses frames",
	.text = "Encodes the recordings that Debian's packages install, and "
		"writes what comes of it into the folder: source.wav, what is "
		"encoded; whole.wav, all frames decoded; concealed.wav, "
		"without those that are lost, which the decoder conceals; "
		"silence.wav, with silence in their place; fates, what became "
		"of each frame, as FATES takes it.\n"
		"It says how many frames were lost. tests/bench/loss compares "
		"the files by PESQ.",
	.opts = rows,
	.operands = operands,
	.examples = examples,
	.min_args = 5,
	.max_args = 6,
};

enum { SOURCE, WHOLE, CONCEALED, SILENCE, FILES };

/* Nothing of a frame that was left out is played, and its decoder does not know
 * of it. */
enum fate {
	CAME = '.',
	LOST = 'c',
	LEFT_OUT = 's',
	NEW_ENCODER = 'e',
	NEW_DECODER = 'd'
};

/* Frames that codecs can be run over. */
enum { WARM_MOST = 64 };

/* Of codecs that have several: the highest that PESQ knows, Hz. */
#define RATE_MOST 16000u

static const char *const names[FILES] = { "source", "whole", "concealed",
					  "silence" };

struct job {
	const struct cr_codec *codec;
	struct cr_codec_cfg cfg;
	unsigned samples; /* of a frame */
	unsigned percent, seconds, warm;
	uint64_t seed;
	FILE *fates; /* to be had; NULL: by @percent and @seed */
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

/* A file of fates; ends the program if there is none. */
static FILE *fates_open(const char *path, const char *how)
{
	FILE *f = fopen(path, how);

	if (!f) {
		perror(path);
		exit(1);
	}
	return f;
}

static FILE *fates_create(const char *folder)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/fates", folder);
	return fates_open(path, "w");
}

static enum fate next_fate(const struct job *j, uint64_t *random)
{
	int reported;

	if (!j->fates)
		return splitmix64(random) % 100 < j->percent ? LOST : CAME;
	reported = fgetc(j->fates);
	return reported != EOF && strchr("csed", reported) ? (enum fate)reported
							   : CAME;
}

/* A codec without faults, and one with them. */
struct sound {
	const struct job *job;
	const struct cr_codec *codec;
	void *enc, *whole;
	void *faulty, *dec;
	int16_t pcm[FILES][CR_FRAME_SAMPLES_MAX];
	/* the last frames, in turn */
	unsigned frames;
	int16_t heard[WARM_MOST][CR_FRAME_SAMPLES_MAX];
	struct cr_frame sent[WARM_MOST];
};

static void sound_open(struct sound *s, const struct job *j)
{
	const struct cr_codec *c = s->codec = j->codec;
	struct cr_err e = { 0 };

	s->job = j;
	if (c->encoder_open(&s->enc, &j->cfg, &e) ||
	    c->encoder_open(&s->faulty, &j->cfg, &e) ||
	    c->decoder_open(&s->whole, &j->cfg, &e) ||
	    c->decoder_open(&s->dec, &j->cfg, &e)) {
		(void)fprintf(stderr, "bench-loss: %s\n", e.text);
		exit(1);
	}
}

static void sound_close(struct sound *s)
{
	s->codec->encoder_close(s->enc);
	s->codec->encoder_close(s->faulty);
	s->codec->decoder_close(s->whole);
	s->codec->decoder_close(s->dec);
}

/* A codec of the faulty way begins anew, and is run over the last frames. */
static void begin_anew(struct sound *s, enum fate fate)
{
	const struct cr_codec *c = s->codec;
	int16_t pcm[CR_FRAME_SAMPLES_MAX];
	struct cr_frame f;

	if (fate == NEW_ENCODER) {
		c->encoder_close(s->faulty);
		(void)c->encoder_open(&s->faulty, &s->job->cfg, NULL);
	} else {
		c->decoder_close(s->dec);
		(void)c->decoder_open(&s->dec, &s->job->cfg, NULL);
	}
	for (unsigned i = s->job->warm; i; i--) {
		const unsigned at = (s->frames - i) % WARM_MOST;

		if (i > s->frames)
			continue;
		if (fate == NEW_ENCODER)
			(void)c->encode(s->faulty, c->default_mode,
					s->heard[at], &f);
		else
			(void)c->decode(s->dec, &s->sent[at], pcm);
	}
}

/* The frame of the source has such a fate. */
static void sound_frame(struct sound *s, enum fate fate)
{
	static const struct cr_frame bad = { .kind = CR_FRAME_BAD };
	const bool lost = fate == LOST || fate == LEFT_OUT;
	const unsigned at = s->frames % WARM_MOST;
	const struct cr_codec *c = s->codec;
	struct cr_frame f = { 0 }, *sent = &s->sent[at];

	if (fate == NEW_ENCODER || fate == NEW_DECODER)
		begin_anew(s, fate);
	(void)c->encode(s->enc, c->default_mode, s->pcm[SOURCE], &f);
	(void)c->decode(s->whole, &f, s->pcm[WHOLE]);
	*sent = (struct cr_frame){ 0 };
	(void)c->encode(s->faulty, c->default_mode, s->pcm[SOURCE], sent);
	memcpy(s->heard[at], s->pcm[SOURCE], sizeof(s->heard[at]));
	s->frames++;
	memset(s->pcm[CONCEALED], 0, sizeof(s->pcm[CONCEALED]));
	memset(s->pcm[SILENCE], 0, sizeof(s->pcm[SILENCE]));
	if (fate != LEFT_OUT)
		(void)c->decode(s->dec, lost ? &bad : sent, s->pcm[CONCEALED]);
	if (!lost)
		memcpy(s->pcm[SILENCE], s->pcm[WHOLE], sizeof(s->pcm[WHOLE]));
}

static void run(const struct job *j, const struct speech_corpus *corpus)
{
	static struct sound sound;
	unsigned rate = speech_rate(corpus), lost = 0;
	unsigned frames = j->seconds * rate / j->samples;
	FILE *out[FILES], *fates = fates_create(j->folder);
	struct speech_reader reader;
	uint64_t random = j->seed;

	sound_open(&sound, j);
	for (unsigned i = 0; i < FILES; i++)
		out[i] = wav_create(j->folder, names[i], rate,
				    frames * j->samples);
	speech_reader_init(&reader, corpus, 1, 0);
	for (unsigned k = 0; k < frames; k++) {
		enum fate fate = next_fate(j, &random);

		speech_read(&reader, sound.pcm[SOURCE], j->samples);
		sound_frame(&sound, fate);
		lost += fate == LOST || fate == LEFT_OUT;
		(void)fputc((int)fate, fates);
		for (unsigned i = 0; i < FILES; i++)
			(void)fwrite(sound.pcm[i], 2, j->samples, out[i]);
	}
	for (unsigned i = 0; i < FILES; i++)
		(void)fclose(out[i]);
	(void)fclose(fates);
	sound_close(&sound);
	printf("%u of %u frames lost\n", lost, frames);
}

/* A codec of a rate that PESQ knows: its highest. */
static int job_codec(struct job *j, const char *name)
{
	const struct cr_codec *c = j->codec = cr_codec_find(name);
	unsigned rate;

	if (!c)
		return -1;
	rate = c->sample_rate > RATE_MOST ? RATE_MOST : c->sample_rate;
	j->cfg.mode = c->default_mode;
	j->cfg.sample_rate = rate;
	j->samples = (unsigned)((uint64_t)c->samples * rate / c->sample_rate);
	return cr_codec_has_rate(c, rate) ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct job j = { .codec = NULL };
	struct speech_corpus *corpus;
	struct cr_err e = { 0 };

	argv += cli_parse_or_exit(&cli, argc, argv);
	if (job_codec(&j, argv[0])) {
		(void)fprintf(stderr,
			      "bench-loss: no codec %s of 8 or 16 kHz\n",
			      argv[0]);
		return 2;
	}
	if (isdigit((unsigned char)argv[1][0]))
		j.percent = (unsigned)strtoul(argv[1], NULL, 10);
	else
		j.fates = fates_open(argv[1], "r");
	j.seed = strtoull(argv[2], NULL, 10);
	j.seconds = (unsigned)strtoul(argv[3], NULL, 10);
	j.folder = argv[4];
	j.warm = argv[5] ? (unsigned)strtoul(argv[5], NULL, 10) : 0;
	if (j.warm > WARM_MOST) {
		(void)fprintf(stderr, "bench-loss: WARM: at most %d\n",
			      WARM_MOST);
		return 2;
	}
	if (speech_open(&corpus, j.cfg.sample_rate, NULL, &e)) {
		(void)fprintf(stderr, "bench-loss: %s\n", e.text);
		return 1;
	}
	run(&j, corpus);
	speech_close(corpus);
	if (j.fates)
		(void)fclose(j.fates);
	return 0;
}
