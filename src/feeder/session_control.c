/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A codec-runner, by its own protocol: the connection, what one call takes, the
 * first and the last words. Its calls: session_control_call.c.
 */
#include "feeder/session_control.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"

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

static int connect_daemon(struct session *s, struct cr_err *e)
{
	struct rpc_client_config cfg = { .base = s->base,
					 .to = s->cfg.to,
					 .kind = s->cfg.kind,
					 .peer_timeout = s->cfg.peer_timeout,
					 .arg = s,
					 .up = on_up,
					 .down = on_down,
					 .notified = on_notified };

	return rpc_client_open(&s->rpc, &cfg, e);
}

int session_ask(struct session *s, const char *method, json_t *params,
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
static int probe(struct session *s, const struct campaign_flow *f, double *load,
		 struct cr_err *e)
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

static int take_of(struct session *s, const struct campaign_flow *flow,
		   double *share, double *workers, struct cr_err *e)
{
	const json_t *capacity = json_object_get(s->hello, "capacity");

	*workers = json_number_value(json_object_get(capacity, "workers"));
	if (*workers < 1)
		return cr_fail(e, -EPROTO,
			       "the daemon does not tell its workers; give "
			       "flow %s a count",
			       flow->name);
	return probe(s, flow, share, e);
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

static int greet(struct session *s, struct cr_err *e)
{
	const char *key = s->cfg.key && *s->cfg.key ? s->cfg.key : NULL;
	int rc = connect_daemon(s, e);

	if (!rc)
		rc = session_ask(s, "hello",
				 json_pack("{s:s, s:s*}", "client",
					   "codec-feeder", "key", key),
				 &s->hello, e);
	return !rc && s->conversions ? check_spool(s, e) : rc;
}

static int begin(struct session *s, struct cr_err *e)
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
static void say_goodbye(struct session *s)
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

static void hang_up(struct session *s)
{
	rpc_client_close(s->rpc);
}

const struct session_peer session_control = {
	.greet = greet,
	.take_of = take_of,
	.begin = begin,
	.start = session_control_start,
	.stop = session_control_stop,
	.leave = say_goodbye,
	.hang_up = hang_up,
};
