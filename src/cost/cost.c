/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measuring one codec in one mode, and conversion of the sampling rate.
 *
 * Every frame is timed. States take turns, so each finds the caches as the
 * others left them.
 */
#include "cost/cost.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "codecs/registry.h"
#include "cr/sched.h"
#include "resample/resample.h"

/* --- synthetic speech --- */

static const double two_pi = 6.283185307179586;
/* Distance of the resonators' poles from the unit circle, Hz. */
static const double bandwidth = 90;

static uint32_t draw_bits(struct synth *s)
{
	/* Knuth's MMIX generator; the upper bits are the good ones. */
	s->random = s->random * UINT64_C(6364136223846793005) +
		    UINT64_C(1442695040888963407);
	return (uint32_t)(s->random >> 32);
}

static double draw_within(struct synth *s, double low, double high)
{
	return low + (high - low) * draw_bits(s) / 4294967296.0;
}

void synth_init(struct synth *s, unsigned rate, uint64_t seed)
{
	*s = (struct synth){ .rate = rate, .random = seed };
	(void)draw_bits(s);
}

static double excite_sound(struct synth *s)
{
	double noise = draw_within(s, -1, 1);

	if (s->sound == 0)
		return noise * 0.002;
	if (s->sound == 1)
		return noise * 0.3;
	/* The pitch wavers, as voices do. */
	s->phase += s->pitch * (1 + 0.05 * noise) / s->rate;
	if (s->phase < 1)
		return noise * 0.02;
	s->phase -= 1;
	return 6;
}

static double resonate_at(double in, double *tap, double hz, double rate)
{
	double radius = exp(-two_pi / 2 * bandwidth / rate);
	double out = in * (1 - radius) +
		     2 * radius * cos(two_pi * hz / rate) * tap[0] -
		     radius * radius * tap[1];

	tap[1] = tap[0];
	tap[0] = out;
	return out;
}

void synth_read(struct synth *s, int16_t *pcm, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double in, out;

		if (!s->left) {
			s->sound = draw_bits(s) % 8;
			s->left = (size_t)(draw_within(s, 0.06, 0.3) * s->rate);
			s->pitch = draw_within(s, 90, 220);
			s->formant[0] = draw_within(s, 250, 800);
			s->formant[1] = draw_within(s, 900, 2800);
		}
		s->left--;
		in = excite_sound(s);
		out = resonate_at(in, s->tap[0], s->formant[0], s->rate) +
		      0.5 * resonate_at(in, s->tap[1], s->formant[1], s->rate);
		pcm[i] = (int16_t)(fmax(-1, fmin(1, out * 2)) * 32000);
	}
}

enum {
	TIMES_MAX = 20000, /* pieces of one kind */
};

/** Times of one kind of work. Zero is a valid state to end. */
struct times {
	cr_ns *ns; /**< [TIMES_MAX] */
	size_t n;
	cr_ns clock_cost;
};

/** A piece of work that began at clock_thread_cpu() == @start has ended. */
static inline void times_add(struct times *t, cr_ns start)
{
	cr_ns took = clock_thread_cpu() - start;

	t->ns[t->n++] = took > t->clock_cost ? took - t->clock_cost : 0;
}

enum { CLOCK_PAIRS = 501 };

static int compare_durations(const void *a, const void *b)
{
	const cr_ns *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Returns 0 or -ENOMEM. Measures the clock, which takes a fraction of a ms. */
static int times_init(struct times *t)
{
	cr_ns took[CLOCK_PAIRS];

	*t = (struct times){ .ns = malloc(TIMES_MAX * sizeof(*t->ns)) };
	if (!t->ns)
		return -ENOMEM;
	for (unsigned i = 0; i < CLOCK_PAIRS; i++) {
		cr_ns start = clock_thread_cpu();

		took[i] = clock_thread_cpu() - start;
	}
	qsort(took, CLOCK_PAIRS, sizeof(*took), compare_durations);
	t->clock_cost = took[CLOCK_PAIRS / 2];
	return 0;
}

static void times_fini(struct times *t)
{
	free(t->ns);
	t->ns = NULL;
}

/* Mean, variance and 99th percentile of n > 0 times. Sorts them. */
static struct cr_cost times_cost(struct times *t)
{
	double sum = 0, squares = 0, mean;

	for (size_t i = 0; i < t->n; i++)
		sum += (double)t->ns[i];
	mean = sum / (double)t->n;
	for (size_t i = 0; i < t->n; i++) {
		double d = (double)t->ns[i] - mean;

		squares += d * d;
	}
	qsort(t->ns, t->n, sizeof(*t->ns), compare_durations);
	return (struct cr_cost){
		.mean = (cr_ns)(mean + 0.5),
		.p99 = t->ns[(t->n * 99 + 99) / 100 - 1],
		.variance_ns2 = (uint64_t)(squares / (double)t->n),
	};
}

/* @n points of the distribution of n > 0 times, sorted by times_cost(): the
 * middle of each of @n equal parts. */
static void times_quantiles(const struct times *t, cr_ns *out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = t->ns[(2 * i + 1) * t->n / (2 * n)];
}

/* --- one codec in one mode --- */

#define DEFAULT_BUDGET (400 * CR_MS)
#define QUICK_BUDGET (18 * CR_MS)

enum {
	DEFAULT_STATES = 16,
	QUICK_STATES = 3,
	ROW_STATES = 101,
};

/* One call: its speech, its encoder and the decoder that gets its output. */
struct bench_stream {
	struct speech_reader reader;
	struct synth synth;
	void *enc, *dec;
};

struct bench {
	const struct cr_codec *codec;
	const struct cr_codec_cfg *cfg;
	const struct cost_plan *plan;
	unsigned rate, samples, nstreams;
	struct bench_stream *streams;
	struct times enc, dec;
};

/* One frame of one stream through both directions. */
static int run_step(struct bench *b, struct bench_stream *stream,
		    struct cr_frame *frame)
{
	int16_t pcm[CR_FRAME_SAMPLES_MAX];
	cr_ns start;
	int ret;

	if (b->plan->corpus)
		speech_read(&stream->reader, pcm, b->samples);
	else
		synth_read(&stream->synth, pcm, b->samples);
	start = clock_thread_cpu();
	ret = b->codec->encode(stream->enc, b->cfg->mode, pcm, frame);
	times_add(&b->enc, start);
	if (ret)
		return ret;
	start = clock_thread_cpu();
	(void)b->codec->decode(stream->dec, frame, pcm);
	times_add(&b->dec, start);
	return 0;
}

/* A frame of every stream, each after those of all others; with @later another
 * one right behind it, which is measured there. */
static int run_round(struct bench *b, struct bench *later)
{
	const atomic_bool *stop = b->plan->stop;
	struct cr_frame frame = { 0 };
	int ret = 0;

	for (unsigned i = 0; !ret && i < b->nstreams; i++) {
		/* relaxed: nothing else is read by it */
		if (stop && atomic_load_explicit(stop, memory_order_relaxed))
			return -ECANCELED;
		ret = run_step(b, &b->streams[i], &frame);
		if (!ret && later)
			ret = run_step(later, &b->streams[i], &frame);
	}
	return ret;
}

static int run_rounds(struct bench *b, struct bench *later, struct cr_err *e)
{
	cr_ns budget = b->plan->budget ? b->plan->budget : DEFAULT_BUDGET;
	cr_ns end = clock_thread_cpu() + budget;
	/* The first round meets cold caches and states that have just been
	 * set up: it does not count. */
	int ret = run_round(b, later);

	b->enc.n = b->dec.n = 0;
	if (later)
		later->enc.n = later->dec.n = 0;
	do {
		if (!ret)
			ret = run_round(b, later);
	} while (!ret && clock_thread_cpu() < end &&
		 b->enc.n + b->nstreams <= TIMES_MAX);
	if (ret)
		(void)cr_fail(e, ret, "cost: codec %s %s", b->codec->name,
			      ret == -ECANCELED ? "not measured: stopped"
						: "does not encode");
	return ret;
}

static int bench_init(struct bench *b, struct cr_err *e)
{
	int ret = 0;

	b->rate = b->cfg->sample_rate ? b->cfg->sample_rate
				      : b->codec->sample_rate;
	b->samples = (unsigned)(cr_codec_frame_ns(b->codec, b->cfg) * b->rate /
				CR_SEC);
	b->nstreams = b->plan->states ? b->plan->states : DEFAULT_STATES;
	if (b->nstreams > TIMES_MAX || b->samples > CR_FRAME_SAMPLES_MAX)
		return cr_fail(e, -EINVAL,
			       "cost: %u states, %u samples a frame; use at "
			       "most %u, %u",
			       b->nstreams, b->samples, (unsigned)TIMES_MAX,
			       CR_FRAME_SAMPLES_MAX);
	if (b->plan->corpus && speech_rate(b->plan->corpus) != b->rate)
		return cr_fail(e, -EINVAL,
			       "cost: speech at %u Hz for codec %s at %u Hz",
			       speech_rate(b->plan->corpus), b->codec->name,
			       b->rate);
	b->streams = calloc(b->nstreams, sizeof(*b->streams));
	if (!b->streams || times_init(&b->enc) || times_init(&b->dec))
		return cr_fail(e, -ENOMEM, "cost: out of memory");
	for (unsigned i = 0; !ret && i < b->nstreams; i++) {
		struct bench_stream *stream = &b->streams[i];
		uint64_t seed = b->plan->seed;

		if (b->plan->corpus)
			speech_reader_init(&stream->reader, b->plan->corpus,
					   seed, i);
		else
			synth_init(&stream->synth, b->rate, seed + i);
		ret = codec_open_encoder(b->codec, &stream->enc, b->cfg, e);
		if (!ret)
			ret = codec_open_decoder(b->codec, &stream->dec, b->cfg,
						 e);
	}
	return ret;
}

static struct cost_result bench_result(const struct bench *b, struct times *t)
{
	struct cost_result r = {
		.cost = times_cost(t),
		.frame = cr_codec_frame_ns(b->codec, b->cfg),
		.frames = t->n,
		.synthetic = !b->plan->corpus,
	};

	times_quantiles(t, r.quantile, COST_QUANTILES);
	return r;
}

/* Measure @b, of which codec, cfg and plan are set; later frames only if @later
 * is not NULL. */
static int run_bench(struct bench *b, struct cost_pair *first,
		     struct cost_pair *later, struct cr_err *e)
{
	int ret = bench_init(b, e);
	struct bench again = *b;

	again.enc = again.dec = (struct times){ 0 };
	if (!ret && later && (times_init(&again.enc) || times_init(&again.dec)))
		ret = cr_fail(e, -ENOMEM, "cost: out of memory");
	if (!ret)
		ret = run_rounds(b, later ? &again : NULL, e);
	if (!ret) {
		first->enc = bench_result(b, &b->enc);
		first->dec = bench_result(b, &b->dec);
	}
	if (!ret && later) {
		later->enc = bench_result(b, &again.enc);
		later->dec = bench_result(b, &again.dec);
	}
	times_fini(&again.enc);
	times_fini(&again.dec);
	for (unsigned i = 0; b->streams && i < b->nstreams; i++) {
		b->codec->encoder_close(b->streams[i].enc);
		b->codec->decoder_close(b->streams[i].dec);
	}
	free(b->streams);
	times_fini(&b->enc);
	times_fini(&b->dec);
	return ret;
}

int cost_measure(const struct cr_codec *codec, const struct cr_codec_cfg *cfg,
		 const struct cost_plan *plan, struct cost_pair *out,
		 struct cr_err *e)
{
	struct bench b = { .codec = codec, .cfg = cfg, .plan = plan };

	return run_bench(&b, out, NULL, e);
}

int cost_measure_rows(const struct cr_codec *codec,
		      const struct cr_codec_cfg *cfg,
		      const struct cost_plan *plan, struct cost_rows *out,
		      struct cr_err *e)
{
	struct cost_plan p = *plan;
	struct bench b = { .codec = codec, .cfg = cfg, .plan = &p };

	p.states = p.states ? p.states : ROW_STATES;
	return run_bench(&b, &out->first, &out->later, e);
}

/* The mean without a twentieth at each end, in units of ns / 1024. */
static cr_ns trimmed_mean(const struct cost_result *r)
{
	const unsigned cut = COST_QUANTILES / 20;
	cr_ns sum = 0;

	for (unsigned i = cut; i < COST_QUANTILES - cut; i++)
		sum += r->quantile[i];
	return sum * 1024 / (COST_QUANTILES - 2 * cut);
}

/* The cost of a first frame where a later one costs @warm; that is set to the
 * cost here if it is 0. */
static cr_ns first_frame_cost(cr_ns *warm, const struct cost_result *first,
			      const struct cost_result *later)
{
	cr_ns cold = trimmed_mean(first), base = trimmed_mean(later);

	if (!*warm)
		*warm = base / 1024;
	return base ? *warm * cold / base : 0;
}

int cost_measure_curve(const struct cr_codec *codec,
		       const struct cr_codec_cfg *cfg,
		       const struct cost_plan *plan, struct cost_curve *out,
		       struct cr_err *e)
{
	/* eighths of the budget */
	static const unsigned share[COST_POINTS] = { 0, 1, 1, 2, 4 };
	const cr_ns budget = plan->budget ? plan->budget : DEFAULT_BUDGET;
	struct cost_curve c = { .points = 1,
				.others = { 0, 1, 10, 100, 1000 } };
	struct cost_plan p = *plan;
	struct cost_rows rows;
	int ret = 0;

	for (unsigned i = 1; !ret && i < COST_POINTS; i++) {
		p.budget = cr_ns_max(budget * share[i] / 8, 1);
		/* warm-up and one round, of two frames each */
		if ((cr_ns)c.others[i] * 4 * (c.enc[0] + c.dec[0]) > p.budget)
			break;
		p.states = c.others[i] + 1;
		ret = cost_measure_rows(codec, cfg, &p, &rows, e);
		if (ret)
			break;
		c.enc[i] = first_frame_cost(&c.enc[0], &rows.first.enc,
					    &rows.later.enc);
		c.dec[i] = first_frame_cost(&c.dec[0], &rows.first.dec,
					    &rows.later.dec);
		c.points = i + 1;
	}
	if (!ret)
		*out = c;
	return ret;
}

int cost_quick(const struct cr_codec *codec, const struct cr_codec_cfg *cfg,
	       const struct speech_corpus *corpus, const atomic_bool *stop,
	       struct cost_pair *out, struct cr_err *e)
{
	struct cost_plan plan = {
		.budget = QUICK_BUDGET,
		.states = QUICK_STATES,
		.corpus = corpus,
		.stop = stop,
	};

	return cost_measure(codec, cfg, &plan, out, e);
}

/* --- sample-rate conversion; its cost does not depend on the signal --- */

enum {
	RESAMPLE_STATES = 16, /* taking turns */
	RESAMPLE_ROUNDS = 40,
	FRAMES_PER_SEC = 50,
	FRAME_MAX = 960,
};

static void run_resamplers(struct resample *const *states, unsigned from,
			   struct times *t)
{
	struct synth speech;

	synth_init(&speech, from, 0);
	for (unsigned i = 0; i < (RESAMPLE_ROUNDS + 1) * RESAMPLE_STATES; i++) {
		int16_t in[FRAME_MAX], out[FRAME_MAX];
		cr_ns start;

		/* The first round meets cold caches: it does not count. */
		if (i == RESAMPLE_STATES)
			t->n = 0;
		synth_read(&speech, in, from / FRAMES_PER_SEC);
		start = clock_thread_cpu();
		(void)resample_run(states[i % RESAMPLE_STATES], in,
				   from / FRAMES_PER_SEC, out, FRAME_MAX);
		times_add(t, start);
	}
}

int cost_resample(unsigned from, unsigned to, struct cost_result *out,
		  struct cr_err *e)
{
	struct resample *states[RESAMPLE_STATES] = { NULL };
	struct times t;
	int ret = 0;

	if (times_init(&t))
		return cr_fail(e, -ENOMEM, "cost: out of memory");
	for (unsigned i = 0; !ret && i < RESAMPLE_STATES; i++)
		ret = resample_open(&states[i], from, to, e);
	if (!ret) {
		run_resamplers(states, from, &t);
		*out = (struct cost_result){
			.cost = times_cost(&t),
			.frame = CR_SEC / FRAMES_PER_SEC,
			.frames = t.n,
			.synthetic = true,
		};
		times_quantiles(&t, out->quantile, COST_QUANTILES);
	}
	for (unsigned i = 0; i < RESAMPLE_STATES; i++)
		resample_close(states[i]);
	times_fini(&t);
	return ret;
}
