/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The codec's raw limit: one thread, pinned, loops over as many codec states
 * as there would be calls, each with its own recorded speech, and as many of
 * the calls' other side (--pcm), and does nothing else. Prints one JSON object.
 * Used by tests/bench/capacity.
 *
 * calls_per_core is by the mean time of a frame; calls_at_p99 is what the same
 * times would carry if frames came evenly spaced and 1 % of them at most might
 * take longer than --p99 (paced.h). They differ as far as the machine's speed
 * wanders.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/clock.h"
#include "bench.h"
#include "codecs/kernels/kernels.h"
#include "cr/codec.h"
#include "paced.h"
#include "speech/speech.h"

/* Distinct encoded frames per state when decoding: 2 s of 20 ms frames. */
#define ENCODED 100u

struct state {
	struct speech_reader speech;
	void *codec;
	void *pcm; /* the other side: a decoder when encoding, else
		    * an encoder; NULL without --pcm */
	struct cr_frame *frames; /* decoding: [ENCODED] */
	unsigned next;
};

static struct {
	const char *codec, *mode;
	int64_t direction, states, seconds, cpu, kernels, p99, pcm;
	int64_t seed;
} opt = { .codec = "amr",
	  .states = 200,
	  .seconds = 3 * CR_SEC,
	  .cpu = -1,
	  .p99 = 10 * CR_MS,
	  .seed = 1 };

static const struct cr_codec *pcm_side; /* NULL: bare samples */

static const char *const directions[] = { "encode", "decode", NULL };
static const char *const pcm_sides[] = { "none", "pcmu", "l16", NULL };

static const struct cli_opt rows[] = {
	{ .kind = CLI_STRING,
	  .name = "codec",
	  .help = "Codec.",
	  .text = &opt.codec },
	{ .kind = CLI_STRING,
	  .name = "mode",
	  .help = "Its mode.",
	  .text = &opt.mode,
	  .dflt = "" },
	{ .kind = CLI_ENUM,
	  .name = "direction",
	  .help = "What to measure.",
	  .number = &opt.direction,
	  .names = directions },
	BENCH_ROW_STATES(&opt.states),
	{ .kind = CLI_TIME,
	  .name = "seconds",
	  .help = "How long.",
	  .number = &opt.seconds,
	  .min = CR_MS,
	  .max = 600 * CR_SEC },
	{ .kind = CLI_TIME,
	  .name = "p99",
	  .help = "The delay that 99 % of the frames may have.",
	  .number = &opt.p99,
	  .min = CR_US,
	  .max = CR_SEC },
	BENCH_ROW_SEED(&opt.seed),
	{ .kind = CLI_ENUM,
	  .name = "codec-kernels",
	  .help = "As codec-runner's.",
	  .number = &opt.kernels,
	  .names = cr_kernels_names },
	{ .kind = CLI_ENUM,
	  .name = "pcm",
	  .help = "The call's other side: its work counts, too.",
	  .number = &opt.pcm,
	  .names = pcm_sides },
	BENCH_ROW_CPU(&opt.cpu),
	{ .name = NULL },
};

static const struct cli cli = {
	.program = "bench-raw",
	.synopsis = "[OPTION]...",
	.summary = "measure a codec alone",
	.opts = rows,
};

_Noreturn static void die(const char *what, const struct cr_err *e)
{
	(void)fprintf(stderr, "bench-raw: %s: %s\n", what, e->text);
	exit(1);
}

static void encode_ahead(const struct cr_codec *c,
			 const struct cr_codec_cfg *cfg, struct state *s)
{
	int16_t pcm[CR_FRAME_SAMPLES_MAX];
	struct cr_err e;
	void *enc;

	s->frames = calloc(ENCODED, sizeof(*s->frames));
	if (!s->frames || c->encoder_open(&enc, cfg, &e))
		die("encoder", &e);
	for (unsigned i = 0; i < ENCODED; i++) {
		speech_read(&s->speech, pcm, c->samples);
		(void)c->encode(enc, cfg->mode, pcm, &s->frames[i]);
	}
	c->encoder_close(enc);
}

/* What of the other side is part of a call, of @c's frames. */
static void *open_pcm(const struct cr_codec *c, bool decoder)
{
	const struct cr_codec_cfg cfg = { .samples = c->samples,
					  .sample_rate = c->sample_rate };
	struct cr_err e;
	void *pcm;

	if (decoder ? pcm_side->decoder_open(&pcm, &cfg, &e)
		    : pcm_side->encoder_open(&pcm, &cfg, &e))
		die(pcm_side->name, &e);
	return pcm;
}

static void open_state(const struct cr_codec *c, const struct cr_codec_cfg *cfg,
		       const struct speech_corpus *corpus, struct state *s,
		       uint64_t call)
{
	struct cr_err e;
	bool decode = opt.direction == 1;

	speech_reader_init(&s->speech, corpus, (uint64_t)opt.seed, call);
	if (decode)
		encode_ahead(c, cfg, s);
	if (pcm_side)
		s->pcm = open_pcm(c, !decode);
	if (decode ? c->decoder_open(&s->codec, cfg, &e)
		   : c->encoder_open(&s->codec, cfg, &e))
		die(c->name, &e);
}

/* The speech as it comes: coded by the other side, where there is one. */
static void hear(const struct cr_codec *c, struct state *s,
		 struct cr_frame *heard, int16_t *pcm)
{
	static void *enc;

	speech_read(&s->speech, pcm, c->samples);
	if (pcm_side && !enc)
		enc = open_pcm(c, false);
	if (pcm_side)
		(void)pcm_side->encode(enc, 0, pcm, heard);
}

/* What a call asks of codecs. */
static void encode(const struct cr_codec *c, unsigned mode, struct state *s,
		   const struct cr_frame *heard, int16_t *pcm)
{
	static struct cr_frame frame;

	if (pcm_side)
		(void)pcm_side->decode(s->pcm, heard, pcm);
	(void)c->encode(s->codec, mode, pcm, &frame);
}

static void decode(const struct cr_codec *c, struct state *s, int16_t *pcm)
{
	static struct cr_frame frame;

	(void)c->decode(s->codec, &s->frames[s->next], pcm);
	if (pcm_side)
		(void)pcm_side->encode(s->pcm, 0, pcm, &frame);
}

/* One frame of one state; returns the codec's time. */
static cr_ns one(const struct cr_codec *c, unsigned mode, struct state *s)
{
	static int16_t pcm[CR_FRAME_SAMPLES_MAX];
	static struct cr_frame heard;
	cr_ns start;

	if (opt.direction == 1) {
		start = clock_now();
		decode(c, s, pcm);
		s->next = (s->next + 1) % ENCODED;
	} else {
		hear(c, s, &heard, pcm);
		start = clock_now();
		encode(c, mode, s, &heard, pcm);
	}
	return clock_now() - start;
}

/* What every frame took, ns. */
struct times {
	uint32_t *took;
	size_t n, room;
	cr_ns sum;
};

static void keep(struct times *t, cr_ns took)
{
	if (t->n == t->room) {
		t->room = t->room ? 2 * t->room : 1 << 16;
		t->took = realloc(t->took, t->room * sizeof(*t->took));
		if (!t->took)
			die("times", &(struct cr_err){ "out of memory" });
	}
	t->took[t->n++] = (uint32_t)cr_ns_min(took, UINT32_MAX);
	t->sum += took;
}

static void print(const struct cr_codec *c, const struct cr_codec_cfg *cfg,
		  const struct times *t)
{
	cr_ns frame = cr_codec_frame_ns(c, cfg);

	printf("{\"codec\": \"%s\", \"mode\": \"%s\", \"direction\": \"%s\", "
	       "\"kernels\": \"%s\", \"frames\": %zu"
	       ", \"ns_per_frame\": %.1f, "
	       "\"calls_per_core\": %.2f, \"calls_at_p99\": %u}\n",
	       c->name, c->modes[cfg->mode].name, directions[opt.direction],
	       cr_kernels_names[cr_kernels_active()], t->n,
	       (double)t->sum / (double)t->n,
	       (double)frame * (double)t->n / (double)t->sum,
	       paced_calls(t->took, t->n, frame, opt.p99));
}

int main(int argc, char **argv)
{
	struct cr_codec_cfg cfg = { 0 };
	struct speech_corpus *corpus;
	const struct cr_codec *c;
	struct state *states;
	struct cr_err e = { "unknown" };
	struct times times = { 0 };
	cr_ns end;

	(void)cli_parse_or_exit(&cli, argc, argv);
	bench_pin(cli.program, opt.cpu);
	if (cr_kernels_choose((enum cr_kernels)opt.kernels, &e))
		die("kernels", &e);
	c = cr_codec_find(opt.codec);
	if (!c)
		die(opt.codec, &e);
	pcm_side = opt.pcm ? cr_codec_find(pcm_sides[opt.pcm]) : NULL;
	cfg.mode = c->default_mode;
	if (opt.mode && cr_codec_mode_find(c, opt.mode) < 0)
		die(opt.mode, &e);
	if (opt.mode)
		cfg.mode = (unsigned)cr_codec_mode_find(c, opt.mode);
	if (speech_open(&corpus, c->sample_rate, NULL, &e))
		die("speech", &e);
	states = calloc((size_t)opt.states, sizeof(*states));
	if (!states)
		return 1;
	for (int64_t i = 0; i < opt.states; i++)
		open_state(c, &cfg, corpus, &states[i], (uint64_t)i);
	end = clock_now() + opt.seconds;
	while (clock_now() < end)
		for (int64_t i = 0; i < opt.states; i++)
			keep(&times, one(c, cfg.mode, &states[i]));
	print(c, &cfg, &times);
	return 0;
}
