/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call's dealings with a codec-runner:
 *
 *   call.start {in {codec, mode, ts_first, ...}, out {codec, mode, address,
 *               ...}, ptime, class, deadline, release, contract, nice,
 *               weight, port}
 *     -> {call, rtp {address, ssrc, pt}, out {ssrc, pt, ts_base}, load}
 *   call.stop {call} -> {count {...}}
 *
 * The daemon maps timestamps from in.ts_first to out.ts_base.
 */
#include "feeder/session_control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "protocol/field_json.h"
#include "protocol/tables/call.h"
#include "rpc/server.h"

/* A pending reply's context; the call knows its session by it. */
struct pending {
	struct session *session;
	struct feeder_call *call;
};

static void put(json_t *o, const char *key, json_t *value)
{
	(void)json_object_set_new(o, key, value);
}

json_t *session_endpoint_json(const struct campaign_endpoint *endpoint)
{
	json_t *o = json_object();

	put(o, "codec", json_string(endpoint->codec->name));
	put(o, "mode",
	    json_string(endpoint->codec->modes[endpoint->cfg.mode].name));
	if (endpoint->cfg.sample_rate)
		put(o, "rate", json_integer(endpoint->cfg.sample_rate));
	if (endpoint->octet_align)
		put(o, "octet_align", json_true());
	if (endpoint->cfg.dtx)
		put(o, "dtx", json_true());
	if (endpoint->cfg.complexity)
		put(o, "complexity",
		    json_integer(endpoint->cfg.complexity - 1));
	if (endpoint->cfg.fec)
		put(o, "fec", json_integer(endpoint->cfg.fec));
	if (endpoint->cfg.spin)
		put(o, "spin_us",
		    json_real((double)endpoint->cfg.spin / CR_US));
	return o;
}

/* A burst is said once: in the contract @k, if it has one. */
static json_t *release_json(const struct campaign_release *r,
			    const struct contract *k)
{
	static const char *const names[] = { "sporadic", "periodic", "rate",
					     "lbap" };
	json_t *o = json_object();

	put(o, "model", json_string(names[r->kind]));
	if (r->kind == RELEASE_RATE) {
		put(o, "x", json_integer(r->x));
		put(o, "y_ms", json_real((double)r->y / CR_MS));
	}
	if (r->kind == RELEASE_LBAP && !k->burst)
		put(o, "burst", json_integer(r->burst));
	return o;
}

void session_put_terms(json_t *o, const struct campaign_flow *flow, cr_ns ptime)
{
	static const char *const classes[] = { "hard", "soft", "best-effort" };

	if (ptime)
		put(o, "ptime_ms", json_real((double)ptime / CR_MS));
	put(o, "class", json_string(classes[flow->terms.cls]));
	if (flow->terms.deadline != CR_NEVER)
		put(o, "deadline_ms",
		    json_real((double)flow->terms.deadline / CR_MS));
	put(o, "contract", field_write(contract_fields, &flow->terms.contract));
	put(o, "nice", json_integer(flow->terms.nice));
	put(o, "weight", json_integer(flow->terms.weight));
}

json_t *session_call_params(const struct session *s,
			    const struct campaign_flow *flow, uint32_t ts_first,
			    const char *address)
{
	json_t *o = json_object(), *in = session_endpoint_json(&flow->in),
	       *out = session_endpoint_json(&flow->out);

	put(in, "ts_first", json_integer(ts_first));
	put(in, "source", json_string(address));
	put(out, "address", json_string(address));
	put(o, "in", in);
	put(o, "out", out);
	session_put_terms(o, flow, flow->ptime);
	if (flow->release_named)
		put(o, "release",
		    release_json(&flow->release, &flow->terms.contract));
	put(o, "port", json_string(campaign_ports_names[s->cfg.daemon_ports]));
	return o;
}

static bool integer(const json_t *o, const char *key, int64_t max, int64_t *out)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_integer(v) || json_integer_value(v) < 0 ||
	    json_integer_value(v) > max)
		return false;
	*out = json_integer_value(v);
	return true;
}

/* The reply's numbers into the call; false when one is missing. */
static bool read_reply(struct feeder_call *c, const json_t *r,
		       struct match_cfg *m)
{
	const json_t *out = json_object_get(r, "out");
	const json_t *rtp = json_object_get(r, "rtp");
	const char *address =
		json_string_value(json_object_get(rtp, "address"));
	int64_t ssrc, ssrc_out, base, pt;

	if (!integer(r, "call", INT64_MAX, &c->id) ||
	    !integer(rtp, "ssrc", UINT32_MAX, &ssrc) ||
	    !integer(rtp, "pt", 127, &pt) ||
	    !integer(out, "ssrc", UINT32_MAX, &ssrc_out) ||
	    !integer(out, "ts_base", UINT32_MAX, &base) || !address ||
	    address_parse(address, &c->to))
		return false;
	c->pt = (uint8_t)pt;
	c->ssrc = (uint32_t)ssrc;
	c->ssrc_out = (uint32_t)ssrc_out;
	m->ts_base = (uint32_t)base;
	return true;
}

/* The daemon has acknowledged: let it run. */
static void admitted(struct session *s, struct feeder_call *c, const json_t *r)
{
	struct match_cfg m = session_match_cfg(c->flow);

	if (read_reply(c, r, &m))
		session_call_admitted(s, c, &m);
	else
		session_fail(s, -EPROTO,
			     "the daemon's reply to call.start "
			     "lacks call, ssrc, rtp, out.ssrc or "
			     "out.ts_base");
}

void session_refused(struct session *s, struct feeder_call *c, const json_t *e)
{
	const char *why = json_string_value(json_object_get(e, "message"));
	json_int_t code = json_integer_value(json_object_get(e, "code"));

	session_call_refused(s, c, why ? why : "?");
	if (code != RPC_NO_CAPACITY && code != RPC_DRAINING)
		session_fail(s, -EPROTO, "%s.start (flow %s): %s",
			     c->talk ? "conversation" : "call",
			     campaign_title(c->flow),
			     why ? why : "error without reason");
}

static void on_started(void *arg, const json_t *result, const json_t *error)
{
	struct pending *p = arg;

	if (p->session->failed)
		p->call->state = CALL_REFUSED;
	else if (result)
		admitted(p->session, p->call, result);
	else
		session_refused(p->session, p->call, error);
	free(p);
}

static int request(struct session *s, struct feeder_call *c, const char *method,
		   json_t *params, rpc_reply_fn *reply)
{
	struct pending *p = malloc(sizeof(*p));
	int rc;

	if (!p) {
		json_decref(params);
		return -ENOMEM;
	}
	*p = (struct pending){ s, c };
	rc = rpc_client_call(s->rpc, method, params, reply, p);
	if (rc)
		free(p);
	return rc;
}

void session_control_start(struct session *s, struct feeder_call *c,
			   const char *address)
{
	int rc = request(s, c, "call.start",
			 session_call_params(s, c->flow, c->ts_first, address),
			 on_started);

	if (rc)
		session_fail(s, rc, "call.start: %s", strerror(-rc));
}

static void on_stopped(void *arg, const json_t *result, const json_t *error)
{
	struct pending *p = arg;

	(void)error; /* it has ended already: as good */
	p->call->counts = json_incref(json_object_get(result, "count"));
	session_call_over(p->session, p->call);
	free(p);
}

void session_control_stop(struct session *s, struct feeder_call *c)
{
	int rc = request(s, c, "call.stop",
			 json_pack("{s:I}", "call", (json_int_t)c->id),
			 on_stopped);

	if (rc)
		session_fail(s, rc, "call.stop: %s", strerror(-rc));
}
