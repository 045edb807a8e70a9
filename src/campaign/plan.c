/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flows to calls: how many, when each begins and how long it lasts; and calls
 * to packets.
 */
#include "campaign/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/divisor.h"
#include "base/random.h"
#include "base/units.h"
#include "campaign/campaign.h"

struct poisson {
	const struct campaign_start *start;
	struct random random;
	cr_ns at, end; /**< of the last call; none begins from end on       */
	cr_ns mean;    /**< between calls at the highest rate; 0: none come */
	int64_t most;  /**< that rate, in the units of start->poisson       */
};

/** Most packets of one frame: the last update of a digit is its end, three
 * times. */
#define PARTY_PACKETS 3u

/*
 * --- counts of calls ---
 *
 * A load is shared by its flow and those that are like it:
 *
 *   n = load * CPUs / (share of a call of the flow + of one of each like it)
 */

/* A quotient that should be whole may come out a little below. */
#define ROUNDING 1e-9

bool campaign_needs_share(const struct campaign *c, unsigned f)
{
	const struct campaign_flow *flow = &c->flows[f];

	return flow->load_ppm ||
	       (flow->like >= 0 && c->flows[flow->like].load_ppm);
}

static int count_by_load(const struct campaign *c, unsigned f,
			 const double *share, double cpus, uint64_t *count,
			 struct cr_err *e)
{
	double sum = share[f], n;

	for (unsigned k = f + 1; k < c->flow_count; k++)
		if (c->flows[k].like == (int)f)
			sum += share[k];
	n = (double)c->flows[f].load_ppm / (double)CR_PPM * cpus / sum;
	if (!(n <= PLAN_CALLS_MAX))
		return cr_fail(e, -E2BIG,
			       "flow %s: its load means more than %u calls",
			       c->flows[f].name, PLAN_CALLS_MAX);
	*count = n < 1 ? 1 : (uint64_t)(n * (1 + ROUNDING));
	return 0;
}

int campaign_counts(const struct campaign *c, const double *share, double cpus,
		    double scale, uint64_t *counts, struct cr_err *e)
{
	int rc = 0;

	for (unsigned f = 0; f < c->flow_count && !rc; f++) {
		const struct campaign_flow *flow = &c->flows[f];
		double n = (double)flow->count * scale;

		if (counts[f])
			continue;
		if (flow->like >= 0)
			counts[f] = counts[flow->like];
		else if (flow->load_ppm)
			rc = count_by_load(c, f, share, cpus * scale,
					   &counts[f], e);
		else
			counts[f] = flow->count && n < 1 ? 1 : (uint64_t)n;
	}
	return rc;
}

/*
 * A Poisson process whose rate changes, by thinning (Lewis and Shedler,
 * "Simulation of nonhomogeneous Poisson processes by thinning", 1979): one of
 * the highest rate, of which each arrival stays with the probability that the
 * rate then is of the highest.
 */

/* The calls of @f, which must outlive @p and of which there are @n, in a
 * campaign of @duration. Without calls (@n 0) shares of them are none. */
static void poisson_init(struct poisson *p, const struct campaign_flow *f,
			 uint64_t n, cr_ns duration, struct random random)
{
	const struct campaign_start *s = &f->start;

	*p = (struct poisson){ .start = s, .random = random, .at = s->at };
	if (s->poisson.of_hold && !n)
		return; /* it has ended */
	for (unsigned i = 0; i < s->poisson.rates; i++)
		if (s->poisson.rate[i] > p->most)
			p->most = s->poisson.rate[i];
	/* calls per second, or a share of what keeps @n calls up */
	p->mean = !s->poisson.of_hold
			  ? (cr_ns)(1e15 / (double)p->most)
			  : (cr_ns)((__int128)f->hold.mean * CR_PPM /
				    ((__int128)p->most * n));
	p->end = duration;
	if (s->spread)
		p->end = cr_ns_min(s->at + s->spread, duration);
}

/* At p->at, along the line from one rate to the next. */
static int64_t rate_now(const struct poisson *p)
{
	const int64_t *rate = p->start->poisson.rate;
	cr_ns spread = p->start->spread;
	__int128 along = (__int128)(p->at - p->start->at) *
			 (p->start->poisson.rates - 1);
	unsigned endpoint = (unsigned)(along / spread);
	__int128 rise = rate[endpoint + 1] - rate[endpoint];

	return rate[endpoint] + (int64_t)(rise * (along % spread) / spread);
}

/* When the next one begins. False: there is none. */
static bool poisson_next(struct poisson *p, cr_ns *at)
{
	do {
		p->at = cr_ns_add(p->at,
				  random_exponential(&p->random, p->mean));
		if (p->at >= p->end)
			return false;
	} while (p->start->poisson.rates > 1 &&
		 random_time(&p->random, p->most - 1) >= rate_now(p));
	*at = p->at;
	return true;
}

/* --- flows to calls --- */

/* The plan being made, and what a flow needs of it. */
struct maker {
	struct plan *plan;
	const struct plan_options *o;
	size_t room;
	uint64_t two_way_calls; /* so far */
	struct cr_err *err;
};

/*
 * Where call number @n begins within its frame period: multiples of the golden
 * ratio, so that any number of calls is spread evenly.
 */
static cr_ns phase_of_call(uint64_t n, uint64_t seed, cr_ns ptime)
{
	uint64_t turn = n * UINT64_C(0x9e3779b97f4a7c15) + seed;

	return (cr_ns)((turn >> 32) * (uint64_t)ptime >> 32);
}

static int add_call(struct maker *m, const struct plan_call *made)
{
	struct plan *p = m->plan;
	size_t room = m->room ? 2 * m->room : 256;
	struct plan_call *grown;

	if (p->count == PLAN_CALLS_MAX)
		return cr_fail(m->err, -E2BIG, "%s: more than %u calls",
			       p->campaign->path, PLAN_CALLS_MAX);
	if (p->count == m->room) {
		grown = realloc(p->calls, room * sizeof(*grown));
		if (!grown)
			return cr_fail(m->err, -ENOMEM, "out of memory");
		p->calls = grown;
		m->room = room;
	}
	p->calls[p->count++] = *made;
	return 0;
}

/* @t * @num / @den, rounded down, for ppm: no product overflows. */
static cr_ns scale_time(cr_ns t, int64_t num, int64_t den)
{
	return t / den * num + t % den * num / den;
}

cr_ns plan_frame_time(const struct plan_call *call, cr_ns ptime, uint64_t frame)
{
	cr_ns spoken = (cr_ns)frame * ptime;

	if (call->drift)
		spoken = scale_time(spoken, CR_PPM, CR_PPM + call->drift);
	return call->start + spoken;
}

static struct random random_of(uint64_t seed, unsigned flow, unsigned index)
{
	return random_fork(seed, (uint64_t)flow << 32 | index);
}

uint64_t plan_call_seed(uint64_t seed, unsigned flow, unsigned index)
{
	struct random r = random_of(seed, flow, index);

	return random_next(&r);
}

/* Number @n of the plan begins at @at, before its phase, and lasts @hold. */
static struct plan_call make_planned_call(const struct maker *m, unsigned flow,
					  unsigned index, size_t n, cr_ns at,
					  cr_ns hold)
{
	const struct campaign_flow *f = &m->plan->campaign->flows[flow];
	struct plan_call made = { .flow = flow,
				  .index = index,
				  .seed = plan_call_seed(m->o->seed, flow,
							 index),
				  .start = at };

	/* the caller's clock; drawn apart, so that calls with and without it
	 * are otherwise the same */
	struct random r = random_fork(made.seed, 5);
	cr_ns end;

	/* the textbook's tasks begin together unless told otherwise */
	if (!f->synthetic)
		made.start += phase_of_call(n, m->o->seed, f->ptime);
	made.drift = f->drift.least +
		     random_time(&r, f->drift.most - f->drift.least);
	/* whole frames until it has lasted so long, or the campaign's end */
	end = cr_ns_min(cr_ns_add(made.start, hold), m->o->duration);
	made.frames = (uint64_t)(scale_time(cr_ns_max(end - made.start, 0),
					    CR_PPM + made.drift, CR_PPM) /
				 f->ptime);
	return made;
}

/* Add a call, one-way or two-way, that begins at @at. One that is too short to
 * send a frame is left out. */
static int place_call(struct maker *m, unsigned flow, unsigned index, cr_ns at)
{
	const struct campaign_flow *f = &m->plan->campaign->flows[flow];
	struct random r = random_of(m->o->seed, flow, index);
	unsigned n = flow_is_two_way(f) ? 2 : 1;
	struct plan_call made[2];
	cr_ns hold;
	int rc = 0;

	(void)random_next(&r); /* the call's seed */
	hold = f->hold.mean;
	if (f->hold.exponential && hold != CR_NEVER)
		hold = random_exponential(&r, hold);
	for (unsigned i = 0; i < n; i++) {
		made[i] = make_planned_call(m, flow + i, index,
					    m->plan->count + i, at, hold);
		if (!made[i].frames)
			return 0;
	}
	m->two_way_calls += n == 2;
	for (unsigned i = 0; i < n && !rc; i++) {
		made[i].two_way_call = n == 2 ? m->two_way_calls : 0;
		rc = add_call(m, &made[i]);
	}
	return rc;
}

/* A share of many short calls is a rate without bounds. */
static int check_packet_rate(const struct maker *m,
			     const struct campaign_flow *f, uint64_t n,
			     const struct poisson *p)
{
	const cr_ns shortest = CR_SEC * CR_PPM / CAMPAIGN_RATE_MAX;
	char hold[UNITS_TEXT];

	if (!f->start.poisson.of_hold || !n || p->mean >= shortest)
		return 0;
	return cr_fail(m->err, -EINVAL,
		       "%s:%u: flow %s: its share of what keeps %llu calls of "
		       "%s up is more than %lld calls per second; give it "
		       "fewer calls, a longer hold or a smaller share",
		       m->plan->campaign->path, f->line, f->name,
		       (unsigned long long)n,
		       units_format_time(f->hold.mean, hold, sizeof(hold)),
		       (long long)(CAMPAIGN_RATE_MAX / CR_PPM));
}

static int place_poisson(struct maker *m, unsigned flow)
{
	const struct campaign_flow *f = &m->plan->campaign->flows[flow];
	uint64_t n = m->o->counts[flow];
	bool limited = n && !f->start.poisson.of_hold;
	struct poisson p;
	cr_ns at;
	int rc;

	poisson_init(&p, f, n, m->o->duration,
		     random_fork(m->o->seed, ~(uint64_t)flow));
	rc = check_packet_rate(m, f, n, &p);
	for (unsigned i = 0; !rc && (!limited || i < n); i++) {
		if (!poisson_next(&p, &at))
			break;
		rc = place_call(m, flow, i, at);
	}
	return rc;
}

static int compare_starts(const void *a, const void *b)
{
	const struct plan_call *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->flow != y->flow)
		return x->flow < y->flow ? -1 : 1;
	return x->index < y->index ? -1 : 1;
}

int plan_make(struct plan *p, const struct campaign *c,
	      const struct plan_options *o, struct cr_err *e)
{
	struct plan made = { .campaign = c };
	struct maker m = { .plan = &made, .o = o, .err = e };
	int rc = 0;

	for (unsigned f = 0; f < c->flow_count && !rc; f++) {
		const struct campaign_start *s = &c->flows[f].start;
		double n = (double)o->counts[f];

		if (c->flows[f].party.side)
			continue; /* b comes with a */
		if (s->poisson.rates)
			rc = place_poisson(&m, f);
		else
			for (uint64_t i = 0; i < o->counts[f] && !rc; i++)
				rc = place_call(
					&m, f, (unsigned)i,
					s->at + (cr_ns)((double)s->spread *
							(double)i / n));
	}
	if (!rc && !made.count)
		rc = cr_fail(e, -EINVAL,
			     "%s: no call sends a frame before the "
			     "campaign ends; make duration longer",
			     c->path);
	if (rc) {
		plan_fini(&made);
		return rc;
	}
	qsort(made.calls, made.count, sizeof(*made.calls), compare_starts);
	*p = made;
	return 0;
}

static int compare_times(const void *a, const void *b)
{
	const cr_ns *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The calls are in order of their starts. */
int plan_most_up(const struct plan *p, cr_ns before, cr_ns after, size_t *most)
{
	cr_ns *ends = malloc(p->count * sizeof(*ends));
	size_t up = 0, max = 0, ended = 0;

	if (!ends)
		return -ENOMEM;
	for (size_t i = 0; i < p->count; i++) {
		const struct plan_call *c = &p->calls[i];
		const struct campaign_flow *f = &p->campaign->flows[c->flow];

		ends[i] = plan_frame_time(c, f->ptime, c->frames) + after;
	}
	qsort(ends, p->count, sizeof(*ends), compare_times);
	for (size_t i = 0; i < p->count; i++) {
		for (; ends[ended] < p->calls[i].start - before; ended++)
			up--;
		max = ++up > max ? up : max;
	}
	free(ends);
	*most = max;
	return 0;
}

void plan_fini(struct plan *p)
{
	free(p->calls);
	p->calls = NULL;
	p->count = 0;
}

/*
 * What parties do beside speaking: digits, noise and changes.
 *
 * A digit takes whole frames: as many as its length begins. It is told of in
 * each of them (RFC 4733, 2.5.1.2: updates), and its end three times in the
 * last one. Digits are dialled in pauses, too.
 */

static cr_ns first_time(const struct campaign_change *when)
{
	if (!when->at && !when->every)
		return CR_NEVER;
	return when->at ? when->at : when->every;
}

/* Of @s->flow and @s->call. One-way calls have nothing. */
static void party_init(struct plan_stream *s)
{
	const struct campaign_party *p = &s->flow->party;

	if (!flow_is_two_way(s->flow))
		return;
	s->party = (struct plan_party){
		.lengths = random_fork(s->call->seed, 6),
		.next_ssrc = first_time(&p->ssrc.when),
		.next_port = first_time(&p->port.when),
		.next_digit = p->dtmf.digits[0] ? p->dtmf.at : CR_NEVER,
	};
}

/* By the party's own clock. */
static cr_ns speaks_in(const struct plan_stream *s)
{
	return (cr_ns)s->frame * s->flow->ptime;
}

/* Frames are rarely shorter than what is between two changes. */
static bool is_time_for(cr_ns *next, const struct campaign_change *when,
			cr_ns now)
{
	if (now < *next)
		return false;
	*next = when->every ? cr_ns_add(*next, when->every) : CR_NEVER;
	return true;
}

/* Frame @s->frame begins: has SSRC or port changed? Not while a digit is
 * dialled: then it waits for the end. True: another SSRC. */
static bool party_changes(struct plan_stream *s)
{
	const struct campaign_party *p = &s->flow->party;
	struct plan_party *now = &s->party;
	bool other;

	if (now->dialling)
		return false;
	now->port += is_time_for(&now->next_port, &p->port.when, speaks_in(s));
	other = is_time_for(&now->next_ssrc, &p->ssrc.when, speaks_in(s));
	now->ssrc += other;
	return other;
}

/* --- digits --- */

static void begin_party_digit(struct plan_stream *s)
{
	const struct campaign_dtmf *d = &s->flow->party.dtmf;
	struct plan_party *p = &s->party;
	cr_ns length =
		d->length.least +
		random_time(&p->lengths, d->length.most - d->length.least);

	p->dialling = true;
	p->digit_first = s->frame;
	p->digit_length = length;
	p->digit_frames =
		(uint64_t)((length + s->flow->ptime - 1) / s->flow->ptime);
}

static unsigned say_digit(struct plan_stream *s, struct plan_packet *out)
{
	const struct campaign_dtmf *d = &s->flow->party.dtmf;
	struct plan_party *p = &s->party;
	uint64_t done = s->frame - p->digit_first + 1;
	bool end = done == p->digit_frames;
	struct plan_packet k = {
		.kind = PLAN_EVENT,
		.frame = p->digit_first,
		.marker = done == 1,
		.digit = p->digit,
		.end = end,
		.duration = cr_ns_min((cr_ns)done * s->flow->ptime,
				      p->digit_length),
	};
	unsigned n = 0;

	do {
		out[n++] = k;
		k.marker = false;
	} while (end && n < PARTY_PACKETS);
	if (end) {
		p->dialling = false;
		p->digit++;
		p->next_digit =
			d->digits[p->digit]
				? (cr_ns)p->digit_first * s->flow->ptime +
					  p->digit_length + d->interval
				: CR_NEVER;
	}
	return n;
}

/* --- noise --- */

static unsigned say_noise(struct plan_stream *s, struct plan_packet *out)
{
	const struct campaign_cn *cn = &s->flow->party.cn;
	struct plan_party *p = &s->party;

	if (s->frame < p->next_noise)
		return 0;
	p->next_noise =
		s->frame + (uint64_t)((cn->interval + s->flow->ptime - 1) /
				      s->flow->ptime);
	*out = (struct plan_packet){ .kind = PLAN_NOISE, .frame = s->frame };
	return 1;
}

/*
 * A call's packets: talk spurts decide which frames there are, the network
 * model which of them arrive, when, in what order and how often.
 *
 *   frame -> spurt? -> silent? -> number it -> lost? -> delay
 *         -> hold it back, or put it out with its copy and the one held
 *
 * Parties of two-way calls also dial, send noise, and change.
 */

static void begin_spurt(struct plan_stream *s, bool pausing)
{
	const struct campaign_talk *t = &s->flow->talk;
	cr_ns drawn =
		random_exponential(&s->talk, pausing ? t->pause : t->spurt);
	uint64_t frames = (uint64_t)(drawn / s->flow->ptime);

	s->pausing = pausing;
	s->marker = !pausing;
	s->party.next_noise = s->frame;
	s->turn = s->frame + (frames ? frames : 1);
}

/* Step over pauses; false when the call ends in one. */
static bool find_speech(struct plan_stream *s)
{
	while (s->flow->talk.spurt && s->frame < s->call->frames) {
		if (s->frame == s->turn)
			begin_spurt(s, !s->pausing);
		if (!s->pausing)
			break;
		s->frame = s->turn;
	}
	return s->frame < s->call->frames;
}

/*
 * Gilbert: lost packets come in runs of mean length burst, and the share lost
 * is loss; p(good -> bad) = loss / (burst * (1 - loss)), p(bad -> good) =
 * 1 / burst.
 */
static bool is_lost(struct plan_stream *s)
{
	const struct campaign_network *n = &s->flow->network;
	double u = random_unit(&s->network);
	double loss = (double)n->loss / 1e6;

	if (!n->loss)
		return false;
	if (s->losing)
		s->losing = u >= 1.0 / (double)n->burst;
	else
		s->losing = u < loss / ((double)n->burst * (1.0 - loss));
	return s->losing;
}

static void put_delayed(struct plan_stream *s, struct plan_packet p)
{
	p.at = cr_ns_max(p.at, s->last);
	s->last = p.at;
	s->ready[s->nready++] = p;
}

static void release_held(struct plan_stream *s)
{
	s->holding = false;
	put_delayed(s, s->held);
}

/* Number @p, of frame s->frame, and send it on its way through the network.
 * Every packet draws the same number of random values, whatever becomes of it.
 */
static void put_numbered(struct plan_stream *s, struct plan_packet p)
{
	const struct campaign_network *n = &s->flow->network;
	bool hold, copy;

	p.seq = s->seq++;
	p.nth = s->nth;
	s->nth += p.kind == PLAN_SPEECH;
	p.marker |= s->marker;
	s->marker = false;
	p.ssrc = s->party.ssrc;
	p.port = s->party.port;
	p.lost = is_lost(s);
	p.at = plan_frame_time(s->call, s->flow->ptime, s->frame) +
	       random_time(&s->network, n->jitter);
	hold = random_chance(&s->network, n->reorder);
	copy = random_chance(&s->network, n->duplicate);
	if (hold && !p.lost && !s->holding) {
		p.held = true;
		s->held = p;
		s->holding = true;
		s->overtakers = n->depth;
		return;
	}
	put_delayed(s, p);
	if (copy && !p.lost) {
		p.copy = true;
		put_delayed(s, p);
	}
	if (s->holding && --s->overtakers == 0)
		release_held(s);
}

static void put_speech_packet(struct plan_stream *s)
{
	if (s->silent && s->silent(s->silent_arg, s->frame))
		s->marker = true;
	else
		put_numbered(s, (struct plan_packet){ .frame = s->frame });
}

/* Put what a party sends in frame s->frame: a digit, speech or noise. */
static void put_party(struct plan_stream *s)
{
	struct plan_packet said[PARTY_PACKETS];
	unsigned n = 0;

	if (s->flow->talk.spurt && s->frame == s->turn)
		begin_spurt(s, !s->pausing);
	s->marker |= party_changes(s);
	/* in place of speech or silence */
	if (!s->party.dialling && speaks_in(s) >= s->party.next_digit)
		begin_party_digit(s);
	if (s->party.dialling)
		n = say_digit(s, said);
	else if (s->pausing && s->flow->party.cn.given)
		n = say_noise(s, said);
	for (unsigned i = 0; i < n; i++)
		put_numbered(s, said[i]);
	if (!n && !s->pausing)
		put_speech_packet(s);
}

void plan_stream_init(struct plan_stream *s, const struct plan *p,
		      const struct plan_call *call)
{
	memset(s, 0, sizeof(*s));
	s->flow = &p->campaign->flows[call->flow];
	s->call = call;
	s->network = random_fork(call->seed, 1);
	s->talk = random_fork(call->seed, 2);
	s->marker = true;
	party_init(s);
	if (s->flow->talk.spurt)
		begin_spurt(s, false);
}

bool plan_stream_next(struct plan_stream *s, struct plan_packet *out)
{
	if (s->taken == s->nready) {
		s->taken = s->nready = 0;
		if (flow_is_two_way(s->flow)) {
			for (; !s->nready && s->frame < s->call->frames;
			     s->frame++)
				put_party(s);
		} else {
			for (; !s->nready && find_speech(s); s->frame++)
				put_speech_packet(s);
		}
		if (!s->nready && s->holding)
			release_held(s);
		if (!s->nready)
			return false;
	}
	*out = s->ready[s->taken++];
	return true;
}

static void mix_value(uint64_t *hash, uint64_t value)
{
	for (unsigned i = 0; i < 8; i++) {
		*hash ^= value & 0xff;
		*hash *= UINT64_C(0x100000001b3);
		value >>= 8;
	}
}

uint64_t plan_hash(const struct plan *p)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	struct plan_packet k;
	struct plan_stream s;

	for (size_t i = 0; i < p->count; i++) {
		mix_value(&hash, p->calls[i].flow);
		mix_value(&hash, p->calls[i].index);
		plan_stream_init(&s, p, &p->calls[i]);
		while (plan_stream_next(&s, &k)) {
			mix_value(&hash, (uint64_t)k.at);
			mix_value(&hash, k.frame);
			mix_value(&hash, k.seq << 3 | (unsigned)k.marker << 2 |
						 (unsigned)k.lost << 1 |
						 k.copy);
			if (!p->calls[i].two_way_call)
				continue;
			mix_value(&hash, (uint64_t)k.kind << 40 |
						 (uint64_t)k.ssrc << 24 |
						 (uint64_t)k.port << 8 |
						 k.digit);
			mix_value(&hash, (uint64_t)k.duration << 1 | k.end);
		}
	}
	return hash;
}

/* --- segments of speech, and calls' ways through them --- */

#define SEGMENT_MIN CR_SEC
#define SEGMENT_MAX (10 * CR_SEC)
#define POOL_BYTES (16u << 20) /* PCM needs no codec time: as many as fit */
#define CODED_SEGMENTS 64u
#define MIN_SEGMENTS 16u
#define MAX_SEGMENTS 256u

/* Of a packet, headers aside. */
static size_t source_packet_bytes(const struct campaign_flow *f)
{
	const struct cr_codec *codec = f->in.codec;
	/* PCM without a codec is that of a telephone */
	unsigned rate = codec ? codec_use_rate(&f->in) : 8000;

	if (!codec || codec->any_length)
		return (size_t)(f->ptime * rate / CR_SEC) * 2;
	return codec->frame_max ? codec->frame_max
				: codec->modes[f->in.cfg.mode].bytes;
}

struct segments segments_of(const struct campaign_flow *f, cr_ns duration)
{
	cr_ns time = cr_ns_max(cr_ns_min(duration, SEGMENT_MAX), SEGMENT_MIN);
	bool coded = f->in.codec && !f->in.codec->any_length;
	struct segments s = { .frames = (unsigned)(time / f->ptime) };
	size_t bytes = source_packet_bytes(f) * s.frames;

	s.count = (unsigned)(POOL_BYTES / (bytes ? bytes : 1));
	if (s.count < MIN_SEGMENTS)
		s.count = MIN_SEGMENTS;
	if (s.count > MAX_SEGMENTS)
		s.count = MAX_SEGMENTS;
	if (coded && s.count > CODED_SEGMENTS)
		s.count = CODED_SEGMENTS;
	return s;
}

void segment_walk_init(struct segment_walk *w, struct segments in,
		       uint64_t seed)
{
	struct random r = random_fork(seed, 3);

	w->in = in;
	w->first = random_next(&r) % in.count;
	w->offset = random_next(&r) % in.frames;
	/* a step without common divisor visits every segment */
	do
		w->step = 1 + random_next(&r) % (in.count - 1);
	while (common_divisor(w->step, in.count) != 1);
}

size_t segment_at(const struct segment_walk *w, uint64_t frame)
{
	uint64_t pos = w->offset + frame;
	uint64_t segment =
		(w->first + pos / w->in.frames * w->step) % w->in.count;

	return (size_t)(segment * w->in.frames + pos % w->in.frames);
}
