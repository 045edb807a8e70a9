/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A conversation's dealings with the daemon:
 *
 *   conversation.start {a {codec, address, learn, ...}, b {...}, ptime, ...}
 *     -> {conversation, a {call, rtp, pt, out_ssrc, ...}, b {...}}
 *   conversation.change {conversation, a {address}}      before a signalled
 *                                                        change of address
 *   conversation.stop {conversation} -> {a {ssrc_changes, ...}, b {...}}
 *   call.ended, for each stream: its last counters
 *
 * A party's ports stay open a little longer, so that all that is under way
 * comes.
 */
#include "feeder/talk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "feeder/session_impl.h"
#include "rtp/jitter.h"
#include "udp/socket.h"

/* --- what conversation.start asks for a party; the feeder's have no RTCP ---
 */
/* The payload type of digits that the party of @c sends or takes: it takes
 * those that the other one dials. 0: none. */
static int talk_events_of(const struct feeder_call *c)
{
	const struct campaign_party *own = &c->flow->party;
	const struct campaign_party *other = &talk_other(c)->flow->party;

	if (own->dtmf.digits[0])
		return (int)own->dtmf.pt;
	return other->dtmf.digits[0] ? (int)other->dtmf.pt : 0;
}

/* The same of noise: a codec with silence of its own takes that, and a payload
 * type has one clock. */
static int talk_noise_of(const struct feeder_call *c)
{
	const struct campaign_flow *own = c->flow;
	const struct campaign_flow *other = talk_other(c)->flow;

	if (own->party.cn.given)
		return (int)own->party.cn.pt;
	if (!other->party.cn.given || own->in.codec->dtx ||
	    cr_codec_clock(own->in.codec, own->in.cfg.sample_rate) !=
		    cr_codec_clock(other->in.codec, other->in.cfg.sample_rate))
		return 0;
	return (int)other->party.cn.pt;
}

/* What the daemon is to do about the network between it and the party. */
static void put_reception(json_t *o, const struct campaign_flow *f)
{
	static const char *const fills[] = { NULL, "never", "signalled",
					     "always" };
	static const char *const buffers[] = { "off", "fixed", "adaptive" };
	const struct campaign_buffer *b = &f->buffer;

	if (f->party.conceal)
		(void)json_object_set_new(o, "loss", json_string("conceal"));
	if (f->party.fill)
		(void)json_object_set_new(o, "fill",
					  json_string(fills[f->party.fill]));
	if (b->kind == JITTER_OFF)
		return;
	(void)json_object_set_new(o, "jitter", json_string(buffers[b->kind]));
	(void)json_object_set_new(o, "jitter_max_ms",
				  json_real((double)b->most / CR_MS));
	if (b->kind == JITTER_ADAPTIVE)
		(void)json_object_set_new(o, "jitter_min_ms",
					  json_real((double)b->least / CR_MS));
}

/* The party that says @c, at @address, as conversation.start has it. */
static json_t *talk_party_json(const struct feeder_call *c, const char *address)
{
	static const char *const learns[] = { "strict", "immediate",
					      "delayed" };
	const struct campaign_party *p = &c->flow->party;
	json_t *o = session_endpoint_json(&c->flow->in);

	if (p->address == ADDRESS_KNOWN)
		(void)json_object_set_new(o, "address", json_string(address));
	if (talk_events_of(c))
		(void)json_object_set_new(o, "events",
					  json_integer(talk_events_of(c)));
	if (talk_noise_of(c))
		(void)json_object_set_new(o, "noise",
					  json_integer(talk_noise_of(c)));
	put_reception(o, c->flow);
	(void)json_object_set_new(o, "rtcp", json_string("off"));
	if (p->learn != CAMPAIGN_LEARN_AUTO)
		(void)json_object_set_new(o, "learn",
					  json_string(learns[p->learn - 1]));
	return o;
}

/* The daemon is told so long before an address changes. */
#define SIGNAL_LEAD (100 * CR_MS)
/* From the streams' end until the ports are closed. */
#define LAST_PACKETS (100 * CR_MS)
/* Beyond what a silent daemon may take. */
#define PATIENCE (5 * CR_SEC)

static const char *const sides[] = { "a", "b" };

struct talk_request {
	struct session *session;
	struct talk *talk;
};

static int talk_request(struct session *s, struct talk *t, const char *method,
			json_t *params, rpc_reply_fn *reply)
{
	struct talk_request *r = malloc(sizeof(*r));
	int rc;

	if (!r) {
		json_decref(params);
		return -ENOMEM;
	}
	*r = (struct talk_request){ s, t };
	rc = rpc_client_call(s->rpc, method, params, reply, r);
	if (rc)
		free(r);
	return rc;
}

static void fail_talk(struct session *s, const struct talk *t, int rc,
		      const char *why)
{
	session_fail(s, rc, "conversation %s-%u: %.400s",
		     campaign_title(t->side[0]->flow), t->side[0]->plan->index,
		     why);
}

/* --- start --- */

/* All that the party that says @c will send from; the first one's @address. */
static int open_talk_ports(struct session *s, struct feeder_call *c,
			   char address[PORT_TEXT], struct cr_err *e)
{
	char other[PORT_TEXT];
	int rc = 0;

	c->phone = phone_new(c->flow, c->plan);
	if (!c->phone)
		return cr_fail(e, -ENOMEM, "out of memory");
	for (unsigned i = 0; i < c->phone->nports && !rc; i++)
		rc = ports_give_own(&s->ports, &c->phone->ports[i],
				    i ? other : address, e);
	return rc;
}

/* A payload type that is agreed, or none. */
static int talk_agreed(int pt)
{
	return pt ? pt : -1;
}

static int listen_at_port(struct session *s, struct phone *p, uint64_t tag,
			  struct cr_err *e)
{
	int rc = 0;

	for (unsigned i = 0; i < p->nports && !rc; i++)
		rc = ports_listen(&s->ports, &p->ports[i], tag, e);
	return rc;
}

static bool read_whole(const json_t *o, const char *key, int64_t max,
		       int64_t *out)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_integer(v) || json_integer_value(v) < 0 ||
	    json_integer_value(v) > max)
		return false;
	*out = json_integer_value(v);
	return true;
}

/* What the daemon says of both parties. */
static bool read_parties(struct talk *t, const json_t *r, int64_t pt[2])
{
	int64_t ssrc[2] = { 0, 0 }; /* of a relay: the other party's */

	t->relay = json_is_true(json_object_get(r, "relay"));
	for (unsigned i = 0; i < 2; i++) {
		const json_t *p = json_object_get(r, sides[i]);
		const char *rtp = json_string_value(json_object_get(p, "rtp"));

		if (!read_whole(p, "call", INT64_MAX, &t->side[i]->id) ||
		    !read_whole(p, "pt", 127, &pt[i]) || !rtp ||
		    address_parse(rtp, &t->side[i]->to))
			return false;
		if (!t->relay &&
		    !read_whole(p, "out_ssrc", UINT32_MAX, &ssrc[i]))
			return false;
	}
	for (unsigned i = 0; i < 2; i++) {
		t->side[i]->ssrc_out = (uint32_t)ssrc[!i];
		t->side[i]->from = t->side[!i]->to;
	}
	return read_whole(r, "conversation", INT64_MAX, &t->id);
}

static int make_side(struct session *s, struct feeder_call *c, uint8_t pt,
		     uint8_t pt_out)
{
	const struct match_cfg m = session_match_cfg(c->flow);
	int rc = session_make_parts(s, c, &m);
	const struct feeder_call *other = talk_other(c);

	c->heard = calloc(1, sizeof(*c->heard));
	if (rc || !c->heard)
		return -ENOMEM;
	c->phone->pt = pt;
	heard_init(c->heard,
		   &(struct heard_cfg){
			   .ssrc = c->ssrc_out,
			   .pt = pt_out,
			   .pt_event = talk_agreed(talk_events_of(other)),
			   .pt_noise = talk_agreed(talk_noise_of(other)),
			   .rtp_ticks = c->match->cfg.out_ticks,
			   .deaf = other->flow->party.deaf,
			   .seed = c->plan->seed,
		   });
	return 0;
}

/* The daemon has acknowledged: let both parties speak. */
static void begin_talk(struct session *s, struct talk *t, const json_t *r)
{
	struct cr_err e = { "" };
	int64_t pt[2];
	int rc = 0;

	if (!read_parties(t, r, pt)) {
		fail_talk(s, t, -EPROTO,
			  "the daemon's reply lacks conversation, or call, "
			  "rtp, pt "
			  "or out_ssrc of a or b");
		return;
	}
	for (unsigned i = 0; i < 2 && !rc; i++)
		rc = make_side(s, t->side[i], (uint8_t)pt[i], (uint8_t)pt[!i]);
	if (rc) {
		fail_talk(s, t, rc, strerror(-rc));
		return;
	}
	/* what a says comes to b, whatever port b has by then */
	for (unsigned i = 0; i < 2 && !rc; i++)
		rc = listen_at_port(s, t->side[!i]->phone,
				    receiver_tag(t->side[i]), &e);
	if (rc) {
		fail_talk(s, t, rc, e.text);
		return;
	}
	t->began = true;
	session_let_run(s, t->side[0]);
	session_let_run(s, t->side[1]);
}

static void close_talk_ports(struct session *s, struct talk *t)
{
	for (unsigned i = 0; i < 2; i++) {
		struct phone *p = t->side[i]->phone;

		for (unsigned k = 0; p && k < p->nports; k++) {
			if (p->ports[k].fd < 0)
				continue;
			p->drops += udp_socket_drops(p->ports[k].fd);
			ports_take_back(&s->ports, &p->ports[k]);
		}
	}
}

static void on_talk_started(void *arg, const json_t *result,
			    const json_t *error)
{
	struct talk_request *r = arg;
	struct session *s = r->session;
	struct talk *t = r->talk;

	free(r);
	if (result && !s->failed) {
		begin_talk(s, t, result);
		return;
	}
	t->side[0]->state = t->side[1]->state = CALL_REFUSED;
	if (s->failed)
		return;
	close_talk_ports(s, t);
	session_refused(s, t->side[0], error);
	session_refused(s, t->side[1], error);
}

void session_talk_start(struct session *s, struct talk *t)
{
	const struct campaign_flow *flow = t->side[0]->flow;
	json_t *params = json_object();
	struct cr_err e = { "" };
	int rc = 0;

	for (unsigned i = 0; i < 2 && !rc; i++) {
		char address[PORT_TEXT];

		rc = open_talk_ports(s, t->side[i], address, &e);
		if (!rc)
			(void)json_object_set_new(
				params, sides[i],
				talk_party_json(t->side[i], address));
		t->side[i]->state = CALL_STARTING;
		s->open++;
	}
	if (rc) {
		json_decref(params);
		fail_talk(s, t, rc, e.text);
		return;
	}
	session_put_terms(params, flow, flow->party.ptime);
	(void)json_object_set_new(
		params, "relay",
		json_string(flow->party.relay ? "auto" : "never"));
	rc = talk_request(s, t, "conversation.start", params, on_talk_started);
	if (rc)
		fail_talk(s, t, rc, strerror(-rc));
}

/* --- while it goes on --- */

static void on_changed(void *arg, const json_t *result, const json_t *error)
{
	struct talk_request *r = arg;
	const char *why = json_string_value(json_object_get(error, "message"));

	if (!result && !r->session->failed)
		fail_talk(r->session, r->talk, -EPROTO,
			  why ? why : "no reason");
	free(r);
}

static void signal_due(struct session *s, struct talk *t, struct feeder_call *c,
		       cr_ns now)
{
	struct phone *p = c->phone;
	unsigned next = p->signalled + 1;
	struct sockaddr_storage at;
	socklen_t size = sizeof(at);
	char text[PORT_TEXT];
	int rc;

	if (!c->flow->party.port.signalled || next >= p->nports ||
	    s->epoch + phone_moves(c->flow, c->plan, next) - SIGNAL_LEAD > now)
		return;
	p->signalled = next;
	(void)getsockname(c->phone->ports[next].fd, (struct sockaddr *)&at,
			  &size);
	(void)address_text(&at, text, sizeof(text));
	rc = talk_request(
		s, t, "conversation.change",
		json_pack("{s:I,s:{s:s}}", "conversation", (json_int_t)t->id,
			  sides[c->flow->party.side], "address", text),
		on_changed);
	if (rc)
		fail_talk(s, t, rc, strerror(-rc));
}

/* --- stop --- */

static void on_talk_stopped(void *arg, const json_t *result,
			    const json_t *error)
{
	struct talk_request *r = arg;

	(void)error; /* it has ended already: as good */
	json_decref(r->talk->reported);
	r->talk->reported = json_incref((json_t *)result);
	free(r);
}

static bool is_through(const struct talk *t)
{
	for (unsigned i = 0; i < 2; i++)
		if (!atomic_load_explicit(&t->side[i]->done,
					  memory_order_acquire))
			return false;
	return true;
}

static void stop_when_through(struct session *s, struct talk *t, cr_ns now)
{
	if (!s->interrupted && !is_through(t))
		return;
	if (!t->side[0]->stop_at)
		t->side[0]->stop_at = now + SESSION_DRAIN;
	if (t->side[0]->stop_at <= now) {
		int rc;

		t->side[0]->state = t->side[1]->state = CALL_STOPPING;
		t->patience = now + s->cfg.peer_timeout + PATIENCE;
		rc = talk_request(
			s, t, "conversation.stop",
			json_pack("{s:I}", "conversation", (json_int_t)t->id),
			on_talk_stopped);
		if (rc)
			fail_talk(s, t, rc, strerror(-rc));
	}
}

void session_talk_ended(struct session *s, const json_t *params)
{
	json_int_t id = json_integer_value(json_object_get(params, "call"));

	for (size_t i = 0; i < 2 * s->ntalks; i++) {
		struct talk *t = &s->talks[i / 2];
		struct feeder_call *c = t->side[i % 2];

		if (!t->began || c->id != id || c->counts)
			continue;
		c->counts = json_incref(json_object_get(params, "count"));
		t->ended++;
		return;
	}
}

static void end_when_reported(struct session *s, struct talk *t, cr_ns now)
{
	if (!t->close_at && (t->ended == 2 || now >= t->patience))
		t->close_at = now + LAST_PACKETS;
	if (!t->close_at || now < t->close_at)
		return;
	close_talk_ports(s, t);
	for (unsigned i = 0; i < 2; i++) {
		t->side[i]->state = CALL_ENDED;
		s->open--;
		s->active--;
	}
}

void session_talks_go_on(struct session *s, cr_ns now)
{
	for (size_t i = 0; i < s->ntalks && !s->failed; i++) {
		struct talk *t = &s->talks[i];

		switch (t->side[0]->state) {
		case CALL_ACTIVE:
			signal_due(s, t, t->side[0], now);
			signal_due(s, t, t->side[1], now);
			stop_when_through(s, t, now);
			break;
		case CALL_STOPPING:
			end_when_reported(s, t, now);
			break;
		case CALL_PLANNED:
		case CALL_STARTING:
		case CALL_ENDED:
		case CALL_REFUSED:
			break;
		}
	}
}

/* --- the account --- */

/* Every packet in is one packet out: lengths are the same, and no codec keeps
 * silence to itself. */
static bool is_one_to_one(const struct campaign_flow *f)
{
	return f->ptime == session_out_frame(f) && !f->in.cfg.dtx &&
	       !f->out.cfg.dtx;
}

static void judge_talk(const struct talk *t, unsigned i, struct balance *out)
{
	static const char *const names[] = {
#define NAME(name, ...) #name,
		CALL_COUNTERS(NAME)
#undef NAME
	};
	const struct feeder_call *c = t->side[i];
	uint64_t counts[CALL_NCOUNTERS];

	for (unsigned k = 0; k < CALL_NCOUNTERS; k++)
		counts[k] = (uint64_t)json_integer_value(
			json_object_get(c->counts, names[k]));
	balance_judge(
		&(struct balance_side){
			.phone = c->phone,
			.heard = c->heard,
			.daemon = counts,
			.reported = c->counts != NULL,
			.drops = t->side[!i]->phone->drops,
			.clock_out = c->match->cfg.out_clock,
			.one_to_one = !t->relay && is_one_to_one(c->flow),
			.relay = t->relay,
		},
		out);
}

void session_talks_judge(struct session *s)
{
	for (size_t i = 0; i < 2 * s->ntalks; i++)
		if (s->talks[i / 2].began)
			judge_talk(&s->talks[i / 2], i % 2,
				   &s->talks[i / 2].balance[i % 2]);
}
