/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that wait until it is known what a call costs.
 */
#include "protocol/parked.h"

#include <stdlib.h>

#include "protocol/request.h"

static void answer(struct parked *p, json_t *result, struct rpc_error *err)
{
	LIST_REMOVE(p, link);
	rpc_later_reply(p->later, result, err);
	json_decref(p->params);
	free(p);
}

/* Wait for the rest, if there is one. */
static bool wait_on(struct parked *p, struct rpc_error *e)
{
	if (!p->period)
		return false;
	p->wait.media = p->media;
	p->wait.period = p->period;
	p->period = 0;
	e->code = RPC_INTERNAL;
	return !node_cost_wait(p->service->node, &p->wait, &e->why);
}

static void known(void *arg, int err, const struct cr_err *why)
{
	struct parked *p = arg;
	struct rpc_error e = { 0 };
	json_t *result = NULL;

	if (!err && wait_on(p, &e))
		return;
	if (err) {
		e.code = request_code(err);
		e.why = *why;
	} else if (!e.code) { /* else there was no memory to wait on */
		result = p->run(p->service, p->session, p->params, &e);
	}
	answer(p, result, &e);
}

json_t *parked_begin(struct service *sv, struct rpc_peer *peer,
		     struct session *s, const json_t *params,
		     const struct call_cfg *cfg, unsigned n, parked_run *run,
		     struct rpc_error *err)
{
	struct parked *p = malloc(sizeof(*p));
	struct rpc_error e = { .code = RPC_INTERNAL };

	if (!p) {
		(void)cr_fail(&err->why, 0, "out of memory");
		return request_refuse(err, RPC_INTERNAL);
	}
	*p = (struct parked){ .service = sv,
			      .session = s,
			      .later = rpc_later(peer, err),
			      .run = run,
			      .wait = { .media = cfg->media,
					.period = cfg->release.period,
					.done = known,
					.arg = p } };
	if (n > 1) {
		p->media = cfg[1].media;
		p->period = cfg[1].release.period;
	}
	if (!p->later) {
		free(p);
		return NULL;
	}
	p->params = json_incref((json_t *)(uintptr_t)params);
	LIST_INSERT_HEAD(&sv->parked, p, link);
	if (node_cost_wait(sv->node, &p->wait, &e.why))
		answer(p, NULL, &e);
	return NULL;
}

/* A reply may end the association of who does not read it, and with that drop
 * others: so what is refused here is taken out of their sight before. */
void parked_drop(struct service *sv, const struct session *s, int code,
		 const char *why)
{
	LIST_HEAD(, parked) refused = LIST_HEAD_INITIALIZER(refused);
	struct rpc_error e = { .code = code };
	struct parked *p, *next;

	for (p = LIST_FIRST(&sv->parked); p; p = next) {
		next = LIST_NEXT(p, link);
		if (s && p->session != s)
			continue;
		node_cost_forget(sv->node, &p->wait);
		LIST_REMOVE(p, link);
		LIST_INSERT_HEAD(&refused, p, link);
	}
	(void)cr_fail(&e.why, 0, "%s", why);
	while ((p = LIST_FIRST(&refused)))
		answer(p, NULL, &e);
}
