/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets at given times, and what becomes of each.
 */
#ifndef TESTS_LEARN_STEPS_H
#define TESTS_LEARN_STEPS_H

#include "loopback.h"
#include "rtp/learn.h"

/* Addresses: the signalled one, other ports of that host, another host
 * with the first port, the host of signalling, strangers. */
enum {
	TOLD,
	PORT,
	PORT_B,
	PORT_C,
	HOST,
	PROXY,
	X,
	Y,
	Z,
	V,
	W,
	MOVED,
	ADDRESSES
};
static const char *const texts[ADDRESSES] = {
	"10.0.0.1:4000", "10.0.0.1:4002", "10.0.0.1:4004", "10.0.0.1:4006",
	"10.0.0.9:4000", "192.0.2.1:9",	  "203.0.113.1:1", "203.0.113.2:1",
	"203.0.113.3:1", "203.0.113.4:1", "203.0.113.5:1", "198.51.100.1:6"
};

/* Results: A accepted, S with a new SSRC, D with a new destination, B with
 * both; refused: a address, s SSRC, w waiting. */
struct step {
	unsigned ms;
	unsigned from;
	uint32_t ssrc;
	uint16_t seq;
	char result;
};

static inline char letter(unsigned result)
{
	return result <= LEARN_WAITING ? "ASDBasw"[result] : '?';
}

static inline char feed(struct learn *l, const struct step *s, bool valid)
{
	const struct sockaddr_storage from = address_at(texts[s->from]);
	const struct learn_arrival p = {
		.from = &from, .ssrc = s->ssrc, .seq = s->seq, .valid = valid
	};
	unsigned result = learn_packet(l, &p, s->ms * CR_MS);

	if (learn_accepts(result)) {
		assert_true(l->known);
		assert_int_equal(l->ssrc, s->ssrc);
	}
	return letter(result);
}

static inline void play_steps(struct learn *l, const struct step *s, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		char got = feed(l, &s[i], true);

		if (got != s[i].result)
			fail_msg("step %u at %u ms: %c, not %c", i, s[i].ms,
				 got, s[i].result);
	}
}

#define PLAY(l, ...)                                                           \
	play_steps(l, (const struct step[]){ __VA_ARGS__ },                    \
		   sizeof((const struct step[]){ __VA_ARGS__ }) /              \
			   sizeof(struct step))

static inline struct learn_terms terms(enum learn_mode mode)
{
	return (struct learn_terms){ .mode = mode,
				     .signalled = address_at(texts[TOLD]),
				     .host = address_at(texts[PROXY]) };
}

static inline struct learn begin(enum learn_mode mode)
{
	const struct learn_terms t = terms(mode);
	struct learn l;

	learn_init(&l, &t);
	return l;
}

static inline bool answers_go(const struct learn *l, unsigned to)
{
	const struct sockaddr_storage a = address_at(texts[to]);

	return address_equal(learn_to(l), &a);
}

/* A source that has proved itself: @ssrc, numbers 1 to 3, 0 to 40 ms. */
static inline struct learn proven(enum learn_mode mode, unsigned from)
{
	struct learn l = begin(mode);
	char first = from == TOLD ? 'S' : 'B';

	PLAY(&l, { 0, from, 7, 1, first }, { 20, from, 7, 2, 'A' },
	     { 40, from, 7, 3, 'A' });
	return l;
}

/* A source that is heard for long enough to lead: SSRC 7, numbers 1 to 8, 0 to
 * 1400 ms. @first: what becomes of its first packet. */
static inline void lead(struct learn *l, unsigned from, char first)
{
	for (unsigned i = 0; i < 8; i++)
		PLAY(l,
		     { i * 200, from, 7, (uint16_t)(1 + i), i ? 'A' : first });
}

static inline struct learn leading(enum learn_mode mode, unsigned from)
{
	struct learn l = begin(mode);

	lead(&l, from, mode == LEARN_ASYMMETRIC || from == TOLD ? 'S' : 'B');
	return l;
}

#endif
