/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is left of a call when it is over, and what is known of it so far.
 *
 *   stream over -> (of two: wait for the other one) -> recorded()
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/address.h"
#include "base/clock.h"
#include "node/node_impl.h"
#include "node/info.h"
#include "observe/g107.h"
#include "observe/log.h"

/* "2024-05-01T12:00:00.123Z" */
static void utc_text(cr_ns utc, char buf[RECORD_TIME_MAX])
{
	time_t seconds = (time_t)(utc / CR_SEC);
	struct tm tm;
	size_t n;

	(void)gmtime_r(&seconds, &tm);
	n = strftime(buf, RECORD_TIME_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(buf + n, RECORD_TIME_MAX - n, ".%03uZ",
		       (unsigned)(utc % CR_SEC / CR_MS));
}

/* The receiver has let go of the call. */
static void fill_heard(const struct node_stream *st, struct record_stream *out)
{
	const struct node_endpoint *in_endpoint = node_stream_in_endpoint(st);
	const struct rtp_source *seen = &st->stream->account->seen;
	const struct transcoder *c = node_stream_transcoder(st);
	struct record_heard *to = &out->heard_is;
	struct sockaddr_storage at = { .ss_family = AF_UNSPEC };
	unsigned long long count[LEARN_NCOUNTERS];
	const struct endpoint *ep;

	to->ssrc = seen->started ? node_stream_settings(st)->ssrc_in : 0;
	to->lost = rtp_source_lost(seen);
	to->expected = seen->received + to->lost;
	to->jitter = c ? arrivals_jitter(&c->arrivals) : 0;
	if (in_endpoint) {
		ep = in_endpoint->endpoint;
		learn_counts(&ep->learn, count);
		to->ssrc_changes = count[LEARN_COUNTER_ssrc_changes];
		to->address_changes = count[LEARN_COUNTER_address_changes];
		if (!node_stream_is_fed(st)) {
			/* it goes on: its receiver has the rest */
			(void)destination_read(&ep->to, &at);
		} else if (ep->learn.known) {
			to->ssrc = ep->learn.ssrc;
			at = ep->learn.at;
		}
	} else if (c && c->source_known) {
		at = c->source;
	}
	if (at.ss_family)
		to->source =
			address_text(&at, to->source_is, sizeof(to->source_is));
	out->heard = to;
}

static void fill_delay(const struct node_stream *st, struct record_stream *out)
{
	cr_ns max = (cr_ns)out->info.count.delay_max_ns;
	const struct sketch *s = &st->stream->account->delay;

	if (!node_stream_transcoder(st))
		return;
	out->delay = (struct record_delay){
		.count = sketch_total(s),
		.p50 = cr_ns_min(sketch_quantile(s, 500000), max),
		.p99 = cr_ns_min(sketch_quantile(s, 990000), max),
		.max = max,
	};
}

/* Of what the listener should have had: never came, came behind a newer one or
 * too late for the jitter buffer, was not transcoded in time, could not be
 * parsed. Pauses that were shed are silence to it, not loss. */
static struct record_loss missed_loss(const struct record_stream *r)
{
	const struct node_stream_counts *count = &r->info.count;
	unsigned long long lost = r->heard->lost + count->reordered +
				  count->late_in + count->overflowed +
				  r->info.lost - count->pauses +
				  count->malformed;

	return (struct record_loss){ lost, r->heard->expected };
}

/* 0..1. Counters of a call that was replaced begin anew. */
static double loss_share(struct record_loss now,
			 const struct record_loss *since)
{
	if (now.lost >= since->lost && now.expected > since->expected) {
		now.lost -= since->lost;
		now.expected -= since->expected;
	}
	return now.lost < now.expected ? (double)now.lost / (double)now.expected
				       : 1;
}

static void fill_quality(struct record_stream *r,
			 const struct record_loss *since)
{
	const struct node_side_info *in = &r->info.in, *out = &r->info.out;
	const struct node_stream_counts *count = &r->info.count;
	struct record_quality *to = &r->quality_is;
	struct g107_codec one, two;
	struct g107_rating rating;
	struct g107_call call = { .in = &one, .out = &two, .burst_ratio = 1 };

	if (!r->heard || !r->heard->expected ||
	    !g107_codec_of(in->codec, in->mode, &one) ||
	    !g107_codec_of(out->codec, out->mode, &two))
		return;
	if (r->info.relay) /* coded once only */
		two = (struct g107_codec){ .bpl = one.bpl,
					   .narrow = one.narrow,
					   .wide = one.wide };
	call.loss = loss_share(missed_loss(r), since);
	/* the longer packet of the two waits until its speech is there, and
	 * each in the jitter buffer, on average */
	call.delay_ms =
		(double)(cr_ns_max(r->info.ptime, out->ptime) + r->delay.p99) /
		1e6;
	if (count->packets_in)
		call.delay_ms += (double)count->buffered_ns / 1e6 /
				 (double)count->packets_in;
	if (!g107_rate(&call, &rating))
		return;
	*to = (struct record_quality){
		.r = round(rating.r * 10) / 10,
		.mos = round(rating.mos * 100) / 100,
		.wideband = rating.wide,
		.loss = round(call.loss * 1e4) / 1e4,
		.delay = (cr_ns)((call.delay_ms + one.ahead_ms + two.ahead_ms) *
				 1e6),
	};
	r->quality = to;
}

/* @live: threads still have it. */
static void record_stream(struct node_stream *st, bool live,
			  struct record_stream *out)
{
	node_stream_info(st, &out->info);
	if (!live && !st->hung) {
		fill_heard(st, out);
		node_stream_rtcp(st, true, &out->info.rtcp);
	}
	fill_delay(st, out);
	fill_quality(out, &(const struct record_loss){ 0 });
}

bool node_stream_quality(struct node_stream *st,
			 const struct record_loss *since,
			 struct record_loss *now, struct record_quality *out)
{
	struct record_stream r = { 0 };
	const struct endpoint_rtcp_info *seen = &r.info.rtcp.leads;

	node_stream_info(st, &r.info);
	if (!r.info.rtcp.is || !seen->heard)
		return false;
	r.heard_is.lost = seen->lost;
	r.heard_is.expected = seen->received + seen->lost;
	r.heard = &r.heard_is;
	fill_delay(st, &r);
	fill_quality(&r, since);
	*now = missed_loss(&r);
	if (r.quality)
		*out = *r.quality;
	return r.quality != NULL;
}

/* --- calls --- */

/* All but the streams, of which @st is one. */
static void describe_record(const struct node_stream *st,
			    struct node_record *out)
{
	const struct record_stream *last = &out->stream[out->nstreams - 1];
	const struct node_call *c = st->call;
	const struct node *n = st->node;

	out->call = c->id;
	(void)snprintf(out->id, sizeof(out->id), "%s-%" PRId64 "-%" PRIu32,
		       n->cfg.name, st->node_utc / CR_MS, out->call);
	out->node = n->cfg.name;
	out->label = c->label;
	out->tag[0] = c->tag[0];
	out->tag[1] = c->tag[1];
	out->line = c->line;
	if (c->nstreams == 1) /* it has begun with a transcoder */
		out->pair = transcoder_pair_id(
			atomic_load_explicit(&node_stream_transcoder(st)->pair,
					     memory_order_relaxed));
	utc_text(st->started_utc, out->start);
	utc_text(clock_read(CLOCK_REALTIME), out->end);
	out->duration = cr_ns_max(out->stream[0].info.age, last->info.age);
}

static void set_end_reason(const struct node_call *c, struct node_record *out)
{
	static const char *const by[] = { NODE_BY_NAMES };

	out->why = node_end_name(c->why);
	out->by = by[c->by];
	(void)snprintf(out->peer_is, sizeof(out->peer_is), "%s", c->peer);
	out->peer =
		c->by != NODE_BY_NODE && *out->peer_is ? out->peer_is : NULL;
}

static struct node_record *record_new(const struct node_call *c)
{
	struct node_record *r = calloc(1, sizeof(*r));

	if (r)
		r->nstreams = c->nstreams;
	else
		log_event(LOG_WARN, "record-dropped", LOG_INT("call", c->id),
			  LOG_STR("why", "out of memory"));
	return r;
}

void node_record_ended(struct node_stream *st)
{
	struct node_config *cfg = &st->node->cfg;
	struct node_call *c = st->call;

	if (!cfg->recorded)
		return;
	if (!c->record)
		c->record = record_new(c);
	if (!c->record)
		return;
	record_stream(st, false, &c->record->stream[st->number]);
	if (c->live)
		return; /* the other one follows */
	set_end_reason(c, c->record);
	c->record->type = "end";
	describe_record(st, c->record);
	cfg->recorded(cfg->arg, c->record);
	free(c->record);
	c->record = NULL;
}

static void record_interim(struct node_call *c)
{
	struct node_config *cfg = &c->node->cfg;
	struct node_record *r = record_new(c);

	if (!r)
		return;
	for (unsigned i = 0; i < c->nstreams; i++)
		record_stream(c->stream[i], true, &r->stream[i]);
	r->type = "interim";
	describe_record(c->stream[0], r);
	cfg->recorded(cfg->arg, r);
	free(r);
}

void node_records_interim(struct node *n, cr_ns each)
{
	cr_ns now = clock_now();
	unsigned room = 100 + 2 * (unsigned)(n->nstreams * CR_SEC / each);
	struct node_call *c;

	if (!n->cfg.recorded)
		return;
	RB_FOREACH (c, node_call_tree, &n->calls) {
		if (c->ending || c->stream[0]->untold ||
		    (c->recorded && now - c->recorded < each))
			continue;
		c->recorded = now;
		record_interim(c);
		if (!--room)
			return;
	}
}
