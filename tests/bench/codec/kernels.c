/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What codec kernels bring: a frame of each of many states, each with its own
 * recorded speech, through the installed library and through the one with our
 * kernels, in turns; which comes first changes from round to round. Rounds are
 * pairs: the ratio is the median of theirs, so a machine whose speed drifts
 * does no harm. What comes out is compared, too.
 *
 *     bench-kernels [--json] [--codec NAME] [--mode NAME] [--states N]
 *                   [--rounds N] [--cpu N]
 *     bench-kernels --verify [--json] [--codec NAME] [--mode NAME] [--seed N]
 *
 * --verify measures nothing: it runs all recordings, and other sound, through
 * both, in all modes, with DTX and without, and compares every frame.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/clock.h"
#include "bench.h"
#include "codecs/kernels/kernels.h"
#include "cr/codec.h"
#include "kernels_verify.h"
#include "speech/speech.h"

#define ROUNDS_MAX 1001u

enum direction { ENCODE, DECODE };

static struct {
	const char *mode;
	int64_t codec, states, rounds, cpu, seed;
	bool json, verify;
} opt;

static const char *const codec_names[] = { "all", "amr", "amr-wb", NULL };

#define AT(m) FIELD_IN(__typeof__(opt), m)

static const struct field rows[] = {
	{ .kind = FIELD_CHOICE,
	  .name = "codec",
	  .help = "Codec.",
	  AT(codec),
	  .names = codec_names },
	{ .kind = FIELD_TEXT,
	  .name = "mode",
	  .help = "This mode only; --verify also has random.",
	  AT(mode),
	  .without = "" },
	BENCH_ROW_STATES(AT(states), 200),
	{ .kind = FIELD_INT,
	  .name = "rounds",
	  .help = "Frames of each state.",
	  AT(rounds),
	  .dflt = 31,
	  .min = 1,
	  .max = ROUNDS_MAX },
	BENCH_ROW_CPU(AT(cpu)),
	BENCH_ROW_SEED(AT(seed)),
	{ .kind = FIELD_BOOL,
	  .name = "verify",
	  .help = "Compare all frames of all recordings; exits with 1 when one "
		  "differs.",
	  AT(verify) },
	{ .kind = FIELD_BOOL,
	  .name = "json",
	  .help = "A JSON list of objects.",
	  AT(json) },
	{ .name = NULL },
};

static const struct cli cli = {
	.program = "bench-kernels",
	.synopsis = "[OPTION]...",
	.summary = "measure codec kernels against the installed libraries",
	.opts = rows,
	.vars = &opt,
};

/* A codec state of one library, and what it made last. */
struct state {
	void *codec;
	uint8_t frame[LIBRARY_FRAME_MAX];
	int16_t heard[LIBRARY_SAMPLES_MAX];
};

/* One library's states. */
struct side {
	const struct library *library;
	struct state *state;   /* [states] */
	double ns[ROUNDS_MAX]; /* a frame, by round */
};

struct bench {
	enum library_codec codec;
	enum direction direction;
	unsigned mode;
	struct speech_reader *speech; /* [states] */
	int16_t (*pcm)[LIBRARY_SAMPLES_MAX];
	void **encoder; /* decoding: [states], of the installed library */
	uint8_t (*in)[LIBRARY_FRAME_MAX];
	struct side ours, stock;
	bool equal;
};

_Noreturn static void die(const char *what, const char *why)
{
	(void)fprintf(stderr, "bench-kernels: %s: %s\n", what, why);
	exit(1);
}

static void *need(void *memory)
{
	if (!memory)
		die("memory", "out of it");
	return memory;
}

static void side_open(struct side *s, const struct library *l,
		      enum direction direction)
{
	s->library = l;
	s->state = need(calloc((size_t)opt.states, sizeof(*s->state)));
	for (int64_t i = 0; i < opt.states; i++)
		s->state[i].codec = direction == ENCODE
					    ? library_encoder(l, false)
					    : library_decoder(l);
}

static void side_close(struct side *s, enum direction direction)
{
	for (int64_t i = 0; i < opt.states; i++)
		if (direction == ENCODE)
			library_encoder_close(s->library, s->state[i].codec);
		else
			library_decoder_close(s->library, s->state[i].codec);
	free(s->state);
}

static void bench_open(struct bench *b, const struct speech_corpus *corpus)
{
	const struct library *stock = library_installed(b->codec);
	size_t n = (size_t)opt.states;

	b->equal = true;
	b->speech = need(calloc(n, sizeof(*b->speech)));
	b->pcm = need(calloc(n, sizeof(*b->pcm)));
	b->encoder = need(calloc(n, sizeof(*b->encoder)));
	b->in = need(calloc(n, sizeof(*b->in)));
	for (size_t i = 0; i < n; i++) {
		speech_reader_init(&b->speech[i], corpus, (uint64_t)opt.seed,
				   i);
		if (b->direction == DECODE)
			b->encoder[i] = library_encoder(stock, false);
	}
	side_open(&b->ours, library_linked(b->codec), b->direction);
	side_open(&b->stock, stock, b->direction);
}

static void bench_close(struct bench *b)
{
	for (int64_t i = 0; b->direction == DECODE && i < opt.states; i++)
		library_encoder_close(b->stock.library, b->encoder[i]);
	side_close(&b->ours, b->direction);
	side_close(&b->stock, b->direction);
	free(b->speech);
	free(b->pcm);
	free(b->encoder);
	free(b->in);
}

/* The round's input: samples, or frames that were made of them. */
static void prepare(struct bench *b)
{
	for (int64_t i = 0; i < opt.states; i++) {
		speech_read(&b->speech[i], b->pcm[i],
			    library_facts[b->codec].samples);
		if (b->direction == DECODE)
			(void)library_encode(b->stock.library, b->encoder[i],
					     b->mode, false, b->pcm[i],
					     b->in[i]);
	}
}

/* A frame of every state; CPU time of one, ns. */
static double run(const struct bench *b, struct side *s)
{
	cr_ns start = clock_thread_cpu();

	for (int64_t i = 0; i < opt.states; i++) {
		struct state *t = &s->state[i];

		if (b->direction == ENCODE)
			(void)library_encode(s->library, t->codec, b->mode,
					     false, b->pcm[i], t->frame);
		else
			library_decode(s->library, t->codec, b->in[i],
				       t->heard);
	}
	return (double)(clock_thread_cpu() - start) / (double)opt.states;
}

static void compare(struct bench *b)
{
	for (int64_t i = 0; i < opt.states; i++) {
		const struct state *x = &b->ours.state[i];
		const struct state *y = &b->stock.state[i];

		b->equal &= !memcmp(x->frame, y->frame, sizeof(x->frame)) &&
			    !memcmp(x->heard, y->heard, sizeof(x->heard));
	}
}

static void measure(struct bench *b)
{
	/* the first one, over cold caches, is overwritten */
	for (int64_t r = -1; r < opt.rounds; r++) {
		size_t at = (size_t)(r < 0 ? 0 : r);
		struct side *first = r % 2 ? &b->ours : &b->stock;
		struct side *second = r % 2 ? &b->stock : &b->ours;

		prepare(b);
		first->ns[at] = run(b, first);
		second->ns[at] = run(b, second);
		compare(b);
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The quartiles of @v[rounds], which is sorted. */
struct quartiles {
	double low, median, high;
};

static struct quartiles quartiles(double *v)
{
	size_t n = (size_t)opt.rounds;

	qsort(v, n, sizeof(*v), by_value);
	return (struct quartiles){ v[n / 4], v[n / 2], v[3 * n / 4] };
}

/* What @codec calls @mode; -1: each frame another one. */
static const char *mode_name(enum library_codec codec, int mode)
{
	const struct cr_codec *c = cr_codec_find(library_facts[codec].name);

	return mode < 0 ? "random" : c->modes[mode].name;
}

/* Before an object of the JSON list. */
static void print_comma(void)
{
	static bool later;

	if (later)
		(void)printf(",\n ");
	later = true;
}

static void print(struct bench *b)
{
	static const char *const directions[] = { "encode", "decode" };
	const char *codec = library_facts[b->codec].name;
	const char *mode = mode_name(b->codec, (int)b->mode);
	const char *direction = directions[b->direction];
	static double ratios[ROUNDS_MAX];
	struct quartiles ratio, ours, stock;

	for (int64_t i = 0; i < opt.rounds; i++)
		ratios[i] = b->stock.ns[i] / b->ours.ns[i];
	ratio = quartiles(ratios);
	ours = quartiles(b->ours.ns);
	stock = quartiles(b->stock.ns);
	if (opt.json) {
		print_comma();
		(void)printf("{\"codec\": \"%s\", \"mode\": \"%s\", "
			     "\"direction\": \"%s\", \"stock_us\": %.3f, "
			     "\"ours_us\": %.3f, \"ratio\": %.3f, "
			     "\"ratio_quartiles\": [%.3f, %.3f], "
			     "\"equal\": %s}",
			     codec, mode, direction, stock.median / 1e3,
			     ours.median / 1e3, ratio.median, ratio.low,
			     ratio.high, b->equal ? "true" : "false");
	} else {
		(void)printf("%-7s %-6s %s %8.2f %8.2f %7.2f  %.2f to %.2f%s\n",
			     codec, mode, direction, stock.median / 1e3,
			     ours.median / 1e3, ratio.median, ratio.low,
			     ratio.high, b->equal ? "" : "  NOT EQUAL");
	}
	(void)fflush(stdout);
}

static bool codec_wanted(enum library_codec codec)
{
	return !opt.codec || opt.codec - 1 == (int64_t)codec;
}

static bool mode_wanted(enum library_codec codec, int mode)
{
	return !opt.mode || !strcmp(opt.mode, mode_name(codec, mode));
}

/* Both directions of every mode. Returns whether all was equal. */
static bool measure_codec(enum library_codec codec)
{
	const struct library_facts *facts = &library_facts[codec];
	struct speech_corpus *corpus;
	struct cr_err e;
	bool equal = true;

	if (speech_open(&corpus, facts->sample_rate, NULL, &e))
		die("speech", e.text);
	for (unsigned i = 0; i < 2 * facts->modes; i++) {
		static struct bench b;

		if (!mode_wanted(codec, (int)i / 2))
			continue;
		b = (struct bench){ .codec = codec,
				    .mode = i / 2,
				    .direction = (enum direction)(i % 2) };
		bench_open(&b, corpus);
		measure(&b);
		print(&b);
		equal &= b.equal;
		bench_close(&b);
	}
	speech_close(corpus);
	return equal;
}

static bool verify_one(const struct verify_plan *p, const struct material *m)
{
	const char *codec = library_facts[p->codec].name;
	const char *mode = mode_name(p->codec, p->mode);
	struct verify_result r = verify(p, m);
	unsigned long long frames = r.frames, other_frames = r.other_frames;
	unsigned long long other_sounds = r.other_sounds;

	if (opt.json) {
		print_comma();
		(void)printf("{\"codec\": \"%s\", \"mode\": \"%s\", "
			     "\"dtx\": %s, \"frames\": %llu, "
			     "\"speech_minutes\": %.1f, "
			     "\"other_frames\": %llu, "
			     "\"other_sounds\": %llu}",
			     codec, mode, p->dtx ? "true" : "false", frames,
			     m->speech, other_frames, other_sounds);
	} else {
		(void)printf("%-7s %-6s %-6s %7llu %6.1f min %7llu %7llu\n",
			     codec, mode, p->dtx ? "dtx" : "no dtx", frames,
			     m->speech, other_frames, other_sounds);
	}
	(void)fflush(stdout);
	return !other_frames && !other_sounds;
}

static bool verify_codec(enum library_codec codec)
{
	struct material m = material_load(codec, (uint64_t)opt.seed);
	bool equal = true;

	for (int mode = -1; mode < (int)library_facts[codec].modes; mode++)
		for (int dtx = 0; dtx < 2; dtx++) {
			const struct verify_plan p = {
				.codec = codec,
				.mode = mode,
				.dtx = dtx,
				.seed = (uint64_t)opt.seed,
			};

			if (mode_wanted(codec, mode))
				equal &= verify_one(&p, &m);
		}
	material_free(&m);
	return equal;
}

static void print_head(void)
{
	if (opt.json)
		(void)printf("[");
	else if (opt.verify)
		(void)printf("codec   mode   dtx     frames speech     frames "
			     "and sounds that differ\n");
	else
		(void)printf("codec   mode          stock us  ours us   ratio  "
			     "its quartiles\n");
}

int main(int argc, char **argv)
{
	bool equal = true;

	(void)cli_parse_or_exit(&cli, argc, argv);
	bench_pin(cli.program, opt.cpu);
	if (cr_kernels_active() == CR_KERNELS_STOCK)
		die("kernels", "this CPU has none");
	print_head();
	for (unsigned i = 0; i < LIBRARY_CODECS; i++) {
		enum library_codec codec = (enum library_codec)i;

		if (codec_wanted(codec))
			equal &= opt.verify ? verify_codec(codec)
					    : measure_codec(codec);
	}
	if (opt.json)
		(void)printf("]\n");
	return !equal;
}
