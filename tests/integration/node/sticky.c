/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A codec that does not come back while it is held.
 */
#define _GNU_SOURCE
#include "sticky.h"

#include "cmocka_cr.h"

#include <unistd.h>

#include "base/address.h"
#include "node/call_check.h"

atomic_bool sticky_held;
atomic_int sticky_tickets;
atomic_uint sticky_inside, sticky_entered;

static struct cr_codec sticky;

static bool take_ticket(void)
{
	int n = atomic_load(&sticky_tickets);

	return n > 0 &&
	       atomic_compare_exchange_strong(&sticky_tickets, &n, n - 1);
}

static int stick(void *enc, unsigned mode, const int16_t *pcm,
		 struct cr_frame *out)
{
	atomic_fetch_add(&sticky_inside, 1);
	atomic_fetch_add(&sticky_entered, 1);
	while (atomic_load(&sticky_held) && !take_ticket())
		(void)usleep(1000); /* blocked, as on a lock */
	atomic_fetch_sub(&sticky_inside, 1);
	return cr_codec_find("pcma")->encode(enc, mode, pcm, out);
}

const struct cr_codec *sticky_codec(void)
{
	if (!sticky.encode) {
		sticky = *cr_codec_find("pcma");
		sticky.encode = stick;
	}
	return &sticky;
}

static void sticky_streams(struct call_spec *spec, struct node_call_streams *s)
{
	struct cr_err e = { "" };

	*spec = (struct call_spec)CALL_SPEC_UNSAID;
	spec->end[0].side.name = "pcmu";
	spec->end[0].rtcp = ENDPOINT_RTCP_OFF;
	spec->end[1].side.name = "pcma";
	spec->terms.cls = CR_SOFT;
	spec->terms.weight = CALL_WEIGHT;
	assert_int_equal(address_parse("127.0.0.1:9", &spec->end[1].address),
			 0);
	assert_int_equal(node_call_check(s, spec, &e), 0);
	s->stream[0].media.out.codec = sticky_codec();
}

struct node_stream *sticky_call(struct node_fixture *r)
{
	struct node_call_streams s;
	struct call_spec spec;
	struct node_call *c = NULL;
	struct cr_err e = { "" };

	sticky_streams(&spec, &s);
	if (fixture_measure(r, s.stream, &e) ||
	    node_call_begin(r->node, &s, &spec, &c, &e))
		fail_msg("%s", e.text);
	return node_call_stream(c, 0);
}

static bool is_inside(void *arg)
{
	(void)arg;
	return atomic_load(&sticky_inside) > 0;
}

void sticky_measure(struct node_fixture *r, struct node_cost_wait *w)
{
	struct node_call_streams s;
	struct call_spec spec;
	struct cr_err e = { "" };

	sticky_streams(&spec, &s);
	node_cost_need(w, s.stream, 1);
	assert_int_equal(node_cost_wait(r->node, w, &e), 0);
	assert_true(fixture_wait(r, is_inside, NULL));
}
