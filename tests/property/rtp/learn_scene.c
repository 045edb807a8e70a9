/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a party and its attackers do.
 */
#include "learn_scene.h"

#include <stdio.h>
#include <stdlib.h>

#include "seed.h"

struct sockaddr_storage scene_place[PLACES];
static const char *const texts[PLACES] = {
	"10.0.0.1:4000",  "10.0.0.1:4002",	"192.0.2.1:4000",
	"203.0.113.7:9",  "[2001:db8::1]:4000", "203.0.113.8:9",
	"192.0.2.1:5000", "198.51.100.1:1",	"198.51.100.2:1",
	"198.51.100.3:1", "198.51.100.4:1",	"[2001:db8::2]:1",
	"198.51.100.6:1",
};

unsigned scene_rank(unsigned address, unsigned signalled)
{
	if (address == signalled)
		return 2;
	return address == HOST || address == NEIGHBOUR ||
	       (address == PORT && signalled == TOLD);
}

static void add(struct scene *r, const struct event *e)
{
	if (r->n < EVENTS_MAX)
		r->event[r->n++] = *e;
}

/* The party's packets until @end, and the offers when it moves. */
static void make_party(struct scene *r, uint64_t *s, cr_ns start, cr_ns end)
{
	unsigned loss = test_below(s, 3) * test_below(s, 20); /* percent */
	cr_ns ptime = (1 + test_below(s, 20)) * 10 * CR_MS;
	struct event e = { .at = start,
			   .who = PARTY,
			   .address = r->home,
			   .ssrc = (uint32_t)test_random(s),
			   .seq = (uint16_t)test_random(s),
			   .valid = true };
	unsigned steady = 0; /* packets since something changed */

	for (; e.at < end; e.at += ptime, e.seq++, steady++) {
		unsigned what = test_below(s, 400);

		if (ptime <= 60 * CR_MS && test_below(s, 100) < loss)
			continue;
		if (steady > 8 && what == 0) { /* another SSRC */
			e.ssrc = (uint32_t)test_random(s);
			e.seq = (uint16_t)test_random(s);
			steady = 0;
		} else if (steady > 8 && what == 1) { /* a pause */
			e.at += test_below(s, 8000) * CR_MS;
			steady = 0;
		} else if (steady > 8 && what == 2) { /* NAT */
			e.address =
				scene_rank(e.address, TOLD) ? PORT : ELSEWHERE;
			steady = 0;
		} else if (steady > 8 && what == 3) { /* a transfer */
			struct event offer = { .at = e.at,
					       .who = OFFER,
					       .address = MOVED };

			add(r, &offer);
			e.address = MOVED;
			e.ssrc = (uint32_t)test_random(s);
			steady = 0;
		} else if (what == 4) { /* an offer that repeats the address */
			struct event offer = { .at = e.at,
					       .who = OFFER,
					       .address = e.address == MOVED
								  ? MOVED
								  : TOLD };

			add(r, &offer);
		}
		e.valid = test_below(s, 50) > 0;
		add(r, &e);
	}
}

/* One attacker, who sees what the party sends. */
static void make_attacker(struct scene *r, uint64_t *s, unsigned party,
			  unsigned who, cr_ns start, cr_ns end)
{
	unsigned strategy = test_below(s, 4);
	cr_ns gap = test_below(s, 3) ? 2 * CR_MS + test_below(s, 30) * CR_MS
				     : 400 * CR_MS;
	struct event e = { .who = ATTACKER,
			   .address = who,
			   .valid = true,
			   .ssrc = (uint32_t)test_random(s),
			   .seq = (uint16_t)test_random(s) };
	unsigned seen = 0;

	if (test_below(s, 4) == 0) /* a stray packet or two */
		end = start + gap;
	for (e.at = start; e.at < end; e.at += gap) {
		while (seen < party && r->event[seen].at <= e.at)
			seen++;
		e.seq++;
		if (strategy == 0 || strategy == 1)
			e.seq = (uint16_t)test_random(s);
		if (strategy == 0)
			e.ssrc = (uint32_t)test_random(s);
		if (strategy >= 2 && seen && r->event[seen - 1].who == PARTY) {
			e.ssrc = strategy == 3 ? r->event[seen - 1].ssrc
					       : e.ssrc;
			e.seq = strategy == 3
					? (uint16_t)(r->event[seen - 1].seq + 1)
					: e.seq;
		}
		add(r, &e);
	}
}

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->who != y->who ? (int)x->who - (int)y->who
				: (x->seq > y->seq) - (x->seq < y->seq);
}

void scene_make(struct scene *r, uint64_t *s)
{
	cr_ns start = test_below(s, 3) ? 0 : test_below(s, 9000) * CR_MS;
	cr_ns end = start + (2 + test_below(s, 20)) * CR_SEC;
	unsigned attackers = test_below(s, 4), party;

	r->n = 0;
	r->mode = (enum learn_mode)test_below(s, LEARN_MODES);
	r->home = test_below(s, STRANGE + 1);
	if (r->mode == LEARN_STRICT)
		r->home = TOLD;
	make_party(r, s, start, end);
	party = r->n;
	for (unsigned i = 0; i < attackers; i++) {
		cr_ns first = test_below(s, 2) ? 0 : start;

		first += test_below(s, 3000) * CR_MS;
		make_attacker(r, s, party,
			      test_below(s, 8) ? ATTACKERS + test_below(s, 6)
					       : NEIGHBOUR,
			      first, first + test_below(s, 12000) * CR_MS);
	}
	qsort(r->event, r->n, sizeof(r->event[0]), by_time);
}

void scene_show(const struct scene *r)
{
	static const char *const who[] = { "party", "attacker", "offer" };

	printf("mode %u\n", r->mode);
	for (unsigned i = 0; i < r->n; i++) {
		const struct event *e = &r->event[i];

		printf("%8lld ms %-8s %-18s ssrc %08x seq %5u%s\n",
		       (long long)(e->at / CR_MS), who[e->who],
		       texts[e->address], e->ssrc, e->seq,
		       e->valid ? "" : " not valid");
	}
}

int scene_setup(void **state)
{
	for (unsigned i = 0; i < PLACES; i++)
		if (address_parse(texts[i], &scene_place[i]))
			return -1;
	return 0;
}
