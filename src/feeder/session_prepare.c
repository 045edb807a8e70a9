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

/* ---- ports ---- */

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
			rc = s->peer->take_of(s, &c->flows[f], &share[f],
					      &workers, e);
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
		  : ports_check(s->cfg.ports, s->cfg.ng ? 2 * most : most,
				!s->cfg.ng, e);
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
		s->calls[i].caller.fd = -1;
		s->calls[i].flow =
			&s->cfg.campaign->flows[s->plan.calls[i].flow];
	}
	return make_talks(s, e);
}

int session_size(struct session *s, struct cr_err *e)
{
	int rc = open_common_port(s, e);

	if (!rc)
		rc = s->peer->greet(s, e);
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
	return rc ? rc : check_ports(s, e);
}
