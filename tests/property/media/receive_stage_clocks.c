/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A party that changes between codecs of several clocks, at any packet, behind
 * a jitter buffer: timestamps go on in the clock of the packet before (RFC
 * 7160, 4.2), or each clock has its own. On a network that jitters and changes
 * the order by less than the buffer's delay, every packet comes out, in order,
 * and in its time: nothing is missed, concealed or filled on the way.
 */
#include <stdlib.h>
#include <string.h>

#include "cmocka_cr.h"
#include "media/receive_stage.h"
#include "seed.h"

#define RUNS 2000u
#define PACKETS 300u
#define PTIME (20 * CR_MS)
#define DELAY (60 * CR_MS)
#define JITTER (40 * CR_MS)
/* Packets of one codec, at least: more than are on their way at once. */
#define SPURT 4u

enum { CODECS = 4 };

static const uint32_t clocks[CODECS] = { 8000, 16000, 48000, 44100 };
/* 20 ms in each packet. */
static const struct cr_codec codecs[CODECS] = {
	{ .sample_rate = 8000, .samples = 160 },
	{ .sample_rate = 16000, .samples = 320 },
	{ .sample_rate = 48000, .samples = 960 },
	{ .sample_rate = 44100, .samples = 882 },
};
#define WHOLE(i)                                                               \
	{                                                                      \
		.codec = &codecs[i], .kind = PAYLOAD_WHOLE, .frame_bytes = 100 \
	}
static const struct codec_use sides[CODECS] = { WHOLE(0), WHOLE(1), WHOLE(2),
						WHOLE(3) };

struct packet {
	cr_ns sent, at;
	uint8_t codec;
	uint32_t ts;
	uint16_t seq;
};

struct run {
	uint8_t first; /* codec: the clock of the receive stage */
	struct packet packet[PACKETS];
};

struct heard {
	cr_ns now;
	unsigned n;
	const struct run *run;
	const char *broken;
};

/* @own: each clock runs by itself. */
static void make_run(struct run *r, uint64_t *seed)
{
	bool own = test_below(seed, 2);
	uint32_t ts = (uint32_t)test_random(seed), start[CODECS];
	uint8_t codec = r->first = (uint8_t)test_below(seed, CODECS);
	unsigned stays = 0;
	uint16_t seq = (uint16_t)(65500 + test_below(seed, 100));

	for (unsigned i = 0; i < CODECS; i++)
		start[i] = (uint32_t)test_random(seed);
	for (unsigned i = 0; i < PACKETS; i++) {
		struct packet *p = &r->packet[i];

		if (i >= stays && !test_below(seed, 20)) {
			codec = (uint8_t)test_below(seed, CODECS);
			stays = i + SPURT;
		}
		p->codec = codec;
		p->seq = seq++;
		p->sent = i * PTIME;
		p->at = p->sent + test_below(seed, (unsigned)JITTER);
		p->ts = own ? start[codec] + i * (clocks[codec] / 50) : ts;
		ts += clocks[codec] / 50;
	}
	r->packet[0].at = r->packet[0].sent; /* what the delay counts from */
}

static void hear(void *arg, const struct receive_stage_frame *f)
{
	struct heard *h = arg;
	const struct packet *p = &h->run->packet[h->n];

	if (h->broken || h->n == PACKETS)
		return;
	if (f->meta.what != FRAME_RING_SPEECH)
		h->broken = "nothing is made before the end";
	else if (f->meta.rtp_seq != p->seq || f->meta.rtp_ts != p->ts)
		h->broken = "every packet comes out as it was, in order";
	else if (f->lost || (f->restart && h->n))
		h->broken = "nothing is missed, and nobody is new";
	else if (f->meta.arrival < p->sent + DELAY - CR_MS ||
		 f->meta.arrival > p->sent + DELAY + PTIME + 10 * CR_MS)
		h->broken = "packets come out in their time";
	h->n++;
}

static void gone(void *arg)
{
	((struct heard *)arg)->broken = "nothing goes";
}

static void put(struct receive_stage *f, const struct packet *p,
		struct heard *h)
{
	static const uint8_t payload[40];
	const struct rtp_packet rtp = { .pt = 96,
					.seq = p->seq,
					.ts = p->ts,
					.payload = payload,
					.payload_bytes = sizeof(payload) };
	const struct receive_stage_arrival in = {
		.what = FRAME_RING_SPEECH,
		.rtp = &rtp,
		.number = p->codec,
		.codec = { .side = &sides[p->codec],
			   .clock = clocks[p->codec],
			   .rate = clocks[p->codec] },
		.at = p->at,
	};

	if (receive_stage_packet(f, &in) < 0)
		h->broken = "nothing is refused";
}

static int by_time(const void *a, const void *b)
{
	const struct packet *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static const char *play(const struct run *r)
{
	struct heard h = { .run = r };
	const struct receive_stage_cfg cfg = {
		.terms = { .jitter = JITTER_FIXED,
			   .least = DELAY,
			   .most = DELAY,
			   .fill = RECEIVE_STAGE_FILL_ALWAYS },
		.clock = clocks[r->first],
		.step = clocks[r->first] / 50,
		.slot_bytes = 100,
		.emit = hear,
		.gone = gone,
		.arg = &h,
	};
	static struct packet order[PACKETS];
	struct receive_stage *f;
	cr_ns due;

	assert_int_equal(receive_stage_open(&f, &cfg, NULL), 0);
	memcpy(order, r->packet, sizeof(order));
	qsort(order, PACKETS, sizeof(order[0]), by_time);
	for (unsigned i = 0; i <= PACKETS && !h.broken; i++) {
		cr_ns until =
			i < PACKETS ? order[i].at : PACKETS * PTIME + CR_SEC;

		while (h.n < PACKETS && (due = receive_stage_due(f)) <= until)
			receive_stage_poll(f, due);
		if (i < PACKETS)
			put(f, &order[i], &h);
	}
	receive_stage_close(f);
	return h.broken || h.n == PACKETS ? h.broken : "every packet comes out";
}

static void codecs_by_turns_are_one_stream(void **state)
{
	static struct run r;
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(RUNS); i++) {
		const char *broken;

		make_run(&r, &seed);
		broken = play(&r);
		if (broken)
			fail_msg("run %u: broken: %s", i, broken);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(codecs_by_turns_are_one_stream),
	};

	return cmocka_run_group_tests_name("receive_stage_clocks", tests, NULL,
					   NULL);
}
