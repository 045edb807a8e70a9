/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A codec-runner, by its own protocol: the connection, what one call takes, the
 * first and the last words, and its calls.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/clock.h"
#include "feeder/session_impl.h"
#include "protocol/field.h"
#include "protocol/tables/call.h"
#include "rpc/server.h"
#include "run/run.h"

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

static void on_notified(void *arg, const char *method, const json_t *params)
{
	struct session *s = arg;

	if (s->conversions && !strcmp(method, "convert.ended"))
		conversions_ended(s->conversions, params, clock_now());
	if (!strcmp(method, "call.ended"))
		session_talk_ended(s, params);
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

/* What one call of @f takes of one worker: the daemon says it in its reply to
 * call.start, from costs measured on its machine. */
static int probe_call(struct session *s, const struct campaign_flow *f,
		      double *load, struct cr_err *e)
{
	json_t *r = NULL, *stopped = NULL;
	int rc = session_ask(s, "call.start",
			     session_call_params(s, f, 0, s->ports.address), &r,
			     e);

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

/* Does the daemon convert files at all? */
static int check_spool(struct session *s, struct cr_err *e)
{
	json_t *stats = NULL;
	int rc = session_ask(s, "stats", NULL, &stats, e);

	if (!rc && !json_is_object(json_object_get(stats, "conversions")))
		rc = cr_fail(e, -ENOTSUP,
			     "conversions: the daemon was started without "
			     "--spool, so it converts no files");
	json_decref(stats);
	return rc;
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
	int rc = rpc_client_open(&s->rpc, &cfg, e);

	if (!rc)
		rc = session_ask(s, "hello",
				 json_pack("{s:s, s:s*}", "client",
					   "codec-feeder", "key", key),
				 &s->hello, e);
	return !rc && s->conversions ? check_spool(s, e) : rc;
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

/* The daemon's last words; what it does not say is left out. */
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

/* A pending reply's context; the call knows its session by it. */
struct pending {
	struct session *session;
	struct feeder_call *call;
};

json_t *session_endpoint_json(const struct campaign_endpoint *endpoint)
{
	json_t *o = json_object();

	run_put(o, "codec", json_string(endpoint->codec->name));
	run_put(o, "mode",
		json_string(endpoint->codec->modes[endpoint->cfg.mode].name));
	if (endpoint->cfg.sample_rate)
		run_put(o, "rate", json_integer(endpoint->cfg.sample_rate));
	if (endpoint->octet_align)
		run_put(o, "octet_align", json_true());
	if (endpoint->cfg.dtx)
		run_put(o, "dtx", json_true());
	if (endpoint->cfg.complexity)
		run_put(o, "complexity",
			json_integer(endpoint->cfg.complexity - 1));
	if (endpoint->cfg.fec)
		run_put(o, "fec", json_integer(endpoint->cfg.fec));
	if (endpoint->cfg.spin)
		run_put(o, "spin_us",
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

	run_put(o, "model", json_string(names[r->kind]));
	if (r->kind == RELEASE_RATE) {
		run_put(o, "x", json_integer(r->x));
		run_put(o, "y_ms", json_real((double)r->y / CR_MS));
	}
	if (r->kind == RELEASE_LBAP && !k->burst)
		run_put(o, "burst", json_integer(r->burst));
	return o;
}

void session_put_terms(json_t *o, const struct campaign_flow *flow, cr_ns ptime)
{
	static const char *const classes[] = { "hard", "soft", "best-effort" };

	if (ptime)
		run_put(o, "ptime_ms", json_real((double)ptime / CR_MS));
	run_put(o, "class", json_string(classes[flow->terms.cls]));
	if (flow->terms.deadline != CR_NEVER)
		run_put(o, "deadline_ms",
			json_real((double)flow->terms.deadline / CR_MS));
	run_put(o, "contract",
		field_write(contract_fields, &flow->terms.contract));
	run_put(o, "nice", json_integer(flow->terms.nice));
	run_put(o, "weight", json_integer(flow->terms.weight));
}

json_t *session_call_params(const struct session *s,
			    const struct campaign_flow *flow, uint32_t ts_first,
			    const char *address)
{
	json_t *o = json_object(), *in = session_endpoint_json(&flow->in),
	       *out = session_endpoint_json(&flow->out);

	run_put(in, "ts_first", json_integer(ts_first));
	run_put(in, "source", json_string(address));
	run_put(out, "address", json_string(address));
	run_put(o, "in", in);
	run_put(o, "out", out);
	session_put_terms(o, flow, flow->ptime);
	if (flow->release_named)
		run_put(o, "release",
			release_json(&flow->release, &flow->terms.contract));
	run_put(o, "port",
		json_string(campaign_ports_names[s->cfg.daemon_ports]));
	return o;
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

/* The reply's numbers into the call; false when one is missing. */
static bool read_reply(struct feeder_call *c, const json_t *r,
		       struct match_cfg *m)
{
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
	    address_parse(address, &c->to))
		return false;
	c->pt = (uint8_t)pt;
	c->ssrc = (uint32_t)ssrc;
	c->ssrc_out = (uint32_t)ssrc_out;
	m->ts_base = (uint32_t)base;
	return true;
}

/* The daemon has acknowledged: let it run. */
static void read_admitted(struct session *s, struct feeder_call *c,
			  const json_t *r)
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
		read_admitted(p->session, p->call, result);
	else
		session_refused(p->session, p->call, error);
	free(p);
}

static int request_call(struct session *s, struct feeder_call *c,
			const char *method, json_t *params, rpc_reply_fn *reply)
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

/* As of struct session_peer. */
static void ask_for_call(struct session *s, struct feeder_call *c,
			 const char *address)
{
	int rc = request_call(
		s, c, "call.start",
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

static void ask_to_stop_call(struct session *s, struct feeder_call *c)
{
	int rc = request_call(s, c, "call.stop",
			      json_pack("{s:I}", "call", (json_int_t)c->id),
			      on_stopped);

	if (rc)
		session_fail(s, rc, "call.stop: %s", strerror(-rc));
}

const struct session_peer session_control = {
	.greet = greet_daemon,
	.take_of = daemon_share_of,
	.begin = start_daemon_trace,
	.start = ask_for_call,
	.stop = ask_to_stop_call,
	.leave = say_bye_to_daemon,
	.hang_up = hang_up_daemon,
};
