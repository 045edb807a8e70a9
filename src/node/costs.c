/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a packet of each codec pair costs on this machine.
 *
 * The first guess is the sum of a quick measurement of decoder and encoder on
 * synthetic speech, and of sending; when enough frames have been transcoded it
 * follows the calls (cost/learner.h). A frame is metered from its pick on, for
 * the codec is not all of it: what comes before, the codec, and its share of
 * sending. That is CPU time (media/transcode.h): a program that takes the
 * CPU from a worker makes frames late, but not dearer. And what streams cost by
 * that, and whether there is room for them.
 */
#include "node/costs.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/memory.h"
#include "cost/cost.h"
#include "node/node_impl.h"
#include "udp/socket.h"

/* No codec takes less, and nothing is for nothing. */
#define DECLARED_MIN CR_US

/** The parts of @media, the input first. Returns how many. */
static unsigned cost_parts(const struct pipeline_cfg *media,
			   struct cost_part part[COST_PARTS])
{
	unsigned from = codec_use_rate(&media->in);
	unsigned to = codec_use_rate(&media->out);

	part[0] = (struct cost_part){ .use = media->in };
	part[1] = (struct cost_part){ .use = media->out };
	if (from == to)
		return 2;
	part[2] = (struct cost_part){ .from = from, .to = to };
	return 3;
}

bool cost_part_same(const struct cost_part *a, const struct cost_part *b)
{
	return a->from == b->from && a->to == b->to &&
	       (a->from || codec_use_same(&a->use, &b->use, SAME_COST));
}

bool cost_part_declared(const struct cost_part *p, struct cost_value *out)
{
	cr_ns spin = p->use.cfg.spin;

	if (!p->use.codec || !p->use.codec->declares_cost)
		return false;
	if (spin < DECLARED_MIN)
		spin = DECLARED_MIN;
	*out = (struct cost_value){
		.enc = { .mean = spin, .p99 = spin },
		.dec = { .mean = spin, .p99 = spin },
		.frame = cr_codec_frame_ns(p->use.codec, &p->use.cfg),
	};
	return true;
}

int cost_part_measure(const struct cost_part *p, const atomic_bool *stop,
		      struct cost_value *out, struct cr_err *e)
{
	struct cost_result convert;
	struct cost_pair pair;
	int err;

	if (!p->use.codec) {
		err = cost_resample(p->from, p->to, &convert, e);
		if (!err)
			*out = (struct cost_value){ .enc = convert.cost,
						    .frame = convert.frame };
		return err;
	}
	err = cost_quick(p->use.codec, &p->use.cfg, NULL, stop, &pair, e);
	if (!err)
		*out = (struct cost_value){ .enc = pair.enc.cost,
					    .dec = pair.dec.cost,
					    .frame = pair.enc.frame };
	return err;
}

/* Sends per round, and rounds: some 0.5 ms of CPU time together. */
#define SEND_PACKETS 16u
#define SEND_ROUNDS 9u

enum { BUCKETS = 256 };

/* A part that is known. */
struct known {
	LIST_ENTRY(known) link;
	struct cost_part part;
	struct cost_value value;
};

TAILQ_HEAD(entries, cost_entry);

struct costs {
	LIST_HEAD(, known) parts;
	LIST_HEAD(, cost_entry) bucket[BUCKETS]; /* by name */
	struct entries held;
	struct entries kept; /* by nobody; used last: first */
	unsigned nheld, nkept;
	cr_ns send; /* CPU time of sending one packet on loopback */
};

static int by_send_cost(const void *a, const void *b)
{
	cr_ns x = *(const cr_ns *)a, y = *(const cr_ns *)b;

	return (x > y) - (x < y);
}

static void close_send_pair(int a, int b)
{
	if (a >= 0)
		(void)close(a);
	if (b >= 0)
		(void)close(b);
}

/* Median of rounds of sends between two sockets of our own; 0 when that is not
 * possible (the learned cost will tell). */
static cr_ns measure_send(void)
{
	cr_ns round[SEND_ROUNDS];
	struct sockaddr_storage any;
	socklen_t len = sizeof(any);
	uint8_t packet[45] = { 0 };
	int from, to;

	(void)address_parse("127.0.0.1:0", &any);
	from = udp_socket(&any, NULL);
	to = udp_socket(&any, NULL);
	if (from < 0 || to < 0 ||
	    getsockname(to, (struct sockaddr *)&any, &len)) {
		close_send_pair(from, to);
		return 0;
	}
	for (unsigned r = 0; r < SEND_ROUNDS; r++) {
		cr_ns start = clock_thread_cpu();

		for (unsigned i = 0; i < SEND_PACKETS; i++)
			(void)sendto(from, packet, sizeof(packet), MSG_DONTWAIT,
				     (struct sockaddr *)&any, len);
		round[r] = clock_thread_cpu() - start;
	}
	close_send_pair(from, to);
	qsort(round, SEND_ROUNDS, sizeof(round[0]), by_send_cost);
	return round[SEND_ROUNDS / 2] / SEND_PACKETS;
}

struct costs *costs_new(void)
{
	struct costs *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	TAILQ_INIT(&c->held);
	TAILQ_INIT(&c->kept);
	c->send = measure_send();
	return c;
}

static void free_entries(struct entries *list)
{
	struct cost_entry *e;

	while ((e = TAILQ_FIRST(list))) {
		TAILQ_REMOVE(list, e, link);
		free(e);
	}
}

void costs_free(struct costs *c)
{
	struct known *k;

	if (!c)
		return;
	free_entries(&c->held);
	free_entries(&c->kept);
	while ((k = LIST_FIRST(&c->parts))) {
		LIST_REMOVE(k, link);
		free(k);
	}
	free(c);
}

/* --- parts --- */

static const struct cost_value *part_value(const struct costs *c,
					   const struct cost_part *part)
{
	const struct known *k;

	LIST_FOREACH(k, &c->parts, link)
	{
		if (cost_part_same(&k->part, part))
			return &k->value;
	}
	return NULL;
}

int costs_put(struct costs *c, const struct cost_part *part,
	      const struct cost_value *v)
{
	struct known *k;

	if (part_value(c, part))
		return 0;
	k = malloc(sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->part = *part;
	k->value = *v;
	LIST_INSERT_HEAD(&c->parts, k, link);
	return 0;
}

bool costs_write_part(const struct costs *c, unsigned i, char text[COST_TEXT])
{
	const struct known *k;
	const struct cr_codec_cfg *cfg;

	LIST_FOREACH(k, &c->parts, link)
	{
		if (!i--)
			break;
	}
	if (!k)
		return false;
	cfg = &k->part.use.cfg;
	(void)snprintf(
		text, COST_TEXT,
		"cost %s %u %u %u %d %u %u %u %u %" PRId64 " %" PRId64
		" %" PRIu64 " %" PRId64 " %" PRId64 " %" PRIu64 " %" PRId64,
		k->part.use.codec ? k->part.use.codec->name : "-", cfg->mode,
		cfg->sample_rate, cfg->samples, cfg->dtx, cfg->complexity,
		cfg->fec, k->part.from, k->part.to, k->value.enc.mean,
		k->value.enc.p99, k->value.enc.variance_ns2, k->value.dec.mean,
		k->value.dec.p99, k->value.dec.variance_ns2, k->value.frame);
	return true;
}

int costs_read_part(struct costs *c, const char *text)
{
	struct cost_part part = { .from = 0 };
	struct cost_value v = { .frame = 0 };
	char codec[32];
	unsigned dtx;

	if (sscanf(text,
		   "cost %31s %u %u %u %u %u %u %u %u %" SCNd64 " %" SCNd64
		   " %" SCNu64 " %" SCNd64 " %" SCNd64 " %" SCNu64 " %" SCNd64,
		   codec, &part.use.cfg.mode, &part.use.cfg.sample_rate,
		   &part.use.cfg.samples, &dtx, &part.use.cfg.complexity,
		   &part.use.cfg.fec, &part.from, &part.to, &v.enc.mean,
		   &v.enc.p99, &v.enc.variance_ns2, &v.dec.mean, &v.dec.p99,
		   &v.dec.variance_ns2, &v.frame) != 16 ||
	    v.frame <= 0)
		return -EINVAL;
	part.use.cfg.dtx = dtx;
	part.use.codec = cr_codec_find(codec);
	if (!part.use.codec && !part.from)
		return -EINVAL;
	return costs_put(c, &part, &v);
}

/* A cost of as many @frame as @period holds, added to @sum. Where these are
 * not whole, some packets have one more than others. */
static void add_part_frames(struct cr_cost *sum, const struct cr_cost *cost,
			    cr_ns frame, cr_ns period)
{
	double frames = (double)period / (double)frame;
	double more = (double)(period % frame) / (double)frame;
	double mean = (double)cost->mean;

	sum->mean += (cr_ns)(mean * frames);
	sum->p99 += cost->p99 * ((period + frame - 1) / frame);
	sum->variance_ns2 += (uint64_t)((double)cost->variance_ns2 * frames +
					more * (1 - more) * mean * mean);
}

cr_ns costs_send(const struct costs *c)
{
	return c->send;
}

/* A packet's cost by its parts. 0; or -EAGAIN: @missing is not known. */
static int reckon(const struct costs *c, const struct pipeline_cfg *media,
		  cr_ns period, struct cr_cost *sum, struct cost_part *missing)
{
	const struct cr_cost send = { .mean = c->send, .p99 = c->send };
	struct cost_part part[COST_PARTS];
	unsigned n = cost_parts(media, part);

	*sum = (struct cr_cost){ 0 };
	add_part_frames(sum, &send, codec_use_packet(&media->out), period);
	for (unsigned i = 0; i < n; i++) {
		const struct cost_value *v;
		struct cost_value declared;

		v = cost_part_declared(&part[i], &declared)
			    ? &declared
			    : part_value(c, &part[i]);
		if (!v) {
			*missing = part[i];
			return -EAGAIN;
		}
		add_part_frames(sum, i == 0 ? &v->dec : &v->enc, v->frame,
				period);
	}
	return 0;
}

/* --- pairs --- */

/* Append @value, in @format, to the text in @buf. */
__attribute__((format(printf, 3, 0))) static void add(char *buf, size_t size,
						      const char *format,
						      unsigned value)
{
	size_t n = strlen(buf);

	(void)snprintf(buf + n, size - n, format, value);
}

static void side_name(const struct codec_use *s, char *buf, size_t size)
{
	const struct cr_codec *c = s->codec;

	if (c->nmodes > 1 && c->rates)
		(void)snprintf(buf, size, "%s/%s/%u", c->name,
			       c->modes[s->cfg.mode].name, codec_use_rate(s));
	else if (c->nmodes > 1)
		(void)snprintf(buf, size, "%s/%s", c->name,
			       c->modes[s->cfg.mode].name);
	else if (c->rates)
		(void)snprintf(buf, size, "%s/%u", c->name, codec_use_rate(s));
	else
		(void)snprintf(buf, size, "%s", c->name);
	if (s->cfg.complexity)
		add(buf, size, ",complexity=%u", s->cfg.complexity - 1);
	if (s->cfg.fec)
		add(buf, size, ",fec=%u", s->cfg.fec);
}

static void pair_name(const struct pipeline_cfg *m, cr_ns period, char *buf,
		      size_t size)
{
	cr_ns packet = codec_use_packet(&m->out);
	char in[40], out[40];

	side_name(&m->in, in, sizeof(in));
	side_name(&m->out, out, sizeof(out));
	(void)snprintf(buf, size, "%s>%s@%gms", in, out,
		       (double)period / (double)CR_MS);
	if (packet != period)
		(void)snprintf(buf + strlen(buf), size - strlen(buf), ">%gms",
			       (double)packet / (double)CR_MS);
	/* spin costs what the call says, so each cost is its own pair */
	if (m->in.cfg.spin || m->out.cfg.spin)
		(void)snprintf(buf + strlen(buf), size - strlen(buf), "+%gus",
			       (double)(m->in.cfg.spin + m->out.cfg.spin) /
				       (double)CR_US);
}

static unsigned cost_bucket(const char *name)
{
	uint32_t hash = UINT32_C(2166136261); /* FNV-1a */

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * UINT32_C(16777619);
	return hash % BUCKETS;
}

static void forget_oldest_entry(struct costs *c)
{
	struct cost_entry *e = TAILQ_LAST(&c->kept, entries);

	TAILQ_REMOVE(&c->kept, e, link);
	LIST_REMOVE(e, chain);
	c->nkept--;
	free(e);
}

static struct cost_entry *entry_new(struct costs *c, const char *name,
				    const struct cr_cost *cost, cr_ns period)
{
	struct cost_entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	(void)snprintf(e->name, sizeof(e->name), "%s", name);
	e->cost = *cost;
	e->measured = cost->mean;
	e->period = period;
	LIST_INSERT_HEAD(&c->bucket[cost_bucket(name)], e, chain);
	TAILQ_INSERT_HEAD(&c->kept, e, link);
	if (++c->nkept > COSTS_KEPT)
		forget_oldest_entry(c);
	/* One is kept, so this is not the oldest.
	 * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	return e;
}

int costs_find(struct costs *c, const struct pipeline_cfg *media, cr_ns period,
	       struct cost_entry **out, struct cost_part *missing,
	       struct cr_err *e)
{
	char name[sizeof(((struct cost_entry *)0)->name)];
	struct cost_entry *entry;
	struct cr_cost cost;

	pair_name(media, period, name, sizeof(name));
	LIST_FOREACH(entry, &c->bucket[cost_bucket(name)], chain)
	{
		if (!strcmp(entry->name, name))
			break;
	}
	if (!entry) {
		if (reckon(c, media, period, &cost, missing))
			return -EAGAIN;
		entry = entry_new(c, name, &cost, period);
	}
	if (!entry)
		return cr_fail(e, -ENOMEM, "out of memory");
	*out = entry;
	return 0;
}

int costs_believe(struct costs *c, const struct pipeline_cfg *media,
		  cr_ns period, const struct cr_cost *cost,
		  struct cost_entry **out, struct cr_err *e)
{
	char name[sizeof(((struct cost_entry *)0)->name)];

	pair_name(media, period, name, sizeof(name));
	*out = entry_new(c, name, cost, period);
	return *out ? 0 : cr_fail(e, -ENOMEM, "out of memory");
}

void costs_hold(struct costs *c, struct cost_entry *entry)
{
	if (entry->holders++)
		return;
	TAILQ_REMOVE(&c->kept, entry, link);
	TAILQ_INSERT_HEAD(&c->held, entry, link);
	c->nkept--;
	c->nheld++;
}

void costs_release(struct costs *c, struct cost_entry *entry)
{
	if (--entry->holders)
		return;
	TAILQ_REMOVE(&c->held, entry, link);
	TAILQ_INSERT_HEAD(&c->kept, entry, link);
	c->nheld--;
	if (++c->nkept > COSTS_KEPT)
		forget_oldest_entry(c);
}

void costs_learn(struct cost_entry *entry, const uint32_t *ns, unsigned n)
{
	if (!n)
		return;
	cost_learner_add(&entry->learner, ns, n);
	(void)cost_learner_cost(&entry->learner, &entry->cost);
}

int64_t costs_load_ppm(const struct costs *c)
{
	const struct cost_entry *e;
	int64_t ppm = 0;

	TAILQ_FOREACH (e, &c->held, link)
		ppm += e->streams * (e->cost.mean * CR_PPM / e->period);
	return ppm;
}

unsigned costs_count(const struct costs *c)
{
	return c->nheld + c->nkept;
}

static const struct cost_entry *shown_entry(const struct costs *c, unsigned i)
{
	const struct cost_entry *e = TAILQ_FIRST(&c->held);

	if (i >= COSTS_SHOWN)
		return NULL;
	if (i >= c->nheld) {
		i -= c->nheld;
		e = TAILQ_FIRST(&c->kept);
	}
	while (e && i--)
		e = TAILQ_NEXT(e, link);
	return e;
}

bool costs_at(const struct costs *c, unsigned i, struct node_cost_info *out)
{
	const struct cost_entry *e = shown_entry(c, i);

	if (!e)
		return false;
	*out = (struct node_cost_info){
		.streams = e->streams,
		.mean = e->cost.mean,
		.p99 = e->cost.p99,
		.stddev = sqrt((double)e->cost.variance_ns2),
		.learned_frames = e->learner.frames,
		.measured = e->measured,
		.source = e->learner.frames < LEARNER_ENOUGH ? "measured"
							     : "learned",
		.streams_per_core = (double)e->period / (double)e->cost.mean,
	};
	memcpy(out->transcoding, e->name, sizeof(out->transcoding));
	return true;
}

/* --- what streams cost --- */

/* The transcodings of @cfg that have a cost: into @media. Returns how many. */
static unsigned cost_media(const struct stream_cfg *cfg,
			   struct pipeline_cfg media[STREAM_CODECS_MAX])
{
	unsigned n = cfg->codecs ? cfg->codecs->n : 1;

	for (unsigned i = 0; i < n; i++) {
		media[i] = cfg->media;
		if (i)
			media[i].in = cfg->codecs->one[i];
	}
	return n;
}

/* Has the call that begins been let in before, here or on a machine that died?
 */
static bool node_call_ran(const struct node *n)
{
	return n->restoring && n->restoring->how != RESTORE_MOVED;
}

/* The entry of @media. A call that runs does not wait for a measurement: its
 * frames have cost something, maybe elsewhere. -EAGAIN: it begins, or moves
 * here, and @missing is not known. */
static int find_cost(struct node *n, const struct pipeline_cfg *media,
		     cr_ns period, struct cost_entry **out,
		     struct cost_part *missing, struct cr_err *e)
{
	const struct stream_past *was =
		node_call_ran(n) ? &n->restoring->stream[n->restoring->end]
				 : NULL;
	int err = costs_find(n->costs, media, period, out, missing, e);

	return err == -EAGAIN && was
		       ? costs_believe(n->costs, media, period,
				       &(struct cr_cost){ .mean = was->mean,
							  .p99 = was->p99 },
				       out, e)
		       : err;
}

int node_cost_of(struct node *n, const struct stream_cfg *cfg,
		 struct cost_entry **out, struct cr_err *e)
{
	struct pipeline_cfg media[STREAM_CODECS_MAX];
	unsigned count = cost_media(cfg, media), dearest = 0;
	struct cost_part missing;
	struct cost_entry *entry;
	cr_ns most = 0;
	int err = 0;

	for (unsigned i = 0; i < count && !err; i++) {
		err = find_cost(n, &media[i], cfg->release.period, &entry,
				&missing, e);
		if (err || entry->cost.mean <= most)
			continue;
		most = entry->cost.mean;
		dearest = i;
	}
	if (!err) /* the one found last need not be there any more */
		err = find_cost(n, &media[dearest], cfg->release.period, out,
				&missing, e);
	return err == -EAGAIN
		       ? cr_fail(e, err, "its cost has to be measured first")
		       : err;
}

void node_cost_ask(struct node *n, const struct stream_cfg *cfg)
{
	struct cost_part missing;
	struct cost_entry *entry;

	if (costs_find(n->costs, &cfg->media, cfg->release.period, &entry,
		       &missing, NULL) == -EAGAIN)
		(void)measuring_ask(n->measuring, &missing, NULL, NULL);
}

void node_cost_need(struct node_cost_wait *w, const struct stream_cfg *cfg,
		    unsigned count)
{
	struct pipeline_cfg media[STREAM_CODECS_MAX];

	w->n = 0;
	for (unsigned i = 0; i < count; i++) {
		unsigned codecs = cost_media(&cfg[i], media);

		for (unsigned k = 0; k < codecs; k++) {
			w->need[w->n].media = media[k];
			w->need[w->n++].period = cfg[i].release.period;
		}
	}
}

int node_cost_wait(struct node *n, struct node_cost_wait *w, struct cr_err *e)
{
	return measuring_begin(n->measuring, w, e);
}

void node_cost_forget(struct node *n, struct node_cost_wait *w)
{
	measuring_forget(n->measuring, w);
}

/* --- room --- */

int64_t node_load_of(const struct stream_cfg *cfg)
{
	return cfg->declared.cost.mean * CR_PPM / cfg->release.period;
}

int node_admit_measured(struct node *n, int64_t need, struct cr_verdict *v)
{
	struct live_load load;
	int64_t now = costs_load_ppm(n->costs);

	live_load(n->live, &load);
	if (!n->cfg.admission || node_call_ran(n) || need <= 0 ||
	    now + need <= load.bound_ppm)
		return 0;
	*v = (struct cr_verdict){ .need_ppm = need,
				  .free_ppm = load.bound_ppm - now,
				  .bound_ppm = load.bound_ppm,
				  .rule = "measured load" };
	return -ENOSPC;
}

int node_refuse(struct node *n, int err, const struct cr_verdict *v,
		struct cr_err *e)
{
	if (err == -ENOMEM)
		return cr_fail(e, err, "out of memory");
	if (err != -ENOSPC)
		return cr_fail(e, err,
			       "the %s scheduler does not take this "
			       "call (%s)",
			       live_scheduler(n->live),
			       v->rule ? v->rule : "its task model");
	return cr_fail(
		e, err,
		"no-capacity: need %.4f, free %.4f of %.2f under %s (%s)",
		(double)v->need_ppm / 1e6,
		(double)(v->free_ppm > 0 ? v->free_ppm : 0) / 1e6,
		(double)v->bound_ppm / 1e6, live_scheduler(n->live),
		v->rule ? v->rule : "load");
}

void node_capacity(struct node *n, struct node_capacity *out)
{
	struct live_load load;
	int64_t used, free_ppm;

	live_load(n->live, &load);
	used = costs_load_ppm(n->costs);
	if (load.load_ppm > used)
		used = load.load_ppm;
	free_ppm = load.bound_ppm - used;
	*out = (struct node_capacity){
		.descriptors = descriptors_limit(),
		.workers = n->cfg.workers,
		.bound = (double)load.bound_ppm / 1e6,
		.used = (double)used / 1e6,
		.free = free_ppm > 0 ? (double)free_ppm / 1e6 : 0,
		.calls = node_calls(n),
		.max_calls = n->cfg.max_calls,
		.admission = n->cfg.admission,
	};
}

int node_refuse_short(const struct node *n, struct cr_err *e)
{
	struct cr_err why;

	if (!memory_check_reserve(n->cfg.memory_reserve, &why))
		return 0;
	return cr_fail(e, -ENOSPC, "no-capacity: %s", why.text);
}

int node_refuse_full(struct node *n, unsigned promised, struct cr_err *e)
{
	if (node_refuse_short(n, e)) {
		n->calls_refused++;
		return -ENOSPC;
	}
	if (n->ncalls - n->nending + promised < n->cfg.max_calls)
		return 0;
	n->calls_refused++;
	return cr_fail(e, -ENOSPC,
		       "no-capacity: %u calls are the most this node takes "
		       "(--max-calls)",
		       n->cfg.max_calls);
}
