/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame ring against a plain queue, in one thread: random sequences of
 * pushes, peeks and claims, any ring size. A failing sequence is shrunk by
 * leaving operations out and printed as a string (p push, k peek, c claim the
 * oldest, x claim another one).
 */
#include <string.h>

#include "media/frame_ring.h"
#include "cmocka_cr.h"
#include "seed.h"

#define RUNS 10000u
#define OPS_MAX 400u
#define FRAME 24u

/* The queue: frames [oldest, next) wait; frame n was filled with tag(n). */
struct model {
	unsigned slots;
	uint64_t oldest, next, dropped;
	uint64_t held; /* 1 + the last claimed frame; 0: none */
	const uint8_t *held_bytes;
};

static uint8_t tag(uint64_t seq)
{
	return (uint8_t)(seq * 37 + 11);
}

static uint16_t length(uint64_t seq)
{
	return (uint16_t)(seq % (FRAME + 1));
}

static bool meta_is(const struct cr_frame_meta *m, uint64_t seq)
{
	return m->seq == seq && m->arrival == (cr_ns)seq * 3 &&
	       m->rtp_ts == (uint32_t)seq * 160 && m->rtp_seq == seq % 65536 &&
	       m->bytes == length(seq) && m->marker == seq % 2;
}

static bool bytes_are(const uint8_t *p, uint64_t seq)
{
	for (size_t i = 0; i < length(seq); i++)
		if (p[i] != tag(seq))
			return false;
	return true;
}

static bool do_push(struct frame_ring *r, struct model *m)
{
	uint64_t seq = m->next++;
	struct cr_frame_meta meta = {
		.arrival = (cr_ns)seq * 3,
		.rtp_ts = (uint32_t)seq * 160,
		.rtp_seq = (uint16_t)seq,
		.bytes = length(seq),
		.marker = seq % 2,
	};
	struct cr_frame_meta lost;
	bool full = seq - m->oldest == m->slots;

	memset(frame_ring_reserve(r), tag(seq), FRAME);
	if (frame_ring_push(r, &meta, &lost) != full || meta.seq != seq)
		return false;
	if (!full)
		return true;
	m->dropped++;
	return meta_is(&lost, m->oldest++);
}

static bool do_peek(struct frame_ring *r, const struct model *m)
{
	struct cr_frame_meta meta;

	if (!frame_ring_peek(r, &meta))
		return m->oldest == m->next;
	return m->oldest < m->next && meta_is(&meta, m->oldest);
}

static bool do_claim(struct frame_ring *r, struct model *m, uint64_t seq)
{
	bool there = seq == m->oldest && m->oldest < m->next;
	struct cr_frame_meta meta;
	const uint8_t *p = frame_ring_claim(r, seq, &meta);

	if (!p || !there)
		return !p && !there;
	m->oldest++;
	m->held = seq + 1;
	m->held_bytes = p;
	return meta_is(&meta, seq);
}

static bool do_op(struct frame_ring *r, struct model *m, char op)
{
	switch (op) {
	case 'p':
		return do_push(r, m);
	case 'k':
		return do_peek(r, m);
	case 'c':
		return do_claim(r, m, m->oldest);
	default:
		return do_claim(r, m, m->oldest + 1) &&
		       (!m->oldest || do_claim(r, m, m->oldest - 1));
	}
}

/* Does the ring do as the queue, for all of @ops? */
static bool agrees(unsigned slots, const char *ops)
{
	struct frame_ring *r = frame_ring_new(slots, FRAME);
	struct model m = { .slots = slots };
	bool ok = r != NULL;

	for (; ok && *ops; ops++)
		ok = do_op(r, &m, *ops) &&
		     frame_ring_waiting(r) == m.next - m.oldest &&
		     frame_ring_dropped(r) == m.dropped &&
		     (!m.held || bytes_are(m.held_bytes, m.held - 1));
	frame_ring_free(r);
	return ok;
}

/* Leave out what the failure does not need. */
static void shrink(unsigned slots, char *ops)
{
	size_t i = 0;

	while (ops[i]) {
		char left_out = ops[i];
		size_t rest = strlen(ops + i);

		memmove(ops + i, ops + i + 1, rest);
		if (!agrees(slots, ops)) {
			i = 0;
			continue;
		}
		memmove(ops + i + 1, ops + i, rest);
		ops[i++] = left_out;
	}
}

/* Phases of different mixes, so that the ring runs full and empty. */
static void make_ops(uint64_t *s, char *ops)
{
	static const char *const mixes[] = { "pkc", "pppkc",   "pcckx",
					     "p",   "pppppkx", "c" };
	size_t n = test_below(s, OPS_MAX), i = 0;

	while (i < n) {
		const char *mix = mixes[test_below(s, 6)];
		size_t phase = 1 + test_below(s, 40);

		for (; phase && i < n; phase--)
			ops[i++] = mix[test_below(s, (unsigned)strlen(mix))];
	}
	ops[n] = '\0';
}

static void the_ring_is_a_queue_that_drops_its_oldest(void **state)
{
	uint64_t s = test_seed();
	char ops[OPS_MAX + 1];

	for (unsigned run = 0; run < RUNS; run++) {
		unsigned slots = 2 + test_below(&s, 19);

		make_ops(&s, ops);
		if (agrees(slots, ops))
			continue;
		shrink(slots, ops);
		fail_msg("run %u: %u slots, \"%s\"", run, slots, ops);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_ring_is_a_queue_that_drops_its_oldest),
	};

	return cmocka_run_group_tests_name("ring model", tests, NULL, NULL);
}
