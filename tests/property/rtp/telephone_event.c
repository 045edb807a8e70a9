/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Digits through a relay behind a bad network: 16 digits of 40 to 400 ms, any
 * clocks, packets lost, doubled and overtaken. What goes out is read as a
 * receiver of RFC 4733 would read it. A failing run is shrunk (digits left out,
 * packets undisturbed) and printed.
 *
 * A digit may be missing only when each of its packets was lost, or came behind
 * a packet of a later digit: a number dialled in another order is worse.
 */
#include "cmocka_cr.h"

#include <stdio.h>
#include <string.h>

#include "rtp/telephone_event.h"
#include "seed.h"

enum {
	DIGITS = 16,
	PACKETS_MAX = 1024,
	SENT_MAX = 4096,
};

/* What happens to one packet of the sender. */
struct fate {
	bool lost, twice;
	unsigned delay, delay_again; /* ms */
};

struct packet {
	unsigned digit;
	unsigned at; /* ms, when it is sent */
	uint32_t ts;
	bool marker;
	struct telephone_event event;
	struct fate fate;
};

struct digit {
	bool absent; /* left out, to shrink */
	uint8_t code;
	unsigned at, length; /* ms */
};

struct run {
	unsigned clock_in, clock_out, interval, ends, ends_apart;
	uint32_t base_in, base_out;
	struct digit digits[DIGITS];
	struct packet packets[PACKETS_MAX];
	unsigned npackets;
};

/* A packet as it arrives. */
struct arrival {
	unsigned at, order;
	const struct packet *packet;
};

struct heard {
	uint32_t ts;
	uint8_t code;
	uint32_t length;
	unsigned ends;
};

static struct run run;
static struct arrival arrivals[2 * PACKETS_MAX];
static unsigned narrivals;
static struct telephone_event_relay relay;
static struct telephone_event_packet sent[SENT_MAX];
static unsigned nsent;

static void add_packet(unsigned digit, unsigned at, bool marker, bool end,
		       unsigned ms)
{
	const struct digit *d = &run.digits[digit];
	unsigned per_ms = run.clock_in / 1000;

	assert_true(run.npackets < PACKETS_MAX);
	run.packets[run.npackets++] = (struct packet){
		.digit = digit,
		.at = at,
		.ts = run.base_in + d->at * per_ms,
		.marker = marker,
		.event = { .code = d->code,
			   .end = end,
			   .volume = 10,
			   .duration = (uint16_t)(ms * per_ms) },
	};
}

static void add_digit(unsigned digit)
{
	const struct digit *d = &run.digits[digit];
	unsigned ms = run.interval;

	for (; ms < d->length; ms += run.interval)
		add_packet(digit, d->at + ms, ms == run.interval, false, ms);
	for (unsigned i = 0; i < run.ends; i++)
		add_packet(digit, d->at + d->length + i * run.ends_apart,
			   ms == run.interval && !i, true, d->length);
}

static void make_run(uint64_t *s)
{
	static const unsigned clocks[] = { 8000, 16000, 48000 };
	static const unsigned intervals[] = { 10, 20, 40, 50 };
	unsigned at = 0;

	memset(&run, 0, sizeof(run));
	run.clock_in = clocks[test_below(s, 3)];
	run.clock_out = clocks[test_below(s, 3)];
	run.interval = intervals[test_below(s, 4)];
	run.ends = 1 + test_below(s, 3);
	run.ends_apart = test_below(s, 2) * run.interval;
	run.base_in = (uint32_t)test_random(s);
	run.base_out = (uint32_t)test_random(s);
	for (unsigned i = 0; i < DIGITS; i++) {
		struct digit *d = &run.digits[i];

		d->code = (uint8_t)test_below(s, test_below(s, 2) ? 2 : 16);
		d->at = at;
		d->length = 40 + test_below(s, 361);
		at += d->length + 40 + test_below(s, 200);
		add_digit(i);
	}
}

/* @percent of the packets are lost, and as many doubled or delayed. */
static void make_fates(uint64_t *s, unsigned percent)
{
	for (unsigned i = 0; i < run.npackets; i++) {
		struct fate *f = &run.packets[i].fate;

		f->lost = test_below(s, 100) < percent;
		f->twice = test_below(s, 100) < percent;
		if (test_below(s, 100) < percent)
			f->delay = test_below(s, 120);
		f->delay_again = test_below(s, 120);
	}
}

static int earlier(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void arrive(const struct packet *p, unsigned delay)
{
	arrivals[narrivals] = (struct arrival){ .at = p->at + delay,
						.order = narrivals,
						.packet = p };
	narrivals++;
}

static void make_arrivals(void)
{
	narrivals = 0;
	for (unsigned i = 0; i < run.npackets; i++) {
		const struct packet *p = &run.packets[i];

		if (run.digits[p->digit].absent || p->fate.lost)
			continue;
		arrive(p, p->fate.delay);
		if (p->fate.twice)
			arrive(p, p->fate.delay_again);
	}
	qsort(arrivals, narrivals, sizeof(arrivals[0]), earlier);
}

static uint32_t ts_out_of(uint32_t ts)
{
	return run.base_out + (uint32_t)((uint64_t)(ts - run.base_in) *
					 run.clock_out / run.clock_in);
}

static void take(const struct telephone_event_burst *b)
{
	for (unsigned i = 0; i < b->n && nsent < SENT_MAX; i++)
		sent[nsent++] = b->packets[i];
}

/* Polls as often as the relay wants until @now; too early as well. */
static void poll_until(cr_ns now)
{
	struct telephone_event_burst b;
	cr_ns due;

	while ((due = telephone_event_relay_due(&relay)) <= now) {
		telephone_event_relay_poll(&relay, due - 1, &b);
		take(&b);
		telephone_event_relay_poll(&relay, due, &b);
		take(&b);
	}
}

static void play(void)
{
	const struct telephone_event_cfg cfg =
		telephone_event_defaults(run.clock_in, run.clock_out);
	struct telephone_event_burst b;

	nsent = 0;
	assert_int_equal(telephone_event_relay_init(&relay, &cfg), 0);
	for (unsigned i = 0; i < narrivals; i++) {
		const struct packet *p = arrivals[i].packet;
		uint8_t payload[TELEPHONE_EVENT_BYTES];
		const struct telephone_event_arrival in = {
			.payload = payload,
			.bytes = telephone_event_build(payload, &p->event),
			.ts = p->ts,
			.marker = p->marker,
			.ts_out = ts_out_of(p->ts),
		};

		poll_until(arrivals[i].at * CR_MS);
		telephone_event_relay_packet(&relay, arrivals[i].at * CR_MS,
					     &in, &b);
		take(&b);
	}
	poll_until(3600 * CR_SEC);
}

/* Reads what was sent. NULL, or what is wrong with it. */
static const char *listen(struct heard *heard, unsigned *n)
{
	*n = 0;
	for (unsigned i = 0; i < nsent; i++) {
		struct heard *h = *n ? &heard[*n - 1] : NULL;
		struct telephone_event e;

		(void)telephone_event_parse(sent[i].payload, 4, &e);
		if (!h || sent[i].ts != h->ts) {
			if (!sent[i].marker)
				return "an event without a marker";
			if (h && (int32_t)(sent[i].ts - h->ts) <= 0)
				return "a timestamp goes back";
			if (*n == DIGITS)
				return "more events than digits";
			h = &heard[(*n)++];
			*h = (struct heard){ .ts = sent[i].ts, .code = e.code };
		} else if (sent[i].marker) {
			return "a second marker";
		}
		if (e.code != h->code)
			return "an event changes its code";
		if (e.duration < h->length)
			return "a duration falls";
		if (h->ends && (!e.end || e.duration != h->length))
			return "something else after an end";
		h->length = e.duration;
		h->ends += e.end;
	}
	for (unsigned i = 0; i < *n; i++)
		if (heard[i].ends != 3)
			return "not three ends";
	return NULL;
}

/* What of @digit came before any packet of a later one. */
static void what_came(unsigned digit, bool *any, bool *end)
{
	*any = *end = false;
	for (unsigned i = 0; i < narrivals; i++) {
		const struct packet *p = arrivals[i].packet;

		if (p->digit > digit)
			return;
		if (p->digit < digit)
			continue;
		*any = true;
		*end |= p->event.end;
	}
}

static const char *compare(const struct heard *heard, unsigned n)
{
	unsigned next = 0;

	for (unsigned i = 0; i < DIGITS; i++) {
		const struct digit *d = &run.digits[i];
		unsigned per_ms = run.clock_out / 1000;
		bool any, end;

		what_came(i, &any, &end);
		if (!any)
			continue;
		if (next == n || heard[next].code != d->code)
			return "a digit is lost";
		if (heard[next].ts != run.base_out + d->at * per_ms)
			return "a digit is at another time";
		if (heard[next].length > d->length * per_ms)
			return "a digit is too long";
		if (end && !relay.counts.timed_out &&
		    heard[next].length != d->length * per_ms)
			return "a digit whose end came is too short";
		next++;
	}
	return next == n ? NULL : "a digit that nobody pressed";
}

static const char *accounts(void)
{
	const struct telephone_event_counts *c = &relay.counts;

	if (c->packets != narrivals || c->records != narrivals)
		return "packets are not counted";
	if (c->records != c->relayed + c->repeated + c->late)
		return "what came is not accounted for";
	if (nsent != c->relayed + c->made)
		return "what went is not accounted for";
	if (c->begun != c->ended || telephone_event_relay_active(&relay))
		return "an event goes on";
	return NULL;
}

static const char *fault(void)
{
	struct heard heard[DIGITS];
	const char *what;
	unsigned n;

	make_arrivals();
	play();
	what = listen(heard, &n);
	if (!what)
		what = compare(heard, n);
	return what ? what : accounts();
}

/* Takes away what the fault does not need. */
static void shrink(void)
{
	bool smaller = true;

	while (smaller) {
		smaller = false;
		for (unsigned i = 0; i < DIGITS; i++) {
			if (run.digits[i].absent)
				continue;
			run.digits[i].absent = true;
			if (fault())
				smaller = true;
			else
				run.digits[i].absent = false;
		}
		for (unsigned i = 0; i < run.npackets; i++) {
			struct fate *f = &run.packets[i].fate, was = *f;

			if (!f->lost && !f->twice && !f->delay)
				continue;
			*f = (struct fate){ 0 };
			if (fault())
				smaller = true;
			else
				*f = was;
		}
	}
}

static void show(void)
{
	(void)printf("%s (%u to %u Hz)\n", fault(), run.clock_in,
		     run.clock_out);
	for (unsigned i = 0; i < narrivals; i++) {
		const struct packet *p = arrivals[i].packet;

		(void)printf("%5u ms: digit %u code %u %s%s duration %u\n",
			     arrivals[i].at, p->digit, p->event.code,
			     p->marker ? "M" : "", p->event.end ? "E" : "",
			     p->event.duration);
	}
}

static void rounds(unsigned percent)
{
	uint64_t s = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(5000); i++) {
		make_run(&s);
		make_fates(&s, percent);
		if (!fault())
			continue;
		shrink();
		show();
		fail();
	}
}

static void over_a_good_network(void **state)
{
	rounds(0);
}

static void over_a_poor_network(void **state)
{
	rounds(5);
}

static void over_a_bad_network(void **state)
{
	rounds(30);
}

static void over_a_hopeless_network(void **state)
{
	rounds(80);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(over_a_good_network),
		cmocka_unit_test(over_a_poor_network),
		cmocka_unit_test(over_a_bad_network),
		cmocka_unit_test(over_a_hopeless_network),
	};

	return cmocka_run_group_tests_name("telephone events", tests, NULL,
					   NULL);
}
