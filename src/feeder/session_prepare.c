/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes before the first call: speech, socket, connection, and from the
 * daemon's capacity and the campaign's loads the plan.
 */
#include "feeder/session_impl.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "campaign/counts.h"
#include "base/clock.h"

/* A reply may take so much longer than the daemon may stall: only the
 * association tells that it is lost. */
#define ASK (5 * CR_SEC)

/* ---- speech ---- */

static void on_segment(void *arg, unsigned done, unsigned total)
{
	struct session_progress p = { .phase = "encoding speech: segments",
				      .done = done,
				      .total = total };

	session_show(arg, &p);
}

static int open_sources(struct session *s, struct cr_err *e)
{
	const struct campaign *c = s->cfg.campaign;
	int rc = 0;

	for (unsigned f = 0; f < c->flow_count && !rc; f++) {
		struct source_cfg cfg = {
			.flow = &c->flows[f],
			.base = c->path,
			.seed = s->cfg.seed,
			.duration = s->cfg.duration,
			.progress = on_segment,
			.arg = s,
		};
		unsigned k = 0;

		while (k < f && !source_fits(&c->flows[k], &c->flows[f]))
			k++;
		if (k < f)
			s->sources[f] = s->sources[k];
		else
			rc = source_open(&s->sources[f], &cfg, e);
	}
	return rc;
}

/* ---- connection ---- */

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

/* Our address as the daemon will see it: what the kernel would use. */
static int find_local(struct session *s, struct sockaddr_storage *local,
		      struct cr_err *e)
{
	struct addrinfo hints = { .ai_socktype = SOCK_DGRAM }, *ai = NULL;
	socklen_t n = sizeof(*local);
	int rc = getaddrinfo(s->cfg.to.host, "9", &hints, &ai);
	int fd = -1;

	if (rc)
		return cr_fail(e, -EHOSTUNREACH, "%s: %s", s->cfg.to.host,
			       gai_strerror(rc));
	fd = socket(ai->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, ai->ai_addr, ai->ai_addrlen) ||
	    getsockname(fd, (struct sockaddr *)local, &n))
		rc = cr_fail(e, -errno, "%s: %s", s->cfg.to.host,
			     strerror(errno));
	if (fd >= 0)
		(void)close(fd);
	freeaddrinfo(ai);
	address_set_port(local, 0);
	return rc;
}

static int open_common_port(struct session *s, struct cr_err *e)
{
	struct sockaddr_storage local;
	int rc = find_local(s, &local, e);

	return rc ? rc : ports_open(&s->ports, s->cfg.ports, &local, e);
}

/* ---- loads ---- */

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

/* What calls of flow @f take, and of how many workers. */
static int probe_share(struct session *s, unsigned f, double *share,
		       double *workers, struct cr_err *e)
{
	const struct campaign_flow *flow = &s->cfg.campaign->flows[f];
	const json_t *capacity = json_object_get(s->hello, "capacity");

	*workers = json_number_value(json_object_get(capacity, "workers"));
	if (*workers < 1)
		return cr_fail(e, -EPROTO,
			       "the daemon does not tell its workers; give "
			       "flow %s a count",
			       flow->name);
	return probe(s, flow, share, e);
}

static int find_counts(struct session *s, struct cr_err *e)
{
	const struct campaign *c = s->cfg.campaign;
	double *share = calloc(c->flow_count, sizeof(*share));
	double workers = 1;
	int rc = share ? 0 : cr_fail(e, -ENOMEM, "out of memory");

	if (!rc && s->cfg.counts)
		memcpy(s->counts, s->cfg.counts,
		       c->flow_count * sizeof(*s->counts));
	for (unsigned f = 0; f < c->flow_count && !rc; f++)
		if (!s->counts[f] && campaign_needs_share(c, f))
			rc = probe_share(s, f, &share[f], &workers, e);
	if (!rc)
		rc = campaign_counts(c, share, workers,
				     (double)s->cfg.scale_ppm / CR_PPM,
				     s->counts, e);
	free(share);
	return rc;
}

/* ---- conversions ---- */

static void on_file(void *arg, unsigned done, unsigned total)
{
	struct session_progress p = { .phase = "recordings to convert: files",
				      .done = done,
				      .total = total };

	session_show(arg, &p);
}

static void on_failed(void *arg, int err, const char *why)
{
	session_fail(arg, err, "conversions: %s", why);
}

/* Does the daemon convert files at all? */
static int check_spool(struct session *s, struct cr_err *e)
{
	json_t *stats = NULL;
	int rc;

	if (!s->conversions)
		return 0;
	rc = session_ask(s, "stats", NULL, &stats, e);

	if (!rc && !json_is_object(json_object_get(stats, "conversions")))
		rc = cr_fail(e, -ENOTSUP,
			     "conversions: the daemon was started without "
			     "--spool, so it converts no files");
	json_decref(stats);
	return rc;
}

static int open_conversions(struct session *s, struct cr_err *e)
{
	const struct campaign *c = s->cfg.campaign;
	const struct conversions_config cfg = {
		.spool = s->cfg.spool,
		.speech = { c, s->cfg.seed, on_file, s },
		.failed = on_failed,
		.arg = s,
	};

	if (!c->conversions.count)
		return 0;
	return conversions_open(&s->conversions, &cfg, e);
}

/* Can as many calls be up at once as the plan has? */
static int check_ports(struct session *s, struct cr_err *e)
{
	size_t most;
	int rc = plan_most_up(&s->plan, SESSION_LEAD, SESSION_DRAIN, &most);

	return rc ? cr_fail(e, rc, "out of memory")
		  : ports_check(s->cfg.ports, most, e);
}

/* The plan's conversations: of each, both directions. */
static int make_talks(struct session *s, struct cr_err *e)
{
	for (size_t i = 0; i < s->plan.count; i++)
		if (s->plan.calls[i].conversation > s->ntalks)
			s->ntalks = (size_t)s->plan.calls[i].conversation;
	s->talks = calloc(s->ntalks + 1, sizeof(*s->talks));
	if (!s->talks) {
		s->ntalks = 0;
		return cr_fail(e, -ENOMEM, "out of memory for conversations");
	}
	for (size_t i = 0; i < s->plan.count; i++) {
		struct feeder_call *c = &s->calls[i];

		if (!c->plan->conversation)
			continue;
		c->talk = &s->talks[c->plan->conversation - 1];
		c->talk->side[c->flow->party.side] = c;
	}
	return 0;
}

static int make_plan(struct session *s, struct cr_err *e)
{
	struct plan_options o = { .seed = s->cfg.seed,
				  .duration = s->cfg.duration,
				  .counts = s->counts };
	int rc = plan_make(&s->plan, s->cfg.campaign, &o, e);

	if (rc)
		return rc;
	s->calls = calloc(s->plan.count, sizeof(*s->calls));
	if (!s->calls)
		return cr_fail(e, -ENOMEM, "out of memory for %zu calls",
			       s->plan.count);
	for (size_t i = 0; i < s->plan.count; i++) {
		s->calls[i].plan = &s->plan.calls[i];
		s->calls[i].port.fd = -1;
		s->calls[i].flow =
			&s->cfg.campaign->flows[s->plan.calls[i].flow];
	}
	return make_talks(s, e);
}

int session_size(struct session *s, struct cr_err *e)
{
	int rc = open_common_port(s, e);

	if (!rc)
		rc = connect_daemon(s, e);
	if (!rc)
		rc = session_ask(s, "hello",
				 json_pack("{s:s}", "client", "codec-feeder"),
				 &s->hello, e);
	return rc ? rc : find_counts(s, e);
}

/* What takes long comes first: an association whose packets nobody reads is
 * given up by the other side. */
int session_prepare(struct session *s, struct cr_err *e)
{
	int rc = open_sources(s, e);

	if (!rc)
		rc = open_conversions(s, e);
	if (!rc)
		rc = session_size(s, e);
	if (!rc)
		rc = make_plan(s, e);
	if (!rc)
		rc = check_ports(s, e);
	return rc ? rc : check_spool(s, e);
}
