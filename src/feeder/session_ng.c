/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls by the NG protocol. A call is two parties, who both are we: the caller
 * says its speech from a port of its own, the one who is called hears it at
 * another.
 *
 *   offer  {call-id, from-tag, sdp: of the caller, codec {mask, transcode}}
 *     -> {sdp}  what the other one is offered: whence it will hear, and the
 *               payload type
 *   answer {call-id, from-tag, to-tag, sdp: of who is called}
 *     -> {sdp}  where the caller is to send
 *   delete {call-id, from-tag}
 *
 * What is heard has numbers of the proxy's own choice: its first packet is
 * taken for the answer to the first one that was sent.
 */
#include "feeder/session_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "feeder/peer_ng.h"

/* So long a run that broke off waits for the ends of its calls. */
#define FAREWELL (2 * CR_SEC)
/* Interval of pings: media alone do not show that the proxy is alive. */
#define WATCH CR_SEC

/* --- what cannot be --- */

static int refuse_unsupported(const char *what, struct cr_err *e)
{
	return cr_fail(e, -ENOTSUP, "%s, by NG: a media proxy has none", what);
}

int session_ng_check(const struct session_cfg *cfg, struct cr_err *e)
{
	const struct campaign *c = cfg->campaign;
	int rc = 0;

	if (c->conversions.count)
		return refuse_unsupported("conversions", e);
	if (cfg->trace)
		return refuse_unsupported("--trace", e);
	for (unsigned f = 0; f < c->flow_count && !rc; f++)
		rc = peer_sdp_check(&c->flows[f], e);
	if (!rc && cfg->ports != PORTS_OWN)
		rc = cr_fail(e, -ENOTSUP,
			     "by NG, every call has ports of its own: use "
			     "--ports own, or ports: own in the campaign");
	return rc;
}

/* --- the whole run --- */

static const char *ng_result_of(const json_t *answer)
{
	const char *result =
		json_string_value(json_object_get(answer, "result"));

	return result ? result : "no result";
}

static int ping_proxy(struct session *s, struct cr_err *e)
{
	struct sockaddr_storage to;
	struct cr_err why = { "" };
	json_t *answer = NULL;
	int rc = address_parse(s->cfg.ng, &to);

	if (rc)
		return cr_fail(e, rc, "--ng %s: needs ADDR:PORT", s->cfg.ng);
	rc = peer_ng_open(&s->ng, s->base, &to, e);
	if (rc)
		return rc;
	rc = peer_ng_wait(s->ng, json_pack("{s:s}", "command", "ping"), &answer,
			  &why);
	if (rc)
		return cr_fail(e, rc,
			       "ping: %.400s; does it listen for NG at "
			       "%s?",
			       why.text, s->cfg.ng);
	if (strcmp(ng_result_of(answer), "pong"))
		rc = cr_fail(e, -EPROTO, "ping is answered by %.100s, not pong",
			     ng_result_of(answer));
	json_decref(answer);
	return rc;
}

static int proxy_share_of(struct session *s, const struct campaign_flow *flow,
			  double *share, double *workers, struct cr_err *e)
{
	(void)s, (void)share, (void)workers;
	return cr_fail(e, -ENOTSUP,
		       "NG does not tell what a call takes: say how many calls "
		       "flow %s is (--count)",
		       flow->name);
}

static void on_proxy_seen(void *arg, const json_t *answer, const char *why)
{
	struct session *s = arg;

	if (!answer && !s->leaving)
		session_fail(s, -ECONNRESET, "the proxy at %s is gone: %s",
			     s->cfg.ng, why);
}

static int watch_proxy(struct session *s, struct cr_err *e)
{
	(void)e;
	peer_ng_watch(s->ng, WATCH, on_proxy_seen, s);
	return 0;
}

/* Some say much, and some nothing. */
static void save_statistics(struct session *s)
{
	struct cr_err e;

	s->leaving = true;
	(void)peer_ng_wait(s->ng, json_pack("{s:s}", "command", "statistics"),
			   &s->stats, &e);
}

/* --- a call --- */

static json_t *request_json(const struct session *s,
			    const struct feeder_call *c, const char *command)
{
	char id[64];

	(void)snprintf(id, sizeof(id), "codec-feeder-%s-%lld",
		       peer_ng_tag(s->ng), (long long)c->id);
	return json_pack("{s:s,s:s,s:s}", "command", command, "call-id", id,
			 "from-tag", "caller");
}

static json_t *deletion_json(const struct session *s,
			     const struct feeder_call *c)
{
	json_t *o = request_json(s, c, "delete");

	(void)json_object_set_new(o, "delete-delay", json_integer(0));
	return o;
}

static json_t *described_json(const struct session *s,
			      const struct feeder_call *c, const char *command,
			      const char *sdp)
{
	json_t *o = request_json(s, c, command);

	(void)json_object_set_new(o, "sdp", json_string(sdp));
	(void)json_object_set_new(o, "ICE", json_string("remove"));
	(void)json_object_set_new(
		o, "replace",
		json_pack("[s,s]", "origin", "session-connection"));
	(void)json_object_set_new(o, "supports",
				  json_pack("[s]", "load limit"));
	return o;
}

static void ask_proxy(struct session *s, struct feeder_call *c, json_t *body,
		      peer_ng_reply_fn *reply)
{
	struct session_request *a = malloc(sizeof(*a));
	int rc = -ENOMEM;

	if (a) {
		*a = (struct session_request){ s, c };
		rc = peer_ng_ask(s->ng, body, reply, a);
	} else {
		json_decref(body);
	}
	if (!rc)
		return;
	free(a);
	session_fail(s, rc, "NG: %s", strerror(-rc));
}

static void on_gone(void *arg, const json_t *answer, const char *why)
{
	(void)arg, (void)answer, (void)why; /* it was to be gone */
}

static void forget_call(struct session *s, const struct feeder_call *c)
{
	(void)peer_ng_ask(s->ng, deletion_json(s, c), on_gone, NULL);
}

/* No answer, or no good one: full is full, and all else ends the run, and then
 * hang_up() has the call deleted. */
static void refuse_call(struct session *s, struct feeder_call *c,
			const char *command, const json_t *answer,
			const char *why)
{
	const json_t *reason = json_object_get(answer, "error-reason");
	bool full = answer && !strcmp(ng_result_of(answer), "load limit");

	if (!json_is_string(reason))
		reason = json_object_get(answer, "message");
	if (!why)
		why = json_is_string(reason) ? json_string_value(reason)
					     : ng_result_of(answer);
	if (!full) {
		session_fail(s, -EPROTO, "%s (flow %s): %s", command,
			     flow_title(c->side[0]->flow), why);
		return;
	}
	forget_call(s, c);
	session_call_refused(s, c, why);
}

/* The call that was asked about, or NULL: the run is over, and hang_up() has it
 * deleted, as the proxy may have it. */
static struct feeder_call *answered_call(const struct session_request *a)
{
	return a->session->failed ? NULL : a->call;
}

static int read_answer_sdp(const json_t *answer,
			   const struct codec_use *endpoint,
			   struct sockaddr_storage *at, uint8_t *pt,
			   struct cr_err *e)
{
	const char *sdp = json_string_value(json_object_get(answer, "sdp"));
	unsigned type;
	int rc = sdp ? peer_sdp_read(sdp, endpoint, at, &type, e)
		     : cr_fail(e, -EPROTO, "it has no sdp");

	if (!rc)
		*pt = (uint8_t)type;
	return rc;
}

static void on_answered(void *arg, const json_t *answer, const char *why)
{
	struct session_request *a = arg;
	struct session *s = a->session;
	struct feeder_call *c = answered_call(a);
	struct feeder_stream *st;
	struct cr_err e;

	free(a);
	if (!c)
		return;
	if (!answer || strcmp(ng_result_of(answer), "ok")) {
		refuse_call(s, c, "answer", answer, why);
		return;
	}
	st = c->side[0];
	if (read_answer_sdp(answer, &st->flow->in, &st->to, &st->pt, &e)) {
		refuse_call(s, c, "answer", NULL, e.text);
		return;
	}
	st->by_port = true;
	session_call_admitted(s, c);
}

static void on_offered(void *arg, const json_t *answer, const char *why)
{
	struct session_request *a = arg;
	struct session *s = a->session;
	struct feeder_call *c = answered_call(a);
	char sdp[PEER_SDP_BYTES];
	struct feeder_stream *st;
	json_t *body;
	struct cr_err e;

	free(a);
	if (!c)
		return;
	if (!answer || strcmp(ng_result_of(answer), "ok")) {
		refuse_call(s, c, "offer", answer, why);
		return;
	}
	st = c->side[0];
	if (read_answer_sdp(answer, &st->flow->out, &st->from, &st->pt_out,
			    &e)) {
		refuse_call(s, c, "offer", NULL, e.text);
		return;
	}
	if (peer_sdp_write(sdp, &st->flow->out, st->pt_out,
			   call_out_frame(st->flow), st->address)) {
		session_fail(s, -EINVAL, "no description of %s", st->address);
		return;
	}
	body = described_json(s, c, "answer", sdp);
	(void)json_object_set_new(body, "to-tag", json_string("called"));
	ask_proxy(s, c, body, on_answered);
}

static void offer_call(struct session *s, struct feeder_call *c)
{
	char sdp[PEER_SDP_BYTES], codec[160], from[PORT_TEXT];
	struct feeder_stream *st = c->side[0];
	struct cr_err e = { "" };
	json_t *body;
	int rc = ports_give_own(&s->ports, &st->caller, from, &e);

	c->id = st->id = (int64_t)(c - s->calls) + 1;
	if (rc) {
		session_call_fail(s, c, rc, e.text);
		return;
	}
	if (peer_sdp_write(sdp, &st->flow->in, peer_sdp_pt(&st->flow->in),
			   st->flow->ptime, from)) {
		session_fail(s, -EINVAL, "no description of %s", from);
		return;
	}
	peer_sdp_codec(codec, sizeof(codec), &st->flow->out);
	body = described_json(s, c, "offer", sdp);
	(void)json_object_set_new(
		body, "codec",
		json_pack("{s:[s],s:[s]}", "mask", "all", "transcode", codec));
	ask_proxy(s, c, body, on_offered);
}

static void on_deleted(void *arg, const json_t *answer, const char *why)
{
	struct session_request *a = arg;
	struct feeder_call *c = answered_call(a);

	(void)answer; /* it has ended already: as good */
	if (c && why)
		session_fail(a->session, -ETIMEDOUT, "delete: %s", why);
	else if (c)
		session_call_over(a->session, c);
	free(a);
}

static void delete_call(struct session *s, struct feeder_call *c)
{
	ask_proxy(s, c, deletion_json(s, c), on_deleted);
}

/* A run that broke off leaves no calls behind. */
static void hang_up_proxy(struct session *s)
{
	if (!s->ng)
		return;
	peer_ng_give_up(s->ng);
	for (size_t i = 0; s->calls && i < s->next_start; i++) {
		enum feeder_call_state state = s->calls[i].state;

		/* the proxy has it, for all that is known */
		if (state == CALL_STARTING || state == CALL_ACTIVE ||
		    state == CALL_STOPPING)
			forget_call(s, &s->calls[i]);
	}
	peer_ng_settle(s->ng, FAREWELL);
	peer_ng_close(s->ng);
}

const struct session_peer session_ng = {
	.greet = ping_proxy,
	.take_of = proxy_share_of,
	.begin = watch_proxy,
	.start = offer_call,
	.stop = delete_call,
	.leave = save_statistics,
	.hang_up = hang_up_proxy,
};
