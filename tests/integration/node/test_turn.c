/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversations whose parties come to speak the same, or to differ, while they
 * talk: relays become calls, and calls relays. Each packet comes out once, with
 * the SSRC, the next number and the timestamp that the listener expects, and
 * all sums are exact.
 */
#include "cmocka_cr.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "talkers.h"

#define CLOCK 160u /* of 20 ms */

/* --- what a party hears --- */

struct line {
	bool any;
	uint16_t seq;
	uint32_t ts, ssrc;
};

/* One packet of type @pt, @step behind the one before. */
static void hears(const struct talker *t, struct line *l, unsigned pt,
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

struct talk {
	struct rig rig;
	struct conversation *c;
	struct talker p[2];
	struct line line[2]; /* what each hears */
	unsigned pt[2];	     /* of what each sends, and is sent */
	unsigned long long sent;
};

/* Party @i says @n packets of 20 ms, all of which are heard. */
static void say(struct talk *t, unsigned i, unsigned n)
{
	t->p[i].next.pt = (uint8_t)t->pt[i];
	for (unsigned k = 0; k < n; k++) {
		talk_rests(t->c);
		talker_speak(&t->p[i], 0xd5);
		hears(&t->p[!i], &t->line[!i], t->pt[!i], 1, CLOCK);
		t->sent++;
	}
}

static void say_both(struct talk *t, unsigned n)
{
	for (unsigned k = 0; k < n; k++) {
		say(t, 0, 1);
		say(t, 1, 1);
	}
}

static void talk_open(struct talk *t, const struct rig_options *o,
		      const char *json, unsigned a, unsigned b)
{
	memset(t, 0, sizeof(*t));
	rig_open(&t->rig, o);
	t->c = talk_start(&t->rig, json);
	t->pt[0] = a;
	t->pt[1] = b;
	for (unsigned i = 0; i < 2; i++)
		t->p[i] = talker(t->c, i, (uint8_t)t->pt[i]);
	talkers_introduce(t->c, t->p);
	t->sent = 2;
}

/* What came and what left, whoever had it. */
static void assert_sums(struct talk *t)
{
	struct node_stats stats;
	const struct node_totals *n = &stats.totals;

	node_stats(t->rig.node, &stats);
	assert_int_equal(stats.rx.packets + n->port_drops + n->unread, t->sent);
	assert_int_equal(stats.rx.packets - stats.rx.unheard,
			 n->packets_in + n->wrong_pt + n->unproven +
				 n->wrong_source + n->wrong_ssrc +
				 n->duplicates + n->reordered + n->strays);
	assert_int_equal(n->packets_in + n->made,
			 n->done + n->overwritten + n->stale + n->concealed +
				 n->cancelled + n->relayed);
	assert_int_equal(n->done + n->relayed,
			 n->packets_out + n->nowhere + n->send_failed);
}

static void talk_close(struct talk *t)
{
	talk_stop(&t->rig, t->c);
	assert_sums(t);
	talkers_leave(t->p);
	rig_close(&t->rig);
}

static bool costs_nothing(void *arg)
{
	const struct rig *r = arg;
	struct node_stats stats;

	node_stats(r->node, &stats);
	return stats.load < 1e-5 && stats.measured_load == 0;
}

/* --- tests --- */

/* To PCMA at one end, to PCMU at both, and so on; the ids stay. */
static void a_conversation_changes_shape(void **state)
{
	const struct rig_options o = { .workers = 1, .scheduler = "edf" };
	struct node_call_info info;
	struct node_stats stats;
	struct talk t;
	uint32_t id;

	(void)state;
	talk_open(&t, &o, BOTH_PCMU, 0, 0);
	id = node_call_id(conversation_stream(t.c, 0));
	say_both(&t, 5);
	for (unsigned i = 0; i < 6; i++) {
		talk_change(&t.rig, t.c, "{'b': {'codec': 'pcma'}}");
		assert_false(conversation_relays(t.c));
		t.pt[1] = 8;
		say_both(&t, 5);
		node_stats(t.rig.node, &stats);
		assert_int_equal(stats.relays, 0);
		assert_true(stats.load > 1e-5);
		node_call_info(conversation_stream(t.c, 0), &info);
		assert_false(info.relay);
		assert_int_equal(info.id, id);
		assert_string_equal(info.transcoding, "pcmu>pcma@20ms");
		assert_int_equal(info.count.done, 5 * (i + 1));
		assert_int_equal(info.count.relayed, 1 + 5 * (i + 1));

		talk_change(&t.rig, t.c, "{'b': {'codec': 'pcmu'}}");
		assert_true(conversation_relays(t.c));
		t.pt[1] = 0;
		say_both(&t, 5);
		node_stats(t.rig.node, &stats);
		assert_int_equal(stats.relays, 2);
		assert_int_equal(stats.calls, 2);
		node_call_info(conversation_stream(t.c, 0), &info);
		assert_true(info.relay);
		assert_int_equal(info.id, id);
		assert_string_equal(info.transcoding, "relay");
		assert_int_equal(info.count.done, 5 * (i + 1));
		assert_int_equal(info.count.relayed, 1 + 5 * (i + 2));
		if (i % 2) /* a call that sleeps, or not yet */
			assert_true(rig_wait(&t.rig, costs_nothing, &t.rig));
	}
	talk_close(&t);
	assert_int_equal(t.rig.ended, 2);
}

/* Where it has begun with a codec. */
static void a_call_becomes_a_relay(void **state)
{
	const struct rig_options o = { .workers = 1 };
	struct talk t;

	(void)state;
	talk_open(&t, &o, A_AND_B("{'codec': 'pcmu'}", "{'codec': 'pcma'}", ""),
		  0, 8);
	say_both(&t, 5);
	for (unsigned i = 0; i < 4; i++) {
		talk_change(&t.rig, t.c, "{'a': {'codec': 'pcma', 'pt': 100}}");
		assert_true(conversation_relays(t.c));
		t.pt[0] = 100;
		say_both(&t, 5);
		talk_change(&t.rig, t.c, "{'a': {'codec': 'pcmu'}}");
		t.pt[0] = 0;
		say_both(&t, 5);
	}
	talk_close(&t);
}

/* A party goes on for a moment as it was (RFC 3264, 8.3.2), and even to and
 * fro: what is not the same any more is transcoded, the rest passed on. */
static void what_is_on_its_way_is_not_lost(void **state)
{
	const struct rig_options o = { .workers = 1 };
	struct node_stats stats;
	struct talk t;

	(void)state;
	talk_open(&t, &o, BOTH_PCMU, 0, 0);
	say_both(&t, 3);
	talk_change(&t.rig, t.c, "{'b': {'codec': 'pcma'}}");
	for (unsigned i = 0; i < 6; i++) {
		t.pt[1] = i % 2 ? 8 : 0; /* what B sends; A is sent PCMU */
		say(&t, 1, 3);
	}
	t.pt[1] = 8;
	say(&t, 0, 3);
	talk_change(&t.rig, t.c, "{'b': {'codec': 'pcmu'}}");
	for (unsigned i = 0; i < 6; i++) {
		t.pt[1] = i % 2 ? 0 : 8;
		say(&t, 1, 3);
	}
	node_stats(t.rig.node, &stats);
	assert_int_equal(stats.totals.relayed, 2 + 6 + 9);
	assert_int_equal(stats.totals.done, 18 + 3 + 9);
	t.pt[1] = 0;
	say_both(&t, 3);
	/* and then nobody reckons with it any more */
	assert_true(rig_wait(&t.rig, costs_nothing, &t.rig));
	t.p[1].next.pt = 8;
	talker_speak(&t.p[1], 0xd5);
	t.sent++;
	t.p[1].next.seq--;
	t.p[1].next.ts -= CLOCK;
	say_both(&t, 3);
	node_stats(t.rig.node, &stats);
	assert_int_equal(stats.totals.wrong_pt, 1);
	talk_close(&t);
}

/* Losses of the sender show in both shapes, and at the turns. */
static void what_is_missing_shows(void **state)
{
	const struct rig_options o = { .workers = 1 };
	struct talk t;

	(void)state;
	talk_open(&t, &o, BOTH_PCMU, 0, 0);
	say_both(&t, 2);
	for (unsigned i = 0; i < 8; i++) {
		bool relay = i % 2;
		unsigned to = relay ? 0 : 8;

		talk_change(&t.rig, t.c,
			    relay ? "{'b': {'codec': 'pcmu'}}"
				  : "{'b': {'codec': 'pcma'}}");
		t.p[0].next.seq = (uint16_t)(t.p[0].next.seq + 3);
		t.p[0].next.ts += 3 * CLOCK;
		talker_speak(&t.p[0], 0xd5);
		t.sent++;
		hears(&t.p[1], &t.line[1], to, 4, 4 * CLOCK);
		t.pt[1] = to;
		say_both(&t, 2);
	}
	talk_close(&t);
}

/* Another SSRC, number and time: what is heard goes on once it was renumbered.
 * Its first two packets prove it. */
static void another_sender_goes_on(void **state)
{
	const struct rig_options o = { .workers = 1 };
	struct talk t;
	struct rtp_packet p;
	uint8_t buf[2048];

	(void)state;
	talk_open(&t, &o, A_AND_B("{'codec': 'pcmu'}", "{'codec': 'pcma'}", ""),
		  0, 8);
	say_both(&t, 3);
	for (unsigned i = 0; i < 4; i++) {
		t.pt[1] = i % 2 ? 8 : 0;
		talk_change(&t.rig, t.c,
			    i % 2 ? "{'b': {'codec': 'pcma'}}"
				  : "{'b': {'codec': 'pcmu'}}");
		say(&t, 0, 2);
		t.p[0].next.ssrc += 77;
		t.p[0].next.seq = (uint16_t)(t.p[0].next.seq + 20000);
		t.p[0].next.ts += 1u << 30;
		for (unsigned k = 0; k < 3; k++)
			talker_speak(&t.p[0], 0xd5);
		t.sent += 3;
		assert_int_equal(rtp_parse(buf, talker_hear(&t.p[1], buf), &p),
				 0);
		assert_int_equal(p.ssrc, t.line[1].ssrc);
		assert_int_equal(p.seq, (uint16_t)(t.line[1].seq + 1));
		/* as far behind as it came, a frame at least */
		assert_true(p.ts - t.line[1].ts >= CLOCK &&
			    p.ts - t.line[1].ts < 1u << 24);
		t.line[1] = (struct line){ true, p.seq, p.ts, p.ssrc };
		say(&t, 0, 3);
	}
	talk_close(&t);
}

/* Another clock: numbers and SSRC go on, and time does not go back. */
static void clocks_change(void **state)
{
	static const struct {
		const char *json;
		unsigned pt;
	} row[] = {
		{ "{'b': {'codec': 'l16', 'rate': 16000, 'pt': 97}}", 97 },
		{ "{'b': {'codec': 'pcmu'}}", 0 },
		{ "{'b': {'codec': 'l16', 'rate': 16000, 'pt': 97}}", 97 },
		{ "{'b': {'codec': 'pcma'}}", 8 },
		{ "{'b': {'codec': 'pcmu'}}", 0 },
	};
	const struct rig_options o = { .workers = 1 };
	struct talk t;

	(void)state;
	talk_open(&t, &o, BOTH_PCMU, 0, 0);
	say_both(&t, 3);
	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		uint32_t step = row[i].pt == 97 ? 2 * CLOCK : CLOCK;
		struct line before = t.line[1];
		struct rtp_packet p;
		uint8_t buf[2048];

		talk_change(&t.rig, t.c, row[i].json);
		talker_speak(&t.p[0], 0xd5);
		assert_int_equal(rtp_parse(buf, talker_hear(&t.p[1], buf), &p),
				 0);
		assert_int_equal(p.ssrc, before.ssrc);
		assert_int_equal(p.seq, (uint16_t)(before.seq + 1));
		assert_true((int32_t)(p.ts - before.ts) > 0);
		t.line[1] = (struct line){ true, p.seq, p.ts, p.ssrc };
		for (unsigned k = 0; k < 3; k++) {
			talker_speak(&t.p[0], 0xd5);
			hears(&t.p[1], &t.line[1], row[i].pt, 1, step);
		}
		t.sent += 4;
	}
	talk_close(&t);
}

#define SPIN_B "{'b': {'codec': 'spin', 'spin': '12ms'}}"

/* A relay stays one, and a call that sleeps goes on sleeping: any number of
 * refusals leaves no trace. */
static void what_is_refused_leaves_all_as_it_was(void **state)
{
	const struct rig_options o = { .workers = 1,
				       .scheduler = "edf",
				       .admission = true };
	struct cr_err e = { "" };
	struct node_stats stats;
	struct talk t;

	(void)state;
	talk_open(&t, &o, BOTH_PCMU, 0, 0);
	say_both(&t, 2);
	for (unsigned k = 0; k < 2; k++) {
		for (unsigned i = 0; i < 40; i++) {
			assert_int_equal(
				talk_try_change(&t.rig, t.c, SPIN_B, &e),
				-ENOSPC);
			assert_non_null(strstr(e.text, "no-capacity"));
			assert_true(conversation_relays(t.c));
			say_both(&t, 1);
		}
		assert_true(costs_nothing(&t.rig));
		node_stats(t.rig.node, &stats);
		assert_int_equal(stats.relays, 2);
		talk_change(&t.rig, t.c, "{'b': {'codec': 'pcma'}}");
		t.pt[1] = 8;
		say_both(&t, 2);
		/* nor are inputs used up, of which there are 16 */
		for (unsigned i = 0; i < 40; i++) {
			char json[96];

			(void)snprintf(json, sizeof(json),
				       "{'b': {'codec': 'spin', 'spin': "
				       "'%u.%ums'}}",
				       11 + i / 10, i % 10);
			assert_int_equal(talk_try_change(&t.rig, t.c, json, &e),
					 -ENOSPC);
			assert_non_null(strstr(e.text, "no-capacity"));
		}
		assert_false(conversation_relays(t.c));
		say_both(&t, 2);
		talk_change(&t.rig, t.c, "{'b': {'codec': 'pcmu'}}");
		t.pt[1] = 0;
		say_both(&t, 2);
		assert_true(rig_wait(&t.rig, costs_nothing, &t.rig));
	}
	talk_close(&t);
}

static struct node_call_info about(const struct talk *t, unsigned i)
{
	struct node_call_info info;

	node_call_info(conversation_stream(t->c, i), &info);
	return info;
}

/* A's packets are declared to last @ms. */
static void assert_declared(const struct talk *t, bool relay, unsigned ms)
{
	const struct node_call_info info = about(t, 0);
	const struct call *call = conversation_stream(t->c, 0)->call;

	assert_int_equal(info.relay, relay);
	assert_int_equal(info.ptime, ms * CR_MS);
	assert_int_equal(about(t, 1).ptime, 20 * CR_MS);
	if (relay)
		return;
	assert_int_equal(info.terms.deadline, ms * CR_MS);
	assert_int_equal(call->lt.core.task.period, ms * CR_MS);
	assert_int_equal(call->release.cfg.period, ms * CR_MS);
	assert_int_equal(call->ts_step, ms * 8);
}

#define PCMU_20 "{'codec': 'pcmu', 'ptime': '20ms'}"

/* What A's packets last is declared anew: of a relay that is to be a call, of
 * a call, of one that becomes a relay, and of one that sleeps. */
static void a_packet_time_outlives_turns(void **state)
{
	static const struct {
		const char *json;
		unsigned ms, pt; /* of what B speaks */
		bool relay;
	} row[] = {
		{ "{'a': {'in_ptime': '40ms'}}", 40, 0, true },
		{ "{'b': {'codec': 'pcma', 'ptime': '20ms'}}", 40, 8, false },
		{ "{'a': {'in_ptime': '10ms'}}", 10, 8, false },
		{ "{'b': {'codec': 'pcmu', 'ptime': '20ms'}, 'a': {'in_ptime': "
		  "'60ms'}}",
		  60, 0, true },
		{ "{'a': {'in_ptime': '30ms'}}", 30, 0, true },
		{ "{'b': {'codec': 'pcma', 'ptime': '20ms'}}", 30, 8, false },
		{ "{'b': {'codec': 'pcmu', 'ptime': '20ms'}}", 30, 0, true },
		{ "{'b': {'codec': 'pcma', 'ptime': '20ms'}, 'a': {'in_ptime': "
		  "'20ms'}}",
		  20, 8, false },
	};
	const struct rig_options o = { .workers = 1, .scheduler = "edf" };
	struct talk t;

	(void)state;
	talk_open(&t, &o, A_AND_B(PCMU_20, PCMU_20, ""), 0, 0);
	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		talk_change(&t.rig, t.c, row[i].json);
		t.pt[1] = row[i].pt;
		say_both(&t, 2);
		talk_rests(t.c);
		assert_declared(&t, row[i].relay, row[i].ms);
		if (i == 3) /* the call sleeps */
			assert_true(rig_wait(&t.rig, costs_nothing, &t.rig));
	}
	talk_close(&t);
}

/* As is asked for: what never relays does not begin to. */
static void never_is_never(void **state)
{
	static const char *const both[] = {
		A_AND_B("{'codec': 'pcmu'}", "{'codec': 'pcma'}",
			", 'relay': 'never'"),
		A_AND_B("{'codec': 'pcmu'}",
			"{'codec': 'pcma', 'jitter': 'fixed'}", ""),
		A_AND_B("{'codec': 'pcmu', 'out_ssrc': 7}", "{'codec': 'pcma'}",
			""),
	};
	const struct rig_options o = { .workers = 1 };
	struct rig r;

	(void)state;
	rig_open(&r, &o);
	for (unsigned i = 0; i < 3; i++) {
		struct conversation *c = talk_start(&r, both[i]);

		talk_change(&r, c, "{'b': {'codec': 'pcmu'}}");
		assert_false(conversation_relays(c));
		talk_stop(&r, c);
	}
	rig_close(&r);
}

/* Nobody was heard, or nobody is where to: there are no numbers to go on from.
 */
static void silence_changes_too(void **state)
{
	const struct rig_options o = { .workers = 1 };
	struct node_stats stats;
	struct talk t = { .pt = { 0, 0 } };

	(void)state;
	rig_open(&t.rig, &o);
	t.c = talk_start(&t.rig, BOTH_PCMU);
	for (unsigned i = 0; i < 2; i++)
		t.p[i] = talker(t.c, i, 0);
	for (unsigned i = 0; i < 8; i++) {
		talk_change(&t.rig, t.c,
			    i % 2 ? "{'b': {'codec': 'pcmu'}}"
				  : "{'b': {'codec': 'pcma'}}");
		talker_speak(&t.p[0], 0xd5);
		t.sent++;
		do {
			(void)sched_yield();
			node_stats(t.rig.node, &stats);
		} while (stats.totals.nowhere < t.sent);
	}
	t.pt[1] = 0;
	say(&t, 1, 3);
	say(&t, 0, 3);
	talk_close(&t);
}

/* --- a flood --- */

/* So many packets at least, and turns meanwhile. */
enum { FLOOD = 8000, TURNS = 40 };

struct flood {
	struct talk *t;
	unsigned sent;
	atomic_bool go, enough;
};

/* Both speak, of three types by turns, as fast as packets are taken. */
static void *flood(void *arg)
{
	static const uint8_t types[] = { 0, 8, 0, 9 };
	struct flood *f = arg;

	for (unsigned n = 0; n < FLOOD || !atomic_load(&f->enough); n++) {
		struct timespec pause = { 0, 20000 };
		struct talker *p = &f->t->p[n % 2];

		p->next.pt = types[n / 10 % 4];
		talker_speak(p, 0xd5);
		f->sent++;
		(void)nanosleep(&pause, NULL);
	}
	atomic_store(&f->go, false);
	return NULL;
}

/* Of one line, from its first to its last: every number once, time forward. */
static unsigned heard_in_order(const struct talker *t)
{
	struct line l = { 0 };
	unsigned n = 0;

	for (; !talker_hears_nothing(t); n++) {
		struct rtp_packet p;
		uint8_t buf[2048];

		assert_int_equal(rtp_parse(buf, talker_hear(t, buf), &p), 0);
		if (l.any) {
			assert_int_equal(p.ssrc, l.ssrc);
			assert_true((int16_t)(p.seq - l.seq) > 0);
			assert_true((int32_t)(p.ts - l.ts) > 0);
		}
		l = (struct line){ true, p.seq, p.ts, p.ssrc };
	}
	return n;
}

/* Changes as fast as control can, while packets of all types come. */
static void a_flood_of_turns(void **state)
{
	static const char *const codecs[] = { "pcmu", "pcma", "pcmu", "g722" };
	const struct rig_options o = { .workers = 2, .ring_frames = 64 };
	struct flood f = { .go = true };
	unsigned turns = 0, heard = 0;
	struct node_stats stats;
	struct talk t;
	pthread_t thread;

	(void)state;
	talk_open(&t, &o, BOTH_PCMU, 0, 0);
	f.t = &t;
	assert_int_equal(pthread_create(&thread, NULL, flood, &f), 0);
	for (; atomic_load(&f.go); turns++) {
		char json[64];

		(void)snprintf(json, sizeof(json), "{'b': {'codec': '%s'}}",
			       codecs[turns % 4]);
		talk_change(&t.rig, t.c, json);
		for (unsigned i = 0; i < 2; i++)
			heard += heard_in_order(&t.p[i]);
		if (turns == TURNS)
			atomic_store(&f.enough, true);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	t.sent += f.sent;
	talk_stop(&t.rig, t.c);
	for (unsigned i = 0; i < 2; i++)
		heard += heard_in_order(&t.p[i]);
	assert_sums(&t);
	node_stats(t.rig.node, &stats);
	assert_true(stats.totals.relayed && stats.totals.done && heard);
	talkers_leave(t.p);
	rig_close(&t.rig);
}

/* Conversations that end in the middle of it. */
static void it_ends_in_mid_turn(void **state)
{
	const struct rig_options o = { .workers = 1 };
	struct rig r;

	(void)state;
	rig_open(&r, &o);
	for (unsigned i = 0; i < 40; i++) {
		struct conversation *c = talk_start(&r, BOTH_PCMU);
		struct talker p[2] = { talker(c, 0, 0), talker(c, 1, 0) };

		for (unsigned n = 0; n < 40; n++) {
			talker_speak(&p[n % 2], 1);
			if (n % 10 == i % 10)
				talk_change(&r, c,
					    n / 10 % 2
						    ? "{'b': {'codec': 'pcmu'}}"
						    : "{'b': {'codec': "
						      "'pcma'}}");
		}
		talk_stop(&r, c);
		talkers_leave(p);
	}
	assert_int_equal(r.ended, 80);
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_conversation_changes_shape),
		cmocka_unit_test(a_call_becomes_a_relay),
		cmocka_unit_test(what_is_on_its_way_is_not_lost),
		cmocka_unit_test(what_is_missing_shows),
		cmocka_unit_test(another_sender_goes_on),
		cmocka_unit_test(clocks_change),
		cmocka_unit_test(what_is_refused_leaves_all_as_it_was),
		cmocka_unit_test(a_packet_time_outlives_turns),
		cmocka_unit_test(never_is_never),
		cmocka_unit_test(silence_changes_too),
		cmocka_unit_test(a_flood_of_turns),
		cmocka_unit_test(it_ends_in_mid_turn),
	};

	return cmocka_run_group_tests_name("turn", tests, NULL, NULL);
}
