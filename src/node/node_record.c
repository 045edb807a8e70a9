/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is left of a call when it is over.
 */
#include <stdio.h>
#include <time.h>

#include "base/address.h"
#include "base/clock.h"
#include "node/node_impl.h"
#include "node/record.h"
#include "observe/g107.h"

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

static void changes(const struct learn *l, struct record_heard *to)
{
	unsigned long long count[LEARN_NCOUNTERS];

	learn_counts(l, count);
	to->ssrc_changes = count[LEARN_COUNTER_ssrc_changes];
	to->address_changes = count[LEARN_COUNTER_address_changes];
}

static void learned(const struct learn *l, struct record_heard *to)
{
	changes(l, to);
	if (!l->known)
		return;
	to->ssrc = l->ssrc;
	to->source = address_text(&l->at, to->source_is, sizeof(to->source_is));
}

/* Of a leg that goes on: its receiver has the rest. */
static void learned_so_far(const struct leg *l, struct record_heard *to)
{
	struct sockaddr_storage at;

	changes(&l->learn, to);
	(void)way_read(&l->to, &at);
	if (at.ss_family)
		to->source =
			address_text(&at, to->source_is, sizeof(to->source_is));
}

/* The receiver has let go of the call, unless it is hung. */
static void heard(const struct node_call *nc, struct node_record *out)
{
	const struct node_leg *ear = node_call_ear(nc);
	const struct rtp_source *seen = node_call_seen(nc);
	const struct call *c = nc->call;
	struct record_heard *to = &out->heard_is;

	to->ssrc = seen->started ? node_call_settings(nc)->ssrc_in : 0;
	to->lost = rtp_source_lost(seen);
	to->expected = seen->received + to->lost;
	to->jitter = c ? arrivals_jitter(&c->arrivals) : 0;
	if (ear && !node_call_is_fed(nc))
		learned_so_far(ear->leg, to);
	else if (ear)
		learned(&ear->leg->learn, to);
	else if (c && c->source_known)
		to->source = address_text(&c->source, to->source_is,
					  sizeof(to->source_is));
	out->heard = to;
}

static void delay(const struct node_call *nc, struct node_record *out)
{
	cr_ns max = (cr_ns)out->info.count.delay_max_ns;
	const struct sketch *s;

	if (!nc->call)
		return;
	s = &nc->call->delay;
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
static double loss(const struct node_record *r)
{
	const struct node_call_counts *count = &r->info.count;
	unsigned long long lost = r->heard->lost + count->reordered +
				  count->late_in + count->overflowed +
				  r->info.lost - count->pauses +
				  count->malformed;

	return lost < r->heard->expected
		       ? (double)lost / (double)r->heard->expected
		       : 1;
}

/* What a packet waited in the jitter buffer on average, ms. */
static double buffered_ms(const struct node_record *r)
{
	const struct node_call_counts *count = &r->info.count;

	return count->packets_in ? (double)count->buffered_ns / 1e6 /
					   (double)count->packets_in
				 : 0;
}

static void quality(struct node_record *r)
{
	const struct node_side_info *in = &r->info.in, *out = &r->info.out;
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
	call.loss = loss(r);
	/* the longer packet of the two waits until its speech is there */
	call.delay_ms =
		(double)(cr_ns_max(r->info.ptime, out->ptime) + r->delay.p99) /
			1e6 +
		buffered_ms(r);
	if (!g107_rate(&call, &rating))
		return;
	*to = (struct record_quality){
		.r = rating.r,
		.mos = rating.mos,
		.wideband = rating.wide,
		.loss = call.loss,
		.delay = (cr_ns)((call.delay_ms + one.ahead_ms + two.ahead_ms) *
				 1e6),
	};
	r->quality = to;
}

void node_call_record(struct node_call *nc, struct node_record *out)
{
	*out = (struct node_record){ .why = node_end_name(nc->why) };
	node_call_info(nc, &out->info);
	utc_text(nc->started_utc, out->start);
	utc_text(clock_read(CLOCK_REALTIME), out->end);
	if (!nc->hung) {
		heard(nc, out);
		node_call_rtcp(nc, true, &out->info.rtcp);
	}
	delay(nc, out);
	quality(out);
}
