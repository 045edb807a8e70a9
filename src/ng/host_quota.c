/* SPDX-License-Identifier: Apache-2.0 */
#include "ng/host_quota.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"

struct ng_share {
	RB_ENTRY(ng_share) by_host;
	struct in6_addr host;
	unsigned users; /* dues that are on it */
	unsigned lines, ringing;
	size_t octets;
};

static int share_cmp(struct ng_share *a, struct ng_share *b)
{
	return memcmp(&a->host, &b->host, sizeof(a->host));
}

RB_PROTOTYPE(ng_share_tree, ng_share, by_host, share_cmp)
RB_GENERATE(ng_share_tree, ng_share, by_host, share_cmp)

int ng_due_open(struct ng_host_quota *s, struct ng_due *d,
		const struct sockaddr_storage *host, struct cr_err *e)
{
	struct ng_share key = { .host = address_mapped(host) };
	struct ng_share *of = RB_FIND(ng_share_tree, &s->tree, &key);

	if (!of) {
		of = calloc(1, sizeof(*of));
		if (!of)
			return cr_fail(e, -ENOMEM, "out of memory for a host");
		of->host = key.host;
		(void)RB_INSERT(ng_share_tree, &s->tree, of);
	}
	of->users++;
	*d = (struct ng_due){ .share = of };
	return 0;
}

static int check_lines(const struct ng_host_quota *s, const struct ng_share *of,
		       unsigned more, struct cr_err *e)
{
	if (more > s->most.lines_of_host - of->lines)
		return cr_fail(e, -ENOSPC,
			       "the calls of this host have %u media lines "
			       "(--ng-host-lines %u)",
			       of->lines, s->most.lines_of_host);
	if (more > s->most.lines - s->lines)
		return cr_fail(e, -ENOSPC,
			       "all calls have %u media lines (--ng-lines %u)",
			       s->lines, s->most.lines);
	return 0;
}

static int check_octets(const struct ng_host_quota *s,
			const struct ng_share *of, size_t more,
			struct cr_err *e)
{
	if (more > s->most.lines_of_host * NG_LINE_OCTETS - of->octets)
		return cr_fail(e, -ENOSPC,
			       "the descriptions of this host's calls take too "
			       "much memory (--ng-host-lines %u)",
			       s->most.lines_of_host);
	if (more > s->most.lines * NG_LINE_OCTETS - s->octets)
		return cr_fail(e, -ENOSPC,
			       "the descriptions of all calls take too much "
			       "memory (--ng-lines %u)",
			       s->most.lines);
	return 0;
}

int ng_due_change(struct ng_host_quota *s, struct ng_due *d, unsigned lines,
		  size_t octets, struct cr_err *e)
{
	int err = 0;

	if (lines > d->lines)
		err = check_lines(s, d->share, lines - d->lines, e);
	if (!err && octets > d->octets)
		err = check_octets(s, d->share, octets - d->octets, e);
	if (err)
		return err;
	s->lines += lines - d->lines;
	s->octets += octets - d->octets;
	d->share->lines += lines - d->lines;
	d->share->octets += octets - d->octets;
	d->lines = lines;
	d->octets = octets;
	return 0;
}

int ng_due_ring(struct ng_host_quota *s, struct ng_due *d, bool rings,
		struct cr_err *e)
{
	if (rings == d->rings)
		return 0;
	if (rings && d->share->ringing >= s->most.offers_of_host)
		return cr_fail(e, -ENOSPC,
			       "%u offers of this host wait for an answer "
			       "(--ng-host-offers %u)",
			       d->share->ringing, s->most.offers_of_host);
	d->rings = rings;
	d->share->ringing += rings ? 1 : -1u;
	return 0;
}

unsigned ng_due_ringing(const struct ng_due *d)
{
	return d->share ? d->share->ringing : 0;
}

void ng_due_close(struct ng_host_quota *s, struct ng_due *d)
{
	struct ng_share *of = d->share;
	struct cr_err e;

	if (!of)
		return;
	(void)ng_due_change(s, d, 0, 0, &e);
	(void)ng_due_ring(s, d, false, &e);
	d->share = NULL;
	if (--of->users)
		return;
	(void)RB_REMOVE(ng_share_tree, &s->tree, of);
	free(of);
}
