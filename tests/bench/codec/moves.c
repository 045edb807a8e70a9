/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it costs that the codec state of a call is not where its next frame is
 * worked on. A thread encodes one frame of every state in turn and goes to
 * another CPU before every second round: there all states are in the caches it
 * came from (move), in the round after it in its own (stay), as far as they
 * fit. And what it costs that states are many (a CPU's worth) in place of few
 * (as codec-runner --codecs measures): codec-sim takes the one as
 * --overhead-migration, the other as --overhead-context.
 *
 * Speech is a cycle of frames that every state hears from a place of its own.
 * Their number is odd: in two cycles each is heard once after a move and once
 * not, and all sums are of the same work.
 *
 *     bench-moves [--json] [--codec NAME] [--mode NAME] [--states N]
 *                 [--repeats N]
 *
 * Not a test: it asserts nothing about time.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/clock.h"
#include "bench.h"
#include "cr/codec.h"
#include "speech/speech.h"

#define FEW 16u	     /* states of codec-runner --codecs */
#define CYCLE 31u    /* frames of speech, odd */
#define FEW_PAIRS 4u /* of cycles of few states, for one of many */
#define REPEATS 31u

static struct {
	const char *codec, *mode;
	int64_t states, repeats;
	bool json;
} opt;

#define AT(m) FIELD_IN(__typeof__(opt), m)

static const struct field rows[] = {
	{ .kind = FIELD_TEXT,
	  .name = "codec",
	  .help = "Codec.",
	  AT(codec),
	  .without = "amr" },
	{ .kind = FIELD_TEXT,
	  .name = "mode",
	  .help = "Its mode.",
	  AT(mode),
	  .without = "12.2" },
	{ .kind = FIELD_INT,
	  .name = "states",
	  .help = "Calls of a CPU.",
	  AT(states),
	  .dflt = 300,
	  .min = 1,
	  .max = 10000 },
	{ .kind = FIELD_INT,
	  .name = "repeats",
	  .help = "Medians of so many.",
	  AT(repeats),
	  .dflt = 5,
	  .min = 1,
	  .max = REPEATS },
	{ .kind = FIELD_BOOL,
	  .name = "json",
	  .help = "One JSON object.",
	  AT(json) },
	{ .name = NULL },
};

static const struct cli cli = {
	.program = "bench-moves",
	.synopsis = "[OPTION]...",
	.summary = "measure codec states that move between CPUs",
	.opts = rows,
	.vars = &opt,
};

struct bench {
	const struct cr_codec *codec;
	struct cr_codec_cfg cfg;
	void **state; /* [n] */
	unsigned n;
	int16_t pcm[CYCLE][CR_FRAME_SAMPLES_MAX];
	int cpu[2];
};

/* ns a frame. */
struct figures {
	double move, stay;
};

_Noreturn static void die(const char *what, const char *why)
{
	(void)fprintf(stderr, "bench-moves: %s: %s\n", what, why);
	exit(1);
}

/* The first two CPUs this process may use. */
static void find_cpus(struct bench *b)
{
	cpu_set_t set;
	unsigned found = 0;

	if (sched_getaffinity(0, sizeof(set), &set))
		die("CPUs", "their mask cannot be read");
	for (int i = 0; i < CPU_SETSIZE && found < 2; i++)
		if (CPU_ISSET((size_t)i, &set))
			b->cpu[found++] = i;
	if (found < 2)
		die("CPUs", "two are needed, to move from one to the other");
}

static void load_speech(struct bench *b)
{
	struct speech_corpus *corpus;
	struct speech_reader reader;
	struct cr_err e;

	if (speech_open(&corpus, b->codec->sample_rate, NULL, &e))
		die("speech", e.text);
	/* one frame of each of many speakers */
	for (unsigned i = 0; i < CYCLE; i++) {
		speech_reader_init(&reader, corpus, 1, i);
		speech_read(&reader, b->pcm[i], b->codec->samples);
	}
	speech_close(corpus);
}

static void open_states(struct bench *b)
{
	struct cr_err e = { "unknown" };
	int mode;

	b->codec = cr_codec_find(opt.codec);
	if (!b->codec || !b->codec->encoder_open)
		die(opt.codec, "no such encoder");
	mode = cr_codec_mode_find(b->codec, opt.mode);
	if (mode < 0)
		die(opt.mode, "no such mode");
	b->cfg.mode = (unsigned)mode;
	b->n = (unsigned)(opt.states > FEW ? opt.states : FEW);
	b->state = calloc(b->n, sizeof(*b->state));
	for (unsigned i = 0; b->state && i < b->n; i++)
		if (b->codec->encoder_open(&b->state[i], &b->cfg, &e))
			die(opt.codec, e.text);
	if (!b->state)
		die("memory", "out of it");
}

/* A frame of each of @n states; ns of CPU time. */
static cr_ns encode(struct bench *b, unsigned n, unsigned round)
{
	static struct cr_frame frame;
	cr_ns start = clock_thread_cpu();

	for (unsigned i = 0; i < n; i++)
		(void)b->codec->encode(b->state[i], b->cfg.mode,
				       b->pcm[(round + 7 * i) % CYCLE], &frame);
	return clock_thread_cpu() - start;
}

/* @pairs of cycles of @n states. */
static struct figures measure(struct bench *b, unsigned n, unsigned pairs)
{
	cr_ns sum[2] = { 0, 0 }; /* after a move, after none */
	double frames = (double)n * CYCLE * pairs;

	for (unsigned k = 0; k < 2 * CYCLE * pairs; k++) {
		bench_pin(cli.program, b->cpu[k / 2 % 2]);
		sum[k % 2] += encode(b, n, k);
	}
	return (struct figures){ (double)sum[0] / frames,
				 (double)sum[1] / frames };
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[n / 2];
}

static void print(const struct bench *b, double few, double stay, double moved)
{
	const char *mode = b->codec->modes[b->cfg.mode].name;

	if (opt.json)
		(void)printf("{\"codec\": \"%s\", \"mode\": \"%s\", "
			     "\"states\": %u, \"few\": %u, \"few_ns\": %.0f, "
			     "\"context_ns\": %.0f, \"migration_ns\": %.0f}\n",
			     b->codec->name, mode, b->n, FEW, few, stay - few,
			     moved);
	else
		(void)printf("%s %s, encoding a frame: %.0f ns with %u states, "
			     "%+.0f with %u, %+.0f more from the other CPU\n",
			     b->codec->name, mode, few, FEW, stay - few, b->n,
			     moved);
}

int main(int argc, char **argv)
{
	static struct bench b;
	double few[REPEATS], stay[REPEATS], moved[REPEATS];
	size_t repeats;

	(void)cli_parse_or_exit(&cli, argc, argv);
	repeats = (size_t)opt.repeats;
	find_cpus(&b);
	open_states(&b);
	load_speech(&b);
	(void)measure(&b, b.n, 1); /* memory is there, states are in use */
	for (size_t i = 0; i < repeats; i++) {
		struct figures many = measure(&b, b.n, 1);

		few[i] = measure(&b, FEW, FEW_PAIRS).stay;
		stay[i] = many.stay;
		moved[i] = many.move - many.stay;
	}
	print(&b, median(few, repeats), median(stay, repeats),
	      median(moved, repeats));
	for (unsigned i = 0; i < b.n; i++)
		b.codec->encoder_close(b.state[i]);
	free(b.state);
	return 0;
}
