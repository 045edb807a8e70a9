/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of NG, their dialogs and sides; and what each host that asks has of
 * this node: media lines, each of which takes two endpoints with their ports
 * and descriptors, and memory for what was said of them. One host may not have
 * all of it. Pure but for memory. One thread.
 */
#include "ng/dialog.h"

#include <bsd/sys/tree.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/address.h"
#include "cr/error.h"

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

int ng_due_check(const struct ng_host_quota *s, const struct ng_due *d,
		 unsigned lines, size_t octets, struct cr_err *e)
{
	const struct ng_bounds *most = &s->most;
	const struct ng_share *of = d->share;

	/* beyond what it has */
	lines = lines > d->lines ? lines - d->lines : 0;
	octets = octets > d->octets ? octets - d->octets : 0;
	if (lines > most->lines_of_host - of->lines)
		return cr_fail(e, -ENOSPC,
			       "the calls of this host have %u media lines "
			       "(--ng-host-lines %u)",
			       of->lines, most->lines_of_host);
	if (lines > most->lines - s->lines)
		return cr_fail(e, -ENOSPC,
			       "all calls have %u media lines (--ng-lines %u)",
			       s->lines, most->lines);
	if (octets > most->lines_of_host * NG_LINE_OCTETS - of->octets)
		return cr_fail(e, -ENOSPC,
			       "the descriptions of this host's calls take too "
			       "much memory (--ng-host-lines %u)",
			       most->lines_of_host);
	if (octets > most->lines * NG_LINE_OCTETS - s->octets)
		return cr_fail(e, -ENOSPC,
			       "the descriptions of all calls take too much "
			       "memory (--ng-lines %u)",
			       most->lines);
	return 0;
}

int ng_due_change(struct ng_host_quota *s, struct ng_due *d, unsigned lines,
		  size_t octets, struct cr_err *e)
{
	int err = ng_due_check(s, d, lines, octets, e);

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

struct in6_addr ng_due_host(const struct ng_due *d)
{
	return d->share->host;
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

/* --- calls --- */

int ng_call_cmp(struct ng_call *a, struct ng_call *b)
{
	return strcmp(a->id, b->id);
}

RB_GENERATE(ng_tree, ng_call, by_id, ng_call_cmp)

struct ng_call *ng_call_find(struct ng_calls *c, const char *id)
{
	struct ng_call key = { .id = (char *)(uintptr_t)id };

	return RB_FIND(ng_tree, &c->tree, &key);
}

struct ng_call *ng_call_first(struct ng_calls *c)
{
	return RB_MIN(ng_tree, &c->tree);
}

struct ng_call *ng_call_next(struct ng_call *call)
{
	return RB_NEXT(ng_tree, , call);
}

struct ng_call *ng_call_new(struct ng_calls *c, const char *id)
{
	struct ng_call *call = calloc(1, sizeof(*call));

	if (!call)
		return NULL;
	call->id = strdup(id);
	if (!call->id) {
		free(call);
		return NULL;
	}
	LIST_INIT(&call->sides);
	LIST_INIT(&call->dialogs);
	RB_INSERT(ng_tree, &c->tree, call);
	c->n++;
	return call;
}

void ng_call_free(struct ng_calls *c, struct ng_call *call)
{
	RB_REMOVE(ng_tree, &c->tree, call);
	c->n--;
	free(call->id);
	free(call);
}

/* --- tags --- */

static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool has_tag(const struct ng_side *s, const char *tag)
{
	return tag && s->tag && !strcmp(s->tag, tag);
}

static bool is_between(const struct ng_dialog *d, const char *a, const char *b)
{
	return (has_tag(d->side[0], a) && has_tag(d->side[1], b)) ||
	       (has_tag(d->side[0], b) && has_tag(d->side[1], a));
}

static struct ng_dialog *between(struct ng_call *call, const char *a,
				 const char *b)
{
	struct ng_dialog *d;

	LIST_FOREACH(d, &call->dialogs, link)
	if (is_between(d, a, b))
		return d;
	return NULL;
}

/* Begun by @from, at this branch. */
static struct ng_dialog *at_branch(struct ng_call *call, const char *from,
				   const char *branch)
{
	struct ng_dialog *d;

	LIST_FOREACH(d, &call->dialogs, link)
	if (has_tag(d->side[0], from) && same(d->branch, branch))
		return d;
	return NULL;
}

/* The only one that @from has offered in. */
static struct ng_dialog *only_of(struct ng_call *call, const char *from)
{
	struct ng_dialog *d, *only = NULL;

	LIST_FOREACH(d, &call->dialogs, link)
	if (d->offer && has_tag(d->side[d->offerer], from)) {
		if (only)
			return NULL;
		only = d;
	}
	return only;
}

struct ng_dialog *ng_dialog_of_offer(struct ng_call *call,
				     const struct ng_dialog_key *w)
{
	struct ng_dialog *d;

	if (w->to)
		return between(call, w->from, w->to);
	d = at_branch(call, w->from, w->branch);
	if (d)
		return d;
	/* The newest one that was answered and that w->from is in: the callee
	 * in it offers with a branch of its own; a new branch of the
	 * caller's is a fork. */
	LIST_FOREACH(d, &call->dialogs, link)
	if (d->known && (has_tag(d->side[1], w->from) ||
			 (!w->branch && has_tag(d->side[0], w->from))))
		return d;
	return NULL;
}

/* The branch's, even if another side has answered there before: a request that
 * was forked behind us has several answers (RFC 3261, 13.2.2.4). */
struct ng_dialog *ng_dialog_of_answer(struct ng_call *call,
				      const struct ng_dialog_key *w)
{
	struct ng_dialog *d =
		w->branch ? at_branch(call, w->from, w->branch) : NULL;

	if (!d)
		d = between(call, w->from, w->to);
	if (!d)
		d = at_branch(call, w->from, w->branch);
	if (!d)
		d = only_of(call, w->from);
	return d && d->offer && has_tag(d->side[d->offerer], w->from) ? d
								      : NULL;
}

bool ng_dialog_is_overtaken(struct ng_call *call, const struct ng_dialog_key *w)
{
	const struct ng_dialog *d = between(call, w->from, w->to);

	return d && d->offer && has_tag(d->side[d->offerer], w->to);
}

bool ng_dialog_key_find(const struct ng_dialog_key *asked,
			const struct ng_dialog_key *w)
{
	bool first = same(w->from, asked->from);

	if (w->branch && asked->branch && strcmp(w->branch, asked->branch) != 0)
		return false;
	if (!w->from)
		return true;
	if (!first && !same(w->from, asked->to))
		return false;
	return !w->to || !asked->to ||
	       same(w->to, first ? asked->to : asked->from);
}

/* A side whose tag is not known has never answered. */
bool ng_dialog_matches(const struct ng_dialog *d, const struct ng_dialog_key *w)
{
	if (w->branch && d->branch && strcmp(w->branch, d->branch) != 0)
		return false;
	if (!w->from)
		return true;
	if (!has_tag(d->side[0], w->from) && !has_tag(d->side[1], w->from))
		return false;
	return !w->to || is_between(d, w->from, w->to) || !d->known;
}

unsigned ng_dialog_number(const struct ng_dialog *d, const char *tag)
{
	return !has_tag(d->side[0], tag);
}

/* --- sides and dialogs --- */

static struct ng_side *side_new(struct ng_call *call, const char *tag)
{
	struct ng_side *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	if (tag) {
		s->tag = strdup(tag);
		if (!s->tag) {
			free(s);
			return NULL;
		}
	}
	LIST_INSERT_HEAD(&call->sides, s, link);
	return s;
}

static void side_free(struct ng_side *s)
{
	LIST_REMOVE(s, link);
	free(s->tag);
	free(s->text);
	free(s);
}

static struct ng_side *side_of(struct ng_call *call, const char *tag)
{
	struct ng_side *s;

	LIST_FOREACH(s, &call->sides, link)
	if (has_tag(s, tag))
		return s;
	return side_new(call, tag);
}

static void forget_unused(struct ng_side *s)
{
	if (s && !s->users)
		side_free(s);
}

struct ng_dialog *ng_dialog_new(struct ng_call *call,
				const struct ng_dialog_key *w, cr_ns now)
{
	struct ng_dialog *d = calloc(1, sizeof(*d));
	bool named = w->branch != NULL;

	if (!d)
		return NULL;
	d->call = call;
	d->branch = named ? strdup(w->branch) : NULL;
	d->side[0] = side_of(call, w->from);
	d->side[1] = w->to ? side_of(call, w->to) : side_new(call, NULL);
	if ((named && !d->branch) || !d->side[0] || !d->side[1]) {
		forget_unused(d->side[0]);
		if (d->side[1] != d->side[0])
			forget_unused(d->side[1]);
		free(d->branch);
		free(d);
		return NULL;
	}
	for (unsigned i = 0; i < 2; i++)
		if (!d->side[i]->users++)
			d->side[i]->created = now;
	LIST_INSERT_HEAD(&call->dialogs, d, link);
	return d;
}

static void leave_side(struct ng_side *s,
		       void (*gone)(void *arg, struct ng_side *s), void *arg)
{
	if (--s->users)
		return;
	gone(arg, s);
	side_free(s);
}

void ng_dialog_free(struct ng_dialog *d,
		    void (*gone)(void *arg, struct ng_side *s), void *arg)
{
	LIST_REMOVE(d, link);
	leave_side(d->side[0], gone, arg);
	leave_side(d->side[1], gone, arg);
	for (unsigned i = 0; i < SDP_LINES_MAX; i++) {
		free(d->stream[i].offered.list);
		free(d->stream[i].spoken);
	}
	sdp_free(d->offer);
	free(d->branch);
	free(d->answer);
	free(d->answered);
	free(d);
}

int ng_dialog_tag(struct ng_dialog *d, unsigned i, const char *tag)
{
	struct ng_side *s = d->side[i];
	char *copy;

	if (has_tag(s, tag))
		return 0;
	copy = strdup(tag);
	if (!copy)
		return -ENOMEM;
	free(s->tag);
	s->tag = copy;
	return 0;
}
