/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any packets at any times through a relay of telephone events: what goes out
 * is well formed, and the sums are exact. The input is two octets that choose
 * the clocks and codes, then packets: the time since the last one (ms), flags
 * (1 marker, 2 the sender began anew, 4 poll first), the length of the payload,
 * the timestamp, and the payload.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/assert.h"
#include "rtp/telephone_event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 7 };

struct output {
	uint64_t packets, markers, ends;
	uint32_t ts;
	uint16_t duration;
};

static void check(struct output *o, const struct telephone_event_burst *b)
{
	CR_ASSERT(b->n <= TELEPHONE_EVENT_BURST_MAX);
	for (unsigned i = 0; i < b->n; i++) {
		const struct telephone_event_packet *p = &b->packets[i];
		struct telephone_event e;

		CR_ASSERT(!telephone_event_parse(p->payload, 4, &e));
		CR_ASSERT(o->packets || p->marker);
		if (o->packets && p->ts != o->ts) {
			CR_ASSERT((int32_t)(p->ts - o->ts) > 0);
			CR_ASSERT(p->marker || (p->ts == o->ts + 0xffff &&
						o->duration == 0xffff));
		} else if (o->packets) {
			CR_ASSERT(!p->marker && e.duration >= o->duration);
		}
		o->packets++;
		o->markers += p->marker;
		o->ends += e.end;
		o->ts = p->ts;
		o->duration = e.duration;
	}
}

static void check_sums(const struct telephone_event_relay *r,
		       const struct output *o)
{
	const struct telephone_event_counts *c = &r->counts;

	CR_ASSERT(c->records ==
		  c->relayed + c->repeated + c->late + c->unwanted);
	CR_ASSERT(c->malformed <= c->packets);
	CR_ASSERT(o->packets == c->relayed + c->made);
	CR_ASSERT(o->markers == c->begun);
	CR_ASSERT(c->begun == c->ended + telephone_event_relay_active(r));
	CR_ASSERT(o->ends <= 3 * c->ended);
}

static uint32_t word(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

/* One packet at @p of @n bytes. Returns its length, 0 when there is none. */
static size_t one(struct telephone_event_relay *r, cr_ns *now, const uint8_t *p,
		  size_t n, struct output *o)
{
	struct telephone_event_burst b;
	struct telephone_event_arrival in;

	if (n < HEAD)
		return 0;
	*now += p[0] * CR_MS;
	in = (struct telephone_event_arrival){
		.payload = p + HEAD,
		.bytes = p[2] < n - HEAD ? p[2] : n - HEAD,
		.ts = word(p + 3),
		.marker = p[1] & 1,
		.ts_out = word(p + 3) * 2,
	};
	if (p[1] & 2) {
		telephone_event_relay_restart(r, &b);
		check(o, &b);
	}
	if (p[1] & 4) {
		telephone_event_relay_poll(r, *now, &b);
		check(o, &b);
	}
	telephone_event_relay_packet(r, *now, &in, &b);
	check(o, &b);
	check_sums(r, o);
	return HEAD + in.bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned clocks[] = { 8000, 16000, 32000, 48000 };
	struct telephone_event_relay r;
	struct telephone_event_cfg cfg;
	struct telephone_event_burst b;
	struct output o = { 0 };
	cr_ns now = 0;
	size_t used;

	if (size < 2)
		return 0;
	cfg = telephone_event_defaults(clocks[data[0] & 3],
				       clocks[data[0] >> 2 & 3]);
	if (data[1] & 1)
		cfg.takes.codes[3] = UINT64_MAX;
	CR_ASSERT(!telephone_event_relay_init(&r, &cfg));
	for (size_t at = 2; (used = one(&r, &now, data + at, size - at, &o));)
		at += used;
	while (telephone_event_relay_due(&r) != CR_NEVER) {
		telephone_event_relay_poll(&r, telephone_event_relay_due(&r),
					   &b);
		check(&o, &b);
	}
	check_sums(&r, &o);
	CR_ASSERT(o.ends == 3 * r.counts.begun);
	return 0;
}
