/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receivers of a node, and which call is with which of them.
 */
#include "media/receivers.h"

#include <errno.h>
#include <stdlib.h>

struct receivers {
	unsigned count, nfd;
	struct handover *
		*box; /* NULL: whoever has the shared port has it all */
	unsigned nbox;
	struct receiver {
		struct rx *rx;
		unsigned calls;
	} one[];
};

static int open_one(struct receivers *r, const struct receivers_config *cfg,
		    unsigned i, struct cr_err *warn, struct cr_err *e)
{
	struct rx_config one = cfg->each;

	one.number = i;
	one.fd = i < cfg->nfd ? cfg->fd[i] : -1;
	one.one_of_many = cfg->nfd > 1;
	one.box = r->box;
	one.trace = trace_ring(cfg->trace, cfg->first_ring + i);
	one.cpu = cfg->place[i].cpu;
	one.shares_cpu = cfg->place[i].shares_cpu;
	return rx_open(&r->one[i].rx, &one, warn, e);
}

static int open_boxes(struct receivers *r, unsigned n, struct cr_err *e)
{
	r->box = calloc(n, sizeof(struct handover *));
	for (; r->box && r->nbox < n; r->nbox++) {
		r->box[r->nbox] = handover_new();
		if (!r->box[r->nbox])
			break;
	}
	return r->nbox == n
		       ? 0
		       : cr_fail(e, -ENOMEM, "out of memory for receivers");
}

int receivers_open(struct receivers **out, const struct receivers_config *cfg,
		   struct cr_err *warn, struct cr_err *e)
{
	struct receivers *r =
		calloc(1, sizeof(*r) + cfg->count * sizeof(r->one[0]));
	int err = 0;

	if (!r)
		return cr_fail(e, -ENOMEM, "out of memory for receivers");
	r->nfd = cfg->nfd;
	if (cfg->nfd > 1)
		err = open_boxes(r, cfg->nfd, e);
	for (unsigned i = 0; i < cfg->count && !err; i++) {
		err = open_one(r, cfg, i, warn, e);
		if (!err)
			r->count++;
	}
	if (err) {
		receivers_close(r);
		return err;
	}
	*out = r;
	return 0;
}

void receivers_close(struct receivers *r)
{
	if (!r)
		return;
	/* one that goes on could wake one that is closed */
	for (unsigned i = 0; i < r->count; i++)
		rx_stop(r->one[i].rx);
	while (r->count)
		rx_close(r->one[--r->count].rx);
	while (r->nbox)
		handover_free(r->box[--r->nbox]);
	free(r->box);
	free(r);
}

unsigned receivers_count(const struct receivers *r)
{
	return r->count;
}

const struct rx *receivers_at(const struct receivers *r, unsigned i)
{
	return r->one[i].rx;
}

unsigned receivers_calls(const struct receivers *r, unsigned i)
{
	return r->one[i].calls;
}

unsigned receivers_of_ssrc(const struct receivers *r, uint32_t ssrc)
{
	return ssrc % r->nfd;
}

static unsigned least_of(const struct receivers *r, unsigned n)
{
	unsigned least = 0;

	for (unsigned i = 1; i < n; i++)
		if (r->one[i].calls < r->one[least].calls)
			least = i;
	return least;
}

unsigned receivers_least_shared(const struct receivers *r)
{
	return least_of(r, r->nfd);
}

unsigned receivers_least(const struct receivers *r)
{
	return least_of(r, r->count);
}

void receivers_add(struct receivers *r, const struct call *c)
{
	r->one[c->cfg.receiver].calls++;
}

void receivers_del(struct receivers *r, const struct call *c)
{
	r->one[c->cfg.receiver].calls--;
}

int receivers_add_endpoint(struct receivers *r, struct endpoint *l,
			   struct cr_err *e)
{
	struct receiver *to = &r->one[l->cfg.receiver];
	int err = rx_add_endpoint(to->rx, l, e);

	if (!err)
		to->calls++;
	return err;
}

void receivers_del_endpoint(struct receivers *r, struct endpoint *l)
{
	struct receiver *with = &r->one[l->cfg.receiver];

	rx_del_endpoint(with->rx, l);
	with->calls--;
}

void receivers_gather(struct receivers *r)
{
	for (unsigned i = 0; i < r->count; i++)
		rx_gather(r->one[i].rx);
}

void receivers_notify(struct receivers *r)
{
	for (unsigned i = 0; i < r->count; i++)
		rx_notify(r->one[i].rx);
}
