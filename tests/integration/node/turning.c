/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call of two streams that changes its shape, and what its parties hear.
 */
#include "turning.h"

#include <string.h>

#include "cmocka_cr.h"

void line_hears(struct line *l, const struct talker *t, unsigned pt,
		uint16_t seq_step, uint32_t ts_step)
{
	struct rtp_packet p;
	uint8_t buf[2048];
	size_t n = talker_hear(t, buf);

	assert_int_equal(rtp_parse(buf, n, &p), 0);
	assert_int_equal(p.pt, pt);
	if (l->any) {
		assert_int_equal((uint16_t)(p.seq - l->seq), seq_step);
		assert_int_equal(p.ts - l->ts, ts_step);
		assert_int_equal(p.ssrc, l->ssrc);
	}
	*l = (struct line){ true, p.seq, p.ts, p.ssrc };
}

void turning_say(struct turning *t, unsigned i, unsigned n)
{
	t->p[i].next.pt = (uint8_t)t->pt[i];
	for (unsigned k = 0; k < n; k++) {
		talk_rests(t->c);
		talker_speak(&t->p[i], 0xd5);
		line_hears(&t->line[!i], &t->p[!i], t->pt[!i], 1, TURNING_STEP);
		t->sent++;
	}
}

void turning_say_both(struct turning *t, unsigned n)
{
	for (unsigned k = 0; k < n; k++) {
		turning_say(t, 0, 1);
		turning_say(t, 1, 1);
	}
}

void turning_open(struct turning *t, const struct fixture_options *o,
		  const char *json, unsigned a, unsigned b)
{
	memset(t, 0, sizeof(*t));
	fixture_open(&t->rig, o);
	t->c = talk_start(&t->rig, json);
	t->pt[0] = a;
	t->pt[1] = b;
	for (unsigned i = 0; i < 2; i++)
		t->p[i] = talker(t->c, i, (uint8_t)t->pt[i]);
	talkers_introduce(t->c, t->p);
	t->sent = 2;
}

void turning_came(struct turning *t)
{
	struct node_stats stats;
	const struct node_stream_counts *n = &stats.totals;

	node_stats(t->rig.node, &stats);
	assert_int_equal(stats.rx.packets + n->port_drops + n->unread, t->sent);
	assert_int_equal(stats.rx.packets - stats.rx.no_listener,
			 n->packets_in + n->wrong_pt + n->probation +
				 n->wrong_source + n->wrong_ssrc +
				 n->duplicates + n->reordered + n->seq_jumps);
	assert_int_equal(n->packets_in + n->synthesized,
			 n->done + n->overwritten + n->expired + n->concealed +
				 n->cancelled + n->relayed);
}

void turning_sums(struct turning *t)
{
	struct node_stats stats;
	const struct node_stream_counts *n = &stats.totals;

	turning_came(t);
	node_stats(t->rig.node, &stats);
	assert_int_equal(n->done + n->relayed,
			 n->packets_out + n->no_destination + n->on_hold +
				 n->send_failed + n->excess);
}

void turning_close(struct turning *t)
{
	talk_stop(&t->rig, t->c);
	turning_sums(t);
	talkers_leave(t->p);
	fixture_close(&t->rig);
}
