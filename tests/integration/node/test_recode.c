/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of two streams of a real node whose parties change their codecs in
 * mid-call: each packet comes out once, in the codec of that moment, with the
 * next sequence number and a later timestamp. What is refused changes nothing.
 */
#include "cmocka_cr.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "json_text.h"
#include "protocol/field_json.h"
#include "protocol/tables/endpoint_fields.h"
#include "node_fixture.h"

enum { PACKETS = 12 };

/* All that both streams need. */
/* Start one from JSON in which single quotes stand for double ones. */
static int start(struct node_fixture *r, const char *json, struct node_call **c,
		 struct cr_err *e)
{
	json_t *params = json_text(json);
	struct call_spec spec;
	int err = call_params(&spec, params, e);

	if (!err)
		err = fixture_start(r, &spec, c, e);
	json_decref(params);
	return err;
}

/* Party @i speaks @codec from now on; when what it costs is known. */
static int takes(struct node_fixture *r, struct node_call *c, unsigned i,
		 const struct codec_use *how, struct cr_err *e)
{
	struct node_cost_wait lacks;
	struct endpoint_spec to[2] = { 0 };
	int err;

	for (unsigned k = 0; k < 2; k++)
		field_defaults(party_change_fields, &to[k]);
	to[i].side = *how;
	while ((err = node_call_change(c, to, &lacks, e)) == -EAGAIN)
		assert_int_equal(fixture_know(r, &lacks, e), 0);
	return err;
}

static int speaks(struct node_fixture *r, struct node_call *c, unsigned i,
		  const char *codec, int pt, struct cr_err *e)
{
	struct codec_use how = { 0 };

	field_defaults(call_side_fields, &how);
	how.name = codec;
	how.pt = pt;
	return takes(r, c, i, &how, e);
}

/* A packet of 20 ms of noise. */
static size_t packet_of(const char *name, uint8_t *buf, size_t size)
{
	static struct cr_frame frame;
	static int16_t pcm[CR_FRAME_SAMPLES_MAX];
	const struct cr_codec *codec = cr_codec_find(name);
	struct cr_codec_cfg cfg = { .mode = codec->default_mode };
	struct codec_use payload = { .codec = codec };
	struct cr_err e = { "" };
	void *encoder;
	int n;

	for (unsigned k = 0; k < CR_FRAME_SAMPLES_MAX; k++)
		pcm[k] = (int16_t)((k * 2654435761u) >> 20);
	if (codec->any_length || codec->lengths)
		cfg.samples = codec->sample_rate / 50;
	assert_int_equal(payload_format_find(&payload), 0);
	payload.cfg = cfg;
	assert_int_equal(codec->encoder_open(&encoder, &cfg, &e), 0);
	assert_int_equal(codec->encode(encoder, cfg.mode, pcm, &frame), 0);
	codec->encoder_close(encoder);
	n = payload_pack(&payload, PAYLOAD_NO_CMR, &frame, 1, buf, size);
	assert_true(n > 0);
	return (size_t)n;
}

static unsigned step_of(const char *name)
{
	return cr_codec_find(name)->rtp_clock / 50;
}

/* What one party hears. */
struct line {
	bool any;
	uint16_t seq;
	uint32_t ts, ssrc;
};

/* Of 20 ms, by the types that these tests have. */
static unsigned units_of(int pt)
{
	return pt == 97	   ? step_of("opus")
	       : pt == 98  ? step_of("amr-wb")
	       : pt == 101 ? step_of("l16")
			   : 160;
}

/* The next packet is of type @pt and follows the one before; @at_once, if its
 * sender made no pause. */
static void hears(struct node_fixture *r, struct line *l, int pt, bool at_once)
{
	uint8_t buf[2048];
	struct rtp_packet p;

	assert_true(fixture_receive(r, buf, &p));
	assert_int_equal(p.pt, pt);
	if (l->any) {
		assert_int_equal(p.seq, (uint16_t)(l->seq + 1));
		assert_true((int32_t)(p.ts - l->ts) > 0);
		if (at_once)
			assert_int_equal(p.ts - l->ts, units_of(pt));
		assert_int_equal(p.ssrc, l->ssrc);
	}
	*l = (struct line){ true, p.seq, p.ts, p.ssrc };
}

static void says(struct node_fixture *r, struct fixture_sender *s,
		 const char *codec, int pt, struct line *other, int heard)
{
	uint8_t packet[1024];
	size_t n = packet_of(codec, packet, sizeof(packet));

	s->next.pt = (uint8_t)pt;
	s->step = step_of(codec);
	for (unsigned i = 0; i < PACKETS; i++) {
		fixture_send(s, packet, n);
		hears(r, other, heard, i);
	}
}

static bool has_no_calls(void *arg)
{
	const struct node_fixture *r = arg;

	return !r->node->nstreams && RB_EMPTY(&r->node->calls);
}

static void end(struct node_fixture *r, struct node_call *c)
{
	node_call_stop(c, NODE_END_STOPPED, NULL);
	assert_true(fixture_wait(r, has_no_calls, r));
	fixture_close(r);
}

static bool was_heard(void *arg)
{
	struct node_stream_info info;

	node_stream_info(arg, &info);
	return info.count.packets_in > 0;
}

/* Its endpoint knows where it is, before anybody speaks to it. */
static void introduce(struct node_fixture *r, struct fixture_sender *s,
		      struct node_stream *stream)
{
	fixture_send(s, "hello", 5);
	assert_true(fixture_wait(r, was_heard, stream));
}

/* Each party through all codecs while both speak. */
static void codecs_change_and_no_frame_is_lost(void **state)
{
	static const struct {
		const char *name;
		int pt;
	} through[] = { { "amr", 96 },	  { "g722", 9 },  { "opus", 97 },
			{ "pcmu", 0 },	  { "opus", 97 }, { "g722", 9 },
			{ "amr-wb", 98 }, { "amr", 99 },  { "pcmu", 0 } };
	const struct fixture_options o = { .workers = 2 };
	struct fixture_sender a, b;
	struct node_call *c;
	struct line at_a = { 0 }, at_b = { 0 };
	struct cr_err e = { "" };
	struct node_fixture r;

	fixture_open(&r, &o);
	assert_int_equal(start(&r,
			       "{'a': {'codec': 'pcmu'}, "
			       "'b': {'codec': 'pcma'}}",
			       &c, &e),
			 0);
	a = fixture_sender(&r, node_call_stream(c, 0), 160);
	b = fixture_sender(&r, node_call_stream(c, 1), 160);
	/* B is known; A is not: it hears nothing */
	introduce(&r, &b, node_call_stream(c, 1));
	says(&r, &a, "pcmu", 0, &at_b, 8);
	says(&r, &b, "pcma", 8, &at_a, 0);
	for (unsigned i = 0; i < sizeof(through) / sizeof(*through); i++) {
		const char *name = through[i].name;
		int pt = through[i].pt;

		if (speaks(&r, c, 0, name, pt, &e))
			fail_msg("%s: %s", name, e.text);
		says(&r, &a, name, pt, &at_b, 8);
		says(&r, &b, "pcma", 8, &at_a, pt);
		/* it goes on for a moment as it was: nothing is lost */
		says(&r, &a, "pcmu", 0, &at_b, 8);
	}
	/* and the other one */
	assert_int_equal(speaks(&r, c, 1, "l16", 101, &e), 0);
	says(&r, &a, "pcmu", 0, &at_b, 101);
	says(&r, &b, "l16", 101, &at_a, 0);
	end(&r, c);
	assert_int_equal(r.ended, 2);
	assert_int_equal(r.last.wrong_pt, 0);
}

static void what_may_come_is_told_by_its_type(void **state)
{
	const struct fixture_options o = { .workers = 1 };
	struct fixture_sender a, b;
	struct node_call *c;
	struct line at_b = { 0 }, at_a = { 0 };
	struct cr_err e = { "" };
	struct node_fixture r;

	fixture_open(&r, &o);
	assert_int_equal(start(&r,
			       "{'a': {'codec': 'pcmu', 'also': ["
			       "{'codec': 'amr', 'pt': 96}, {'codec': 'g722'}, "
			       "{'codec': 'opus', 'pt': 111}]}, "
			       "'b': {'codec': 'pcma'}}",
			       &c, &e),
			 0);
	a = fixture_sender(&r, node_call_stream(c, 0), 160);
	b = fixture_sender(&r, node_call_stream(c, 1), 160);
	introduce(&r, &b, node_call_stream(c, 1));
	for (unsigned i = 0; i < 4; i++) {
		says(&r, &a, "opus", 111, &at_b, 8);
		says(&r, &a, "pcmu", 0, &at_b, 8);
		says(&r, &a, "g722", 9, &at_b, 8);
		says(&r, &a, "amr", 96, &at_b, 8);
		says(&r, &b, "pcma", 8, &at_a, 0); /* it is sent the first */
	}
	end(&r, c);
}

static void what_is_refused_leaves_all_as_it_was(void **state)
{
	const struct fixture_options o = { .scheduler = "edf",
					   .workers = 1,
					   .admission = true };
	struct fixture_sender a, b;
	struct node_call *c;
	struct line at_b = { 0 }, at_a = { 0 };
	struct stream_cfg before[2], after[2];
	struct codec_use how = { 0 };
	struct cr_err e = { "" };
	struct node_fixture r;

	fixture_open(&r, &o);
	assert_int_equal(start(&r,
			       "{'a': {'codec': 'pcmu'}, 'b': {'codec': "
			       "'pcma'}, 'class': 'hard'}",
			       &c, &e),
			 0);
	a = fixture_sender(&r, node_call_stream(c, 0), 160);
	b = fixture_sender(&r, node_call_stream(c, 1), 160);
	introduce(&r, &b, node_call_stream(c, 1));
	for (unsigned i = 0; i < 2; i++)
		before[i] = node_stream_cfg(node_call_stream(c, i));
	assert_int_equal(speaks(&r, c, 0, "g723_1", -1, &e), -EINVAL);
	assert_non_null(strstr(e.text, "ptime: g723_1"));
	assert_int_equal(speaks(&r, c, 0, "nothing", -1, &e), -EINVAL);
	assert_non_null(strstr(e.text, "a.codec: unknown"));
	field_defaults(call_side_fields, &how);
	how.name = "spin";
	how.cfg.spin = 12 * CR_MS; /* of 20, each way */
	assert_int_equal(takes(&r, c, 0, &how, &e), -ENOSPC);
	assert_non_null(strstr(e.text, "no-capacity"));
	for (unsigned i = 0; i < 2; i++) {
		after[i] = node_stream_cfg(node_call_stream(c, i));
		assert_ptr_equal(after[i].media.in.codec,
				 before[i].media.in.codec);
		assert_ptr_equal(after[i].media.out.codec,
				 before[i].media.out.codec);
		assert_int_equal(after[i].declared.cost.mean,
				 before[i].declared.cost.mean);
	}
	says(&r, &a, "pcmu", 0, &at_b, 8);
	says(&r, &b, "pcma", 8, &at_a, 0);
	end(&r, c);
}

/* All is made and admitted, and then not wanted: of calls that go on by another
 * codec, and of a relay that would have become a transcoding. */
static void what_is_cancelled_leaves_all_as_it_was(void **state)
{
	static const char *const b_speaks[] = { "pcma", "pcmu" };

	for (unsigned i = 0; i < 2; i++) {
		const struct fixture_options o = { .workers = 1 };
		const bool relays = i;
		const int pt = relays ? 0 : 8;
		struct endpoint_spec to[2] = { 0 };
		struct node_call_change *change;
		struct node_cost_wait lacks;
		struct line at_a = { 0 }, at_b = { 0 };
		struct fixture_sender a, b;
		struct node_call *c;
		struct cr_err e = { "" };
		struct node_fixture r;
		char json[80];

		(void)snprintf(json, sizeof(json),
			       "{'a': {'codec': 'pcmu'}, 'b': {'codec': '%s'}}",
			       b_speaks[i]);
		fixture_open(&r, &o);
		assert_int_equal(start(&r, json, &c, &e), 0);
		assert_int_equal(node_call_relays(c), relays);
		a = fixture_sender(&r, node_call_stream(c, 0), 160);
		b = fixture_sender(&r, node_call_stream(c, 1), 160);
		introduce(&r, &b, node_call_stream(c, 1));
		for (unsigned k = 0; k < 2; k++)
			field_defaults(party_change_fields, &to[k]);
		field_defaults(call_side_fields, &to[0].side);
		to[0].side.name = "amr";
		to[0].side.pt = 96;
		for (unsigned k = 0; k < 2; k++) {
			int err;

			while ((err = node_call_prepare(c, to, &lacks, &change,
							&e)) == -EAGAIN)
				assert_int_equal(fixture_know(&r, &lacks, &e),
						 0);
			assert_int_equal(err, 0);
			node_call_cancel(change);
			assert_int_equal(node_call_relays(c), relays);
			says(&r, &a, "pcmu", 0, &at_b, pt);
			says(&r, &b, b_speaks[i], pt, &at_a, 0);
		}
		/* and it can still be made; a relay has SSRCs of its parties */
		assert_int_equal(speaks(&r, c, 0, "amr", 96, &e), 0);
		if (relays)
			at_a.any = at_b.any = false;
		says(&r, &a, "amr", 96, &at_b, pt);
		says(&r, &b, b_speaks[i], pt, &at_a, 96);
		end(&r, c);
	}
}

/* So many packets at least, and changes meanwhile. */
enum { FLOOD = 6000, CHANGES = 20 };

struct flood {
	struct node_fixture *rig;
	struct fixture_sender s[2];
	unsigned sent;
	atomic_bool go, enough;
};

/* Both parties speak, of four types by turns. */
static void *flood(void *arg)
{
	static const uint8_t types[] = { 0, 8, 9, 96 };
	const uint8_t speech[320] = { 0 };
	struct flood *f = arg;

	for (unsigned n = 0; n < FLOOD || !atomic_load(&f->enough); n++) {
		struct fixture_sender *s = &f->s[n % 2];
		struct timespec pause = { 0, 20000 };

		s->next.pt = types[n / 6 % 4];
		fixture_send(s, speech, s->next.pt == 96 ? 320 : 160);
		f->sent++;
		(void)nanosleep(&pause, NULL);
	}
	atomic_store(&f->go, false);
	return NULL;
}

/* Workers have done what has come. */
static bool is_idle(void *arg)
{
	const struct node_fixture *r = arg;
	struct node_stats stats;

	node_stats(r->node, &stats);
	return stats.totals.packets_in ==
	       stats.totals.done + stats.totals.overwritten +
		       stats.totals.expired + stats.totals.concealed +
		       stats.totals.relayed;
}

/* What the RTCP of @ep is about. */
static struct endpoint_rtcp_use use_of(const struct node_endpoint *ep)
{
	const struct endpoint_rtcp *r = ep->endpoint->rtcp;

	return (struct endpoint_rtcp_use){ .ssrc = atomic_load(&r->ssrc),
					   .rate_in = atomic_load(&r->rate_in),
					   .rate_out =
						   atomic_load(&r->rate_out) };
}

/* The RTCP of open endpoints is about a call when that is agreed on. */
static void a_start_that_is_cancelled_leaves_rtcp_as_it_was(void **state)
{
	static const char *const codecs[] = { "pcmu", "l16" };
	const struct fixture_options o = { .workers = 1 };
	const struct endpoint_spec to[2] = { ENDPOINT_CHANGE_UNSAID,
					     ENDPOINT_CHANGE_UNSAID };
	struct call_spec spec = CALL_SPEC_UNSAID;
	struct endpoint_rtcp_use was[2], is[2];
	struct node_call_change *change;
	struct node_cost_wait lacks;
	struct node_endpoint *ep[2];
	struct cr_err e = { "" };
	struct node_call *c;
	struct node_fixture r;

	fixture_open(&r, &o);
	field_defaults(call_each_fields, &spec);
	spec.port = CALL_PORT_EACH;
	for (unsigned i = 0; i < 2; i++) {
		struct endpoint_spec end = ENDPOINT_SPEC_UNSAID;

		end.side.name = codecs[i];
		end.side.cfg.sample_rate = i ? 16000 : 0;
		assert_int_equal(node_endpoint_open(r.node, &end,
						    &endpoint_own_names, &ep[i],
						    &e),
				 0);
		ep[i]->opened = true;
		spec.end[i].endpoint = ep[i]->id;
		was[i] = use_of(ep[i]);
	}
	for (unsigned k = 0; k < 2; k++) {
		int err;

		while ((err = node_call_prepare_start(r.node, &spec, to, &lacks,
						      &change, &e)) == -EAGAIN)
			assert_int_equal(fixture_know(&r, &lacks, &e), 0);
		if (err)
			fail_msg("%s", e.text);
		for (unsigned i = 0; i < 2; i++) {
			is[i] = use_of(ep[i]);
			assert_memory_equal(&is[i], &was[i], sizeof(is[i]));
		}
		if (k) {
			c = node_call_commit(change);
			continue;
		}
		node_call_cancel(change);
		assert_true(fixture_wait(&r, has_no_calls, &r));
	}
	for (unsigned i = 0; i < 2; i++) {
		is[i] = use_of(ep[i]);
		assert_int_equal(is[i].ssrc,
				 node_stream_settings(node_call_stream(c, !i))
					 ->ssrc_out);
		assert_int_equal(is[i].rate_in, i ? 16000 : 8000);
		assert_int_equal(is[i].rate_out, i ? 16000 : 8000);
	}
	fixture_close(&r);
}

/* Codecs change as fast as control can while packets of all types come; now and
 * then no codec is needed: every one counts once, and each that was taken
 * leaves. */
static void a_flood_of_changes(void **state)
{
	static const struct {
		const char *name;
		int pt;
	} codecs[] = { { "pcmu", 0 }, { "pcma", 8 }, { "g722", 9 },
		       { "l16", 96 }, { "amr", 97 }, { "opus", 98 } };
	const struct fixture_options o = { .workers = 2, .ring_frames = 64 };
	struct flood f = { .go = true };
	struct node_call *c;
	struct node_stats stats;
	struct cr_err e = { "" };
	pthread_t thread;
	struct node_fixture r;
	unsigned changes = 0;

	fixture_open(&r, &o);
	assert_int_equal(start(&r,
			       "{'a': {'codec': 'pcmu'}, "
			       "'b': {'codec': 'pcma'}}",
			       &c, &e),
			 0);
	f.rig = &r;
	for (unsigned i = 0; i < 2; i++)
		f.s[i] = fixture_sender(&r, node_call_stream(c, i), 160);
	assert_int_equal(pthread_create(&thread, NULL, flood, &f), 0);
	for (; atomic_load(&f.go); changes++) {
		unsigned k = changes * 7 % 6;

		if (speaks(&r, c, changes / 3 % 2, codecs[k].name, codecs[k].pt,
			   &e))
			fail_msg("%s", e.text);
		if (changes == CHANGES)
			atomic_store(&f.enough, true);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(fixture_wait(&r, is_idle, &r));
	node_call_stop(c, NODE_END_STOPPED, NULL);
	assert_true(fixture_wait(&r, has_no_calls, &r));
	node_stats(r.node, &stats);
	assert_int_equal(stats.rx.packets + stats.totals.port_drops +
				 stats.totals.unread,
			 f.sent);
	assert_int_equal(stats.rx.packets - stats.rx.no_listener,
			 stats.totals.packets_in + stats.totals.wrong_pt +
				 stats.totals.too_big + stats.totals.probation +
				 stats.totals.wrong_source +
				 stats.totals.wrong_ssrc);
	assert_int_equal(stats.totals.too_big, 0);
	assert_int_equal(stats.totals.malformed, 0);
	assert_int_equal(stats.totals.packets_in,
			 stats.totals.done + stats.totals.overwritten +
				 stats.totals.expired + stats.totals.concealed +
				 stats.totals.cancelled + stats.totals.relayed);
	fixture_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(codecs_change_and_no_frame_is_lost),
		cmocka_unit_test(what_may_come_is_told_by_its_type),
		cmocka_unit_test(what_is_refused_leaves_all_as_it_was),
		cmocka_unit_test(what_is_cancelled_leaves_all_as_it_was),
		cmocka_unit_test(
			a_start_that_is_cancelled_leaves_rtcp_as_it_was),
		cmocka_unit_test(a_flood_of_changes),
	};

	return cmocka_run_group_tests_name("recode", tests, NULL, NULL);
}
