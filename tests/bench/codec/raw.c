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

#include "base/cli.h"
#include "base/clock.h"
#include "bench.h"
#include "codecs/kernels/kernels.h"
#include "coding.h"
#include "paced.h"

static struct {
	const char *codec, *mode;
	int64_t direction, states, seconds, cpu, kernels, p99, pcm;
	int64_t seed;
} opt;

static const char *const directions[] = { "encode", "decode", NULL };
static const char *const pcm_sides[] = { "none", "pcmu", "l16", NULL };

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
	  .without = "" },
	{ .kind = FIELD_CHOICE,
	  .name = "direction",
	  .help = "What to measure.",
	  AT(direction),
	  .names = directions },
	BENCH_ROW_STATES(AT(states), 200),
	{ .kind = FIELD_TIME,
	  .name = "seconds",
	  .help = "How long.",
	  AT(seconds),
	  .dflt = 3 * CR_SEC,
	  .min = CR_MS,
	  .max = 600 * CR_SEC },
	{ .kind = FIELD_TIME,
	  .name = "p99",
	  .help = "The delay that 99 % of the frames may have.",
	  AT(p99),
	  .dflt = 10 * CR_MS,
	  .min = CR_US,
	  .max = CR_SEC },
	BENCH_ROW_SEED(AT(seed)),
	{ .kind = FIELD_CHOICE,
	  .name = "codec-kernels",
	  .help = "As codec-runner's.",
	  AT(kernels),
	  .names = cr_kernels_names },
	{ .kind = FIELD_CHOICE,
	  .name = "pcm",
	  .help = "The call's other side: its work counts, too.",
	  AT(pcm),
	  .names = pcm_sides },
	BENCH_ROW_CPU(AT(cpu)),
	{ .name = NULL },
};

static const struct cli cli = {
	.program = "bench-raw",
	.synopsis = "[OPTION]...",
	.summary = "measure a codec alone",
	.opts = rows,
	.vars = &opt,
};

_Noreturn static void die(const char *what, const struct cr_err *e)
{
	(void)fprintf(stderr, "bench-raw: %s: %s\n", what, e->text);
	exit(1);
}

/* One frame of state @i; returns the codecs' time. */
static cr_ns one(struct coding *c, unsigned i)
{
	cr_ns start;

	coding_hear(c, i);
	start = clock_now();
	(void)coding_run(c, i);
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

static void print(const struct coding *coding, const struct times *t)
{
	const struct cr_codec *c = coding_codec(coding);
	const struct cr_codec_cfg *cfg = coding_codec_cfg(coding);
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
	struct coding_cfg cfg;
	struct cr_err e = { "unknown" };
	struct times times = { 0 };
	struct coding *c;
	cr_ns end;

	(void)cli_parse_or_exit(&cli, argc, argv);
	bench_pin(cli.program, opt.cpu);
	if (cr_kernels_choose((enum cr_kernels)opt.kernels, &e))
		die("kernels", &e);
	cfg = (struct coding_cfg){
		.codec = opt.codec,
		.mode = opt.mode,
		.pcm = opt.pcm ? pcm_sides[opt.pcm] : NULL,
		.decode = opt.direction == 1,
		.states = (unsigned)opt.states,
		.seed = (uint64_t)opt.seed,
	};
	if (coding_open(&c, &cfg, &e))
		die("codecs", &e);
	end = clock_now() + opt.seconds;
	while (clock_now() < end)
		for (unsigned i = 0; i < cfg.states; i++)
			keep(&times, one(c, i));
	print(c, &times);
	coding_close(c);
	free(times.took);
	return 0;
}
