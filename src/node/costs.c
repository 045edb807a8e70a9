/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a packet of each codec pair costs on this machine.
 *
 * The first guess is a quick measurement of decoder and encoder on synthetic
 * speech, and of sending; when enough frames have been transcoded it follows
 * the calls (cost/learner.h). A frame is timed from its pick on, for the codec
 * is not all of it: what comes before, the codec, and its share of sending
 * (media/turn.c). That is by the clock on the wall: what takes the CPU from a
 * worker counts, too.
 */
#include "node/costs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "cost/cost.h"
#include "media/rx.h"
#include "udp/socket.h"

/* Sends per round, and rounds: some 0.5 ms of CPU time together. */
#define SEND_PACKETS 16u
#define SEND_ROUNDS 9u
/* Codecs and modes make a few hundred pairs; a peer that asks for ever other
 * spin times shall not fill the memory. */
#define ENTRIES_MAX 4096u

struct costs {
	unsigned n; /* entries */
	struct cost_entry *first;
	cr_ns send; /* CPU time of sending one packet on loopback */
};

static int by_value(const void *a, const void *b)
{
	cr_ns x = *(const cr_ns *)a, y = *(const cr_ns *)b;

	return (x > y) - (x < y);
}

static void close_both(int a, int b)
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
		close_both(from, to);
		return 0;
	}
	for (unsigned r = 0; r < SEND_ROUNDS; r++) {
		cr_ns start = clock_thread_cpu();

		for (unsigned i = 0; i < SEND_PACKETS; i++)
			(void)sendto(from, packet, sizeof(packet), MSG_DONTWAIT,
				     (struct sockaddr *)&any, len);
		round[r] = clock_thread_cpu() - start;
	}
	close_both(from, to);
	qsort(round, SEND_ROUNDS, sizeof(round[0]), by_value);
	return round[SEND_ROUNDS / 2] / SEND_PACKETS;
}

struct costs *costs_new(void)
{
	struct costs *c = calloc(1, sizeof(*c));

	if (c)
		c->send = measure_send();
	return c;
}

void costs_free(struct costs *c)
{
	struct cost_entry *e, *next;

	for (e = c ? c->first : NULL; e; e = next) {
		next = e->next;
		free(e);
	}
	free(c);
}

static void side_name(const struct pipeline_side *s, char *buf, size_t size)
{
	const struct cr_codec *c = s->codec;

	if (c->nmodes > 1)
		(void)snprintf(buf, size, "%s/%s", c->name,
			       c->modes[s->cfg.mode].name);
	else if (c->any_rate)
		(void)snprintf(buf, size, "%s/%u", c->name,
			       pipeline_side_rate(s));
	else
		(void)snprintf(buf, size, "%s", c->name);
}

static void pair_name(const struct pipeline_cfg *m, cr_ns period, char *buf,
		      size_t size)
{
	char in[40], out[40];

	side_name(&m->in, in, sizeof(in));
	side_name(&m->out, out, sizeof(out));
	(void)snprintf(buf, size, "%s>%s@%gms", in, out,
		       (double)period / (double)CR_MS);
	/* spin costs what the call says, so each cost is its own pair */
	if (m->in.cfg.spin || m->out.cfg.spin)
		(void)snprintf(buf + strlen(buf), size - strlen(buf), "+%gus",
			       (double)(m->in.cfg.spin + m->out.cfg.spin) /
				       (double)CR_US);
}

/* @r's cost of as many frames as a packet of @period holds, added to @sum. */
static void add_frames(struct cr_cost *sum, const struct cost_result *r,
		       cr_ns period)
{
	double frames = (double)period / (double)r->frame;

	sum->mean += (cr_ns)((double)r->cost.mean * frames);
	sum->p99 += (cr_ns)((double)r->cost.p99 * frames);
	sum->variance_ns2 += (uint64_t)((double)r->cost.variance_ns2 * frames);
}

static int measure(const struct pipeline_cfg *media, cr_ns period,
		   struct cr_cost *cost, struct cr_err *e)
{
	const struct pipeline_side *in = &media->in, *out = &media->out;
	unsigned from = pipeline_side_rate(in), to = pipeline_side_rate(out);
	struct cost_result convert;
	struct cost_pair heard, sent;
	int err = cost_quick(in->codec, &in->cfg, NULL, &heard, e);

	if (!err)
		err = cost_quick(out->codec, &out->cfg, NULL, &sent, e);
	if (!err && from != to)
		err = cost_resample(from, to, &convert, e);
	if (err)
		return err;
	memset(cost, 0, sizeof(*cost));
	add_frames(cost, &heard.dec, period);
	add_frames(cost, &sent.enc, period);
	if (from != to)
		add_frames(cost, &convert, period);
	return 0;
}

struct cost_entry *costs_get(struct costs *c, const struct pipeline_cfg *media,
			     cr_ns period, struct cr_err *e)
{
	char name[sizeof(((struct cost_entry *)0)->name)];
	struct cost_entry *entry;
	struct cr_cost cost;

	pair_name(media, period, name, sizeof(name));
	for (entry = c->first; entry; entry = entry->next)
		if (!strcmp(entry->name, name))
			return entry;
	if (c->n >= ENTRIES_MAX) {
		(void)cr_fail(e, -ENOSPC,
			      "spin: more than %u different loads; use ones "
			      "that were there before",
			      ENTRIES_MAX);
		return NULL;
	}
	if (measure(media, period, &cost, e))
		return NULL;
	entry = calloc(1, sizeof(*entry));
	if (!entry) {
		(void)cr_fail(e, -ENOMEM, "out of memory");
		return NULL;
	}
	(void)snprintf(entry->name, sizeof(entry->name), "%s", name);
	entry->cost = cost;
	entry->cost.mean += c->send;
	entry->cost.p99 += c->send;
	entry->period = period;
	entry->next = c->first;
	c->first = entry;
	c->n++;
	return entry;
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
	int64_t ppm = 0;

	for (const struct cost_entry *e = c->first; e; e = e->next)
		ppm += e->calls * e->cost.mean * CR_PPM / e->period;
	return ppm;
}

bool costs_at(const struct costs *c, unsigned i, struct node_cost_info *out)
{
	const struct cost_entry *e = c->first;

	while (e && i--)
		e = e->next;
	if (!e)
		return false;
	*out = (struct node_cost_info){
		.calls = e->calls,
		.mean = e->cost.mean,
		.p99 = e->cost.p99,
		.stddev = sqrt((double)e->cost.variance_ns2),
		.learned_frames = e->learner.frames,
		.calls_per_core = (double)e->period / (double)e->cost.mean,
	};
	memcpy(out->transcoding, e->name, sizeof(out->transcoding));
	return true;
}
