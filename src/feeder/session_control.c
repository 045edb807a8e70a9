/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A codec-runner, by its own protocol: the connection, what one call takes,
 * how a run begins and ends, its calls.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/clock.h"
#include "feeder/session_impl.h"
#include "media/endpoint.h"
#include "protocol/tables/endpoint_fields.h"
#include "rpc/server.h"
#include "rtp/jitter.h"

/* A reply may take so much longer than the daemon may stall: only the
 * association tells that it is lost. */
#define ASK (5 * CR_SEC)

static void on_up(void *arg)
{
	struct session *s = arg;

	s->up = true;
}

static const char *daemon_at(const struct session *s)
{
	return *s->cfg.to.path ? s->cfg.to.path : s->cfg.to.host;
}

static void on_down(void *arg, const char *reason)
{
	struct session *s = arg;

	if (s->leaving)
		return;
	session_fail(s, -ECONNRESET, "the daemon at %s is gone: %s",
		     daemon_at(s), reason);
}

static const char *const sides[] = { "a", "b" };

/* stream.ended: the daemon's final counters of a stream of a two-way call. */
static void on_stream_ended(struct session *s, const json_t *params)
{
	json_int_t id = json_integer_value(json_object_get(params, "stream"));

	for (size_t i = 0; i < 2 * s->ncalls; i++) {
		struct feeder_call *c = &s->calls[i / 2];
		struct feeder_stream *st = c->side[i % 2];

		if (!two_way_began(c) || st->id != id || st->counts)
			continue;
		st->counts = json_incref(json_object_get(params, "count"));
		c->ended++;
		return;
	}
}

static void on_notified(void *arg, const char *method, const json_t *params)
{
	struct session *s = arg;

	if (s->conversions && !strcmp(method, "convert.ended"))
		conversions_ended(s->conversions, params, clock_now());
	if (!strcmp(method, "stream.ended"))
		on_stream_ended(s, params);
}

/* Ask and wait. 0 with *@result owned by the caller, or -errno with @e (may
 * be NULL); a refusal is -EPROTO. Takes over @params. */
static int session_ask(struct session *s, const char *method, json_t *params,
		       json_t **result, struct cr_err *e)
{
	json_t *refusal = NULL;
	struct cr_err inner = { "" };
	cr_ns patience = s->cfg.peer_timeout + ASK;
	int rc = rpc_client_ask(s->rpc, method, params,
				(unsigned)(patience / CR_MS), result, &refusal,
				&inner);

	if (s->failed)
		return cr_fail(e, s->failed, "%s", s->why.text);
	if (rc < 0)
		return cr_fail(e, rc,
			       "%s: %.400s; is codec-runner listening "
			       "at %s?",
			       method, inner.text, daemon_at(s));
	if (rc > 0) {
		const char *why =
			json_string_value(json_object_get(refusal, "message"));

		(void)cr_fail(e, -EPROTO, "%s: %.400s", method,
			      why ? why : "refused");
		json_decref(refusal);
		return -EPROTO;
	}
	return 0;
}

/* Ask for the share of a worker that one call of @f takes: call.start's reply
 * has it, from costs measured on the daemon's machine. */
static int probe_call(struct session *s, const struct campaign_flow *f,
		      double *load, struct cr_err *e)
{
	json_t *r = NULL, *stopped = NULL;
	struct feeder_stream st = { .flow = f };
	const struct feeder_call c = { .side = { &st } };
	int rc;

	(void)snprintf(st.address, sizeof(st.address), "%s", s->ports.address);
	rc = session_ask(s, "call.start", session_call_params(s, &c), &r, e);
	if (rc)
		return rc;
	*load = json_number_value(json_object_get(r, "load"));
	rc = session_ask(s, "call.stop",
			 json_pack("{s:O}", "call", json_object_get(r, "call")),
			 &stopped, e);
	json_decref(stopped);
	json_decref(r);
	if (!rc && !(*load > 0))
		rc = cr_fail(e, -EPROTO,
			     "the daemon does not tell a call's "
			     "load; give flow %s a count",
			     f->name);
	return rc;
}

static int daemon_share_of(struct session *s, const struct campaign_flow *flow,
			   double *share, double *workers, struct cr_err *e)
{
	const json_t *capacity = json_object_get(s->hello, "capacity");

	*workers = json_number_value(json_object_get(capacity, "workers"));
	if (*workers < 1)
		return cr_fail(e, -EPROTO,
			       "the daemon does not tell its workers; give "
			       "flow %s a count",
			       flow->name);
	return probe_call(s, flow, share, e);
}

static int greet_daemon(struct session *s, struct cr_err *e)
{
	const char *key = s->cfg.key && *s->cfg.key ? s->cfg.key : NULL;
	struct rpc_client_config cfg = { .base = s->base,
					 .to = s->cfg.to,
					 .kind = s->cfg.kind,
					 .peer_timeout = s->cfg.peer_timeout,
					 .arg = s,
					 .up = on_up,
					 .down = on_down,
					 .notified = on_notified };
	json_t *stats = NULL;
	int rc = rpc_client_open(&s->rpc, &cfg, e);

	if (!rc)
		rc = session_ask(s, "hello",
				 json_pack("{s:s, s:s*}", "client",
					   "codec-feeder", "key", key),
				 &s->hello, e);
	if (rc || !s->conversions)
		return rc;
	/* does the daemon convert files at all? */
	rc = session_ask(s, "stats", NULL, &stats, e);
	if (!rc && !json_is_object(json_object_get(stats, "conversions")))
		rc = cr_fail(e, -ENOTSUP,
			     "conversions: the daemon was started without "
			     "--spool, so it converts no files");
	json_decref(stats);
	return rc;
}

static int start_daemon_trace(struct session *s, struct cr_err *e)
{
	json_t *r = NULL;
	int rc = 0;

	if (s->cfg.trace)
		rc = session_ask(s, "trace.start",
				 json_pack("{s:s,s:b}", "name", s->cfg.trace,
					   "overwrite", 1),
				 &r, e);
	json_decref(r);
	return rc;
}

/* The daemon's final statistics; members that it lacks are left out. */
static void say_bye_to_daemon(struct session *s)
{
	json_t *r = NULL;

	if (s->cfg.trace)
		(void)session_ask(s, "trace.stop", NULL, &r, NULL);
	json_decref(r);
	r = NULL;
	(void)session_ask(s, "stats", NULL, &s->stats, NULL);
	s->leaving = true; /* the daemon closes when it has answered */
	if (s->cfg.bye)
		(void)session_ask(s, "bye", NULL, &r, NULL);
	json_decref(r);
}

static void hang_up_daemon(struct session *s)
{
	rpc_client_close(s->rpc);
}

/* --- what it is asked for --- */

static void fill_one_stream(const struct session *s,
			    const struct feeder_stream *st, struct call_spec *r)
{
	const struct campaign_flow *flow = st->flow;
	const struct campaign_release *release = &flow->release;

	r->end[0].side = flow->in;
	r->end[1].side = flow->out;
	if (!address_parse(st->address, &r->end[1].address))
		r->end[0].address = r->end[1].address;
	r->ts_first = st->ts_first;
	r->ptime = flow->ptime;
	r->port = s->cfg.daemon_ports == PORTS_OWN ? CALL_PORT_OWN
						   : CALL_PORT_SHARED;
	if (!flow->release_named)
		return;
	r->release.model = (int)release->kind;
	if (release->kind == RELEASE_RATE) {
		r->release.x = (unsigned)release->x;
		r->release.y = release->y;
	}
	/* a burst is said once: in the contract, if that has one */
	if (release->kind == RELEASE_LBAP && !flow->terms.contract.burst)
		r->release.burst = (int)release->burst;
}

/* The party that says @st into @r, which has the defaults; the feeder's have no
 * RTCP. */
static void fill_party(const struct feeder_stream *st, struct endpoint_spec *r)
{
	const struct campaign_party *p = &st->flow->party;
	const struct campaign_buffer *b = &st->flow->buffer;

	r->side = st->flow->in;
	if (p->address == ADDRESS_KNOWN)
		(void)address_parse(st->address, &r->address);
	r->learn = (int)p->learn - 1;
	r->rtcp = ENDPOINT_RTCP_OFF;
	r->types.events = st->pt_events < 0 ? 0 : st->pt_events;
	r->types.noise = st->pt_noise < 0 ? 0 : st->pt_noise;
	r->reception.loss = p->conceal ? CALL_LOSS_CONCEAL : CALL_LOSS_NUMBER;
	r->reception.fill = (int)p->fill - 1;
	r->reception.jitter = (int)b->kind;
	if (b->kind != JITTER_OFF)
		r->reception.jitter_max = b->most;
	if (b->kind == JITTER_ADAPTIVE)
		r->reception.jitter_min = b->least;
}

json_t *session_call_params(const struct session *s,
			    const struct feeder_call *c)
{
	const struct campaign_flow *flow = c->side[0]->flow;
	const struct field *fields =
		c->side[1] ? call_two_fields : call_one_fields;
	struct call_spec r = CALL_SPEC_UNSAID;
	json_t *o;

	field_defaults(fields, &r);
	field_defaults(call_each_fields, &r);
	r.terms = flow->terms;
	if (r.terms.deadline == CR_NEVER)
		r.terms.deadline = 0; /* that of the class */
	if (c->side[1]) {
		fill_party(c->side[0], &r.end[0]);
		fill_party(c->side[1], &r.end[1]);
		r.ptime = flow->party.ptime;
		r.relay = flow->party.relay ? RELAY_AUTO : RELAY_NEVER;
	} else {
		fill_one_stream(s, c->side[0], &r);
	}
	o = field_write_request(fields, &r);
	(void)json_object_update_new(o,
				     field_write_request(call_each_fields, &r));
	return o;
}

/*
 * --- its answers ---
 *
 *   call.start -> of one stream: {call, rtp {address, ssrc, pt},
 *                                 out {ssrc, pt, ts_base}, load}
 *                 of two: {call, a {stream, rtp, pt, out_ssrc, ...}, b}
 *   call.change {call, a {address}}    before a signalled change of address
 *   call.stop {call} -> {streams [{count}], a {ssrc_changes, ...}, b {...}}
 *   stream.ended: the last counters of each
 *
 * The daemon maps timestamps from in.ts_first to out.ts_base.
 *
 * A party's ports stay open a little longer, so that all that is under way
 * comes.
 */

/* Time from call.change to the change of an address. */
#define SIGNAL_LEAD (100 * CR_MS)
/* From the streams' end until the ports are closed. */
#define LAST_PACKETS (100 * CR_MS)

static void request(struct session *s, struct feeder_call *c,
		    const char *method, json_t *params, rpc_reply_fn *reply)
{
	struct session_request *r = malloc(sizeof(*r));
	int rc = -ENOMEM;

	if (r) {
		*r = (struct session_request){ s, c };
		rc = rpc_client_call(s->rpc, method, params, reply, r);
	} else {
		json_decref(params);
	}
	if (!rc)
		return;
	free(r);
	session_fail(s, rc, "%s: %s", method, strerror(-rc));
}

static bool integer_of(const json_t *o, const char *key, int64_t max,
		       int64_t *out)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_integer(v) || json_integer_value(v) < 0 ||
	    json_integer_value(v) > max)
		return false;
	*out = json_integer_value(v);
	return true;
}

/* The reply's numbers into @c, of one stream; false when one is missing. */
static bool read_reply(struct feeder_call *c, const json_t *r)
{
	struct feeder_stream *st = c->side[0];
	const json_t *out = json_object_get(r, "out");
	const json_t *rtp = json_object_get(r, "rtp");
	const char *address =
		json_string_value(json_object_get(rtp, "address"));
	int64_t ssrc, ssrc_out, base, pt;

	if (!integer_of(r, "call", INT64_MAX, &c->id) ||
	    !integer_of(rtp, "ssrc", UINT32_MAX, &ssrc) ||
	    !integer_of(rtp, "pt", 127, &pt) ||
	    !integer_of(out, "ssrc", UINT32_MAX, &ssrc_out) ||
	    !integer_of(out, "ts_base", UINT32_MAX, &base) || !address ||
	    address_parse(address, &st->to))
		return false;
	st->id = c->id;
	st->pt = (uint8_t)pt;
	st->ssrc = (uint32_t)ssrc;
	st->ssrc_out = (uint32_t)ssrc_out;
	st->ts_base = (uint32_t)base;
	return true;
}

/* Read the reply's endpoints of both parties. */
static bool read_parties(struct feeder_call *c, const json_t *r)
{
	c->relay = json_is_true(json_object_get(r, "relay"));
	for (unsigned i = 0; i < 2; i++) {
		struct feeder_stream *st = c->side[i], *other = c->side[!i];
		const json_t *p = json_object_get(r, sides[i]);
		const char *rtp = json_string_value(json_object_get(p, "rtp"));
		int64_t pt, ssrc = 0; /* of a relay: the other party's */

		if (!integer_of(p, "stream", INT64_MAX, &st->id) ||
		    !integer_of(p, "pt", 127, &pt) || !rtp ||
		    address_parse(rtp, &st->to) ||
		    (!c->relay &&
		     !integer_of(p, "out_ssrc", UINT32_MAX, &ssrc)))
			return false;
		st->pt = other->pt_out = (uint8_t)pt;
		other->ssrc_out = (uint32_t)ssrc;
		other->from = st->to;
	}
	return integer_of(r, "call", INT64_MAX, &c->id);
}

static void on_started(void *arg, const json_t *result, const json_t *error)
{
	struct session_request *r = arg;
	struct session *s = r->session;
	struct feeder_call *c = r->call;
	const char *why = json_string_value(json_object_get(error, "message"));
	json_int_t code = json_integer_value(json_object_get(error, "code"));

	free(r);
	if (s->failed)
		return;
	if (!result) {
		session_call_refused(s, c, why ? why : "?");
		if (code != RPC_NO_CAPACITY && code != RPC_DRAINING)
			session_fail(s, -EPROTO, "call.start (flow %s): %s",
				     flow_title(c->side[0]->flow),
				     why ? why : "error without reason");
	} else if (c->side[1] ? read_parties(c, result) : read_reply(c, result))
		session_call_admitted(s, c);
	else if (c->side[1])
		session_call_fail(s, c, -EPROTO,
				  "the daemon's reply lacks call, or stream, "
				  "rtp, pt or out_ssrc of a or b");
	else
		session_fail(s, -EPROTO,
			     "the daemon's reply to call.start lacks call, "
			     "ssrc, rtp, out.ssrc or out.ts_base");
}

static void ask_for_call(struct session *s, struct feeder_call *c)
{
	request(s, c, "call.start", session_call_params(s, c), on_started);
}

static void on_changed(void *arg, const json_t *result, const json_t *error)
{
	struct session_request *r = arg;
	const char *why = json_string_value(json_object_get(error, "message"));

	if (!result && !r->session->failed)
		session_call_fail(r->session, r->call, -EPROTO,
				  why ? why : "no reason");
	free(r);
}

/* Signal the address to which the party of @st is about to change. */
static void signal_due(struct session *s, struct feeder_stream *st, cr_ns now)
{
	struct phone *p = st->phone;
	unsigned next = p->signalled + 1;
	struct sockaddr_storage at;
	socklen_t size = sizeof(at);
	char text[PORT_TEXT];

	if (!st->flow->party.port.signalled || next >= p->nports ||
	    s->epoch + phone_moves(st->flow, st->plan, next) - SIGNAL_LEAD >
		    now)
		return;
	p->signalled = next;
	(void)getsockname(p->ports[next].fd, (struct sockaddr *)&at, &size);
	(void)address_text(&at, text, sizeof(text));
	request(s, st->call, "call.change",
		json_pack("{s:I,s:{s:s}}", "call", (json_int_t)st->call->id,
			  sides[st->flow->party.side], "address", text),
		on_changed);
}

/* The call is over when both streams have been reported as ended, or the wait
 * for that has timed out. */
static void continue_two_way(struct session *s, struct feeder_call *c,
			     cr_ns now)
{
	if (c->state == CALL_ACTIVE) {
		signal_due(s, c->side[0], now);
		signal_due(s, c->side[1], now);
		return;
	}
	if (!c->close_at && (c->ended == 2 || now >= c->patience))
		c->close_at = now + LAST_PACKETS;
	if (c->close_at && now >= c->close_at)
		session_call_over(s, c);
}

static void on_stopped(void *arg, const json_t *result, const json_t *error)
{
	struct session_request *r = arg;
	struct feeder_call *c = r->call;

	(void)error; /* it has ended already: as good */
	if (c->side[1]) {
		json_decref(c->reported);
		c->reported = json_incref((json_t *)result);
	} else {
		c->side[0]->counts = json_incref(json_object_get(
			json_array_get(json_object_get(result, "streams"), 0),
			"count"));
		session_call_over(r->session, c);
	}
	free(r);
}

static void ask_to_stop_call(struct session *s, struct feeder_call *c)
{
	c->patience = clock_now() + s->cfg.peer_timeout + ASK;
	request(s, c, "call.stop",
		json_pack("{s:I}", "call", (json_int_t)c->id), on_stopped);
}

const struct session_peer session_control = {
	.greet = greet_daemon,
	.take_of = daemon_share_of,
	.begin = start_daemon_trace,
	.start = ask_for_call,
	.stop = ask_to_stop_call,
	.go_on = continue_two_way,
	.leave = say_bye_to_daemon,
	.hang_up = hang_up_daemon,
};
