/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost models. Normal and lognormal ones follow from the normal variate of
 * base/random.h, the lognormal's parameters from mean m and deviation s:
 * sigma^2 = ln(1 + s^2 / m^2), and the mean of e^(sigma n) is e^(sigma^2 / 2).
 * Measured ones draw from what was measured.
 */
#include "sim/cost_model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "campaign/campaign.h"

/*
 * What a flow's codecs cost on this machine: decoding, conversion of the
 * sampling rate, and encoding are measured apart and drawn apart, behind frames
 * of other states; and what is saved where a frame follows one of its own.
 */

/* CPU time for each codec; conversion takes about 20 ms. */
#define BUDGET (200 * CR_MS)

/* The costs of as many frames as a packet of @ptime holds. */
static void set_quantiles(struct cost_values *v, const struct cost_result *r,
			  cr_ns ptime)
{
	for (v->count = 0; v->count < COST_QUANTILES; v->count++)
		v->value[v->count] = (cr_ns)((__int128)r->quantile[v->count] *
					     ptime / r->frame);
}

static int measure_endpoint(const struct codec_use *endpoint,
			    struct cost_rows *out, struct cr_err *e)
{
	const struct cost_plan plan = { .budget = BUDGET };

	return cost_measure_rows(endpoint->codec, &endpoint->cfg, &plan, out,
				 e);
}

/* The mean but for the dearest tenth, which other programs caused. */
static cr_ns typical_cost(const struct cost_result *r, cr_ns ptime)
{
	const unsigned n = COST_QUANTILES * 9 / 10;
	__int128 sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += r->quantile[i];
	return (cr_ns)(sum * ptime / r->frame / n);
}

/* What later frames of a row cost of what first ones do, ppm; both are
 * resampled for @convert, wherever their states are. */
static int64_t warm_of(const struct cost_rows *in, const struct cost_rows *out,
		       cr_ns convert, cr_ns ptime)
{
	cr_ns first = typical_cost(&in->first.dec, ptime) + convert +
		      typical_cost(&out->first.enc, ptime);
	cr_ns later = typical_cost(&in->later.dec, ptime) + convert +
		      typical_cost(&out->later.enc, ptime);

	return first > later ? (int64_t)((__int128)later * CR_PPM / first)
			     : CR_PPM;
}

/* Measure the codecs of @f into @m->part and @m->warm. 0, or -errno with @e.
 */
static int cost_model_measure(struct cost_model *m,
			      const struct campaign_flow *f, struct cr_err *e)
{
	unsigned from = codec_use_rate(&f->in), to = codec_use_rate(&f->out);
	struct cost_rows in, out;
	struct cost_result convert;
	cr_ns converted = 0;
	int rc = measure_endpoint(&f->in, &in, e);

	if (!rc)
		rc = measure_endpoint(&f->out, &out, e);
	if (!rc && from != to)
		rc = cost_resample(from, to, &convert, e);
	if (rc)
		return rc;
	set_quantiles(&m->part[0], &in.first.dec, f->ptime);
	set_quantiles(&m->part[2], &out.first.enc, f->ptime);
	if (from != to) {
		set_quantiles(&m->part[1], &convert, f->ptime);
		converted = typical_cost(&convert, f->ptime);
	}
	m->warm = warm_of(&in, &out, converted, f->ptime);
	return 0;
}

/* ln 2 in units of 2^-32 */
#define LN2 INT64_C(2977044471)
/* Half-lives after which nothing is left. */
#define FORGOTTEN 32u
/* Jobs drawn for the estimate. */
#define SAMPLE 20000u

static cr_ns times_q32(cr_ns t, int64_t q32)
{
	const __int128 most = INT64_C(1) << 60;
	__int128 v = ((__int128)t * q32) / FIXED_ONE;

	v = v > most ? most : v;
	return v < -most ? (cr_ns)-most : (cr_ns)v;
}

static cr_ns draw_unbounded(const struct cost_model *m, struct cost_source *s)
{
	const struct campaign_cost *c = m->cfg;
	struct random *r = &s->random;
	__int128 spread;
	cr_ns sum = 0;

	switch ((enum campaign_cost_kind)c->kind) {
	case COST_CONSTANT:
		return c->mean;
	case COST_NORMAL:
		return c->mean + times_q32(c->sd, random_normal_q32(r));
	case COST_LOGNORMAL:
		spread = (__int128)random_normal_q32(r) * m->sigma / FIXED_ONE;
		return times_q32(c->mean,
				 fixed_exp((int64_t)spread - m->shift));
	case COST_EXPONENTIAL:
		return random_exponential(r, c->mean);
	case COST_TRACE: {
		const struct replay_job *job;
		size_t n;

		/* Jobs that were not worked on count as the estimate says. */
		job = replay_call(&m->replay, s->call, &n);
		job += s->next++ % n;
		return job->cost ? job->cost : m->estimate.mean;
	}
	case COST_MEASURED:
		for (unsigned i = 0; i < COST_MODEL_PARTS; i++) {
			const struct cost_values *v = &m->part[i];
			unsigned __int128 at = v->count;

			if (v->count)
				sum += v->value[at * random_next(r) >> 64];
		}
		return sum;
	}
	abort();
}

static cr_ns bound_cost(const struct cost_model *m, cr_ns cost)
{
	return cr_ns_min(cr_ns_max(cost, m->cfg->min), m->cfg->max);
}

cr_ns cost_model_draw(const struct cost_model *m, struct cost_source *s)
{
	if (m->endless)
		return COST_MODEL_ENDLESS;
	return bound_cost(m, draw_unbounded(m, s));
}

cr_ns cost_model_after(const struct cost_model *m, cr_ns cold, uint64_t others)
{
	cr_ns saved;

	if (!m->saved || others >= FORGOTTEN * (uint64_t)m->cfg->half_life)
		return cold;
	saved = times_q32(times_q32(cold, m->saved),
			  fixed_exp(-(int64_t)others * m->decay));
	return cr_ns_max(cold - saved, m->cfg->min);
}

static void set_locality(struct cost_model *m)
{
	int64_t warm = m->cfg->warm ? m->cfg->warm : m->warm;

	if (!warm || m->endless)
		return;
	m->saved = (CR_PPM - warm) * FIXED_ONE / CR_PPM;
	m->decay = LN2 / m->cfg->half_life;
}

static int compare_costs(const void *a, const void *b)
{
	const cr_ns *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Mean, variance and 99th percentile of @n costs, which are sorted. */
static struct cr_cost summarize_costs(cr_ns *cost, size_t n)
{
	struct cr_cost out;
	unsigned __int128 squares = 0;
	__int128 sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += cost[i];
	/* There is one: NOLINTNEXTLINE(clang-analyzer-core.DivideZero) */
	out.mean = (cr_ns)((sum + (__int128)n / 2) / (__int128)n);
	for (size_t i = 0; i < n; i++) {
		__int128 d = cost[i] - out.mean;

		squares += (unsigned __int128)(d * d);
	}
	squares /= n;
	out.variance_ns2 =
		squares > UINT64_MAX ? UINT64_MAX : (uint64_t)squares;
	qsort(cost, n, sizeof(*cost), compare_costs);
	out.p99 = cost[(n * 99 + 99) / 100 - 1];
	return out;
}

/* What is declared to schedulers of the costs: of a sample. */
static void estimate_cost(struct cost_model *m)
{
	static cr_ns cost[SAMPLE];
	struct cost_source s = { .random = { 1 } };
	const struct replay *r = &m->replay;
	size_t n = r->njobs && r->njobs < SAMPLE ? r->njobs : SAMPLE, used = 0;

	if (m->endless || m->cfg->kind == COST_CONSTANT) {
		/* an endless job has no right to any share */
		m->estimate.mean = m->endless ? 1 : m->cfg->mean;
		m->estimate.p99 = m->estimate.mean;
		return;
	}
	/* of a trace: jobs all over it that were worked on; 1 at least */
	for (size_t i = 0; i < n; i++) {
		if (!r->njobs)
			cost[used++] = cost_model_draw(m, &s);
		else if (r->job[i * r->njobs / n].cost)
			cost[used++] =
				bound_cost(m, r->job[i * r->njobs / n].cost);
	}
	if (!used)
		cost[used++] = bound_cost(m, 1);
	m->estimate = summarize_costs(cost, used);
}

const char *cost_model_path(char *buf, size_t size, const char *base,
			    const char *file)
{
	const char *slash = strrchr(base, '/');

	if (file[0] == '/' || !slash)
		(void)snprintf(buf, size, "%s", file);
	else
		(void)snprintf(buf, size, "%.*s/%s", (int)(slash - base), base,
			       file);
	return buf;
}

static void set_lognormal(struct cost_model *m)
{
	const struct campaign_cost *c = m->cfg;
	__int128 ratio =
		((__int128)c->sd * c->sd << 32) / ((__int128)c->mean * c->mean);
	int64_t square = fixed_log(FIXED_ONE + (int64_t)ratio);

	m->sigma = fixed_sqrt(square);
	m->shift = square / 2;
}

int cost_model_open(struct cost_model *m, const struct campaign_flow *f,
		    const char *base, struct cr_err *e)
{
	char path[4096];
	int rc = 0;

	*m = (struct cost_model){ .cfg = &f->cost };
	m->endless = f->arrival.kind == ARRIVAL_LOOP;
	if (f->cost.file)
		(void)cost_model_path(path, sizeof(path), base, f->cost.file);
	if (f->cost.kind == COST_LOGNORMAL)
		set_lognormal(m);
	else if (f->cost.kind == COST_TRACE)
		rc = replay_open(&m->replay, path, e);
	else if (f->cost.kind == COST_MEASURED && !m->endless)
		rc = cost_model_measure(m, f, e);
	if (!rc) {
		set_locality(m);
		estimate_cost(m);
	}
	return rc;
}

void cost_model_replay(struct cost_model *m, const struct campaign_flow *f,
		       const struct replay *r)
{
	*m = (struct cost_model){ .cfg = &f->cost, .replay = *r };
	estimate_cost(m);
}

void cost_model_close(struct cost_model *m)
{
	replay_close(&m->replay);
	*m = (struct cost_model){ 0 };
}

static bool same_endpoint(const struct codec_use *a, const struct codec_use *b)
{
	return a->codec == b->codec && a->cfg.mode == b->cfg.mode &&
	       a->cfg.sample_rate == b->cfg.sample_rate &&
	       a->cfg.samples == b->cfg.samples && a->cfg.dtx == b->cfg.dtx &&
	       a->cfg.complexity == b->cfg.complexity &&
	       a->cfg.fec == b->cfg.fec && a->cfg.spin == b->cfg.spin;
}

/* Measured twice, equal codecs would not cost the same. */
static bool same_codecs(const struct campaign_flow *a,
			const struct campaign_flow *b)
{
	return !a->synthetic && !b->synthetic &&
	       a->cost.kind == COST_MEASURED && b->cost.kind == COST_MEASURED &&
	       a->ptime == b->ptime && same_endpoint(&a->in, &b->in) &&
	       same_endpoint(&a->out, &b->out);
}

int cost_models_open(struct cost_model *m, const struct campaign *c,
		     struct cr_err *e)
{
	int rc = 0;

	for (unsigned f = 0; f < c->flow_count && !rc; f++) {
		unsigned k = 0;

		while (k < f && !same_codecs(&c->flows[k], &c->flows[f]))
			k++;
		if (k == f) {
			rc = cost_model_open(&m[f], &c->flows[f], c->path, e);
			continue;
		}
		m[f] = (struct cost_model){ .cfg = &c->flows[f].cost,
					    .warm = m[k].warm };
		memcpy(m[f].part, m[k].part, sizeof(m[f].part));
		set_locality(&m[f]);
		estimate_cost(&m[f]);
	}
	return rc;
}

void cost_models_close(struct cost_model *m, const struct campaign *c)
{
	for (unsigned f = 0; f < c->flow_count; f++)
		cost_model_close(&m[f]);
}

/*
 * Fixed-point functions: e^x by its series after taking out powers of two, the
 * logarithm as its inverse by Halley's iteration, the root digit by digit.
 */

/* In units of 2^-60, for the series. */
#define ONE_60 (INT64_C(1) << 60)
#define LN2_60 INT64_C(799144290325165978)
/* ln 2^30 in units of 2^-32 */
#define MOST_X INT64_C(89311334154)

/* e^@f for 0 <= @f < ln 2, in units of 2^-60. */
static int64_t series(int64_t f)
{
	int64_t sum = ONE_60, term = ONE_60;

	for (int i = 1; term; i++) {
		term = (int64_t)((__int128)term * f >> 60) / i;
		sum += term;
	}
	return sum;
}

int64_t fixed_exp(int64_t x)
{
	__int128 x60;
	int64_t twos;
	int shift;

	if (x >= MOST_X)
		return INT64_C(1) << 62;
	if (x < -24 * FIXED_ONE)
		return 0;
	x60 = (__int128)x * (ONE_60 / FIXED_ONE);
	twos = (int64_t)(x60 / LN2_60);
	twos -= x60 < (__int128)twos * LN2_60;
	shift = 28 - (int)twos;
	x60 = series((int64_t)(x60 - (__int128)twos * LN2_60));
	return (int64_t)(shift >= 0 ? x60 >> shift : x60 << -shift);
}

int64_t fixed_log(int64_t y)
{
	int64_t x = 0, step;

	/* each step is below 2 and, near the end, cubes the error */
	for (int i = 0; i < 64; i++) {
		int64_t e = fixed_exp(x);

		step = (int64_t)((((__int128)y - e) << 33) / ((__int128)y + e));
		x += step;
		if (!step)
			break;
	}
	return x;
}

int64_t fixed_sqrt(int64_t y)
{
	unsigned __int128 left = (unsigned __int128)y << 32;
	uint64_t root = 0;

	for (uint64_t bit = UINT64_C(1) << 47; bit; bit >>= 1) {
		uint64_t with = root | bit;

		if ((unsigned __int128)with * with <= left)
			root = with;
	}
	return (int64_t)root;
}
