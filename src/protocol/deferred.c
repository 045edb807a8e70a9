/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that wait until it is known what a call costs.
 */
#include "protocol/deferred.h"

#include <stdlib.h>

#include "protocol/request.h"

static void answer(struct deferred *p, json_t *result, struct rpc_error *err)
{
	LIST_REMOVE(p, link);
	rpc_later_reply(p->later, result, err);
	json_decref(p->params);
	free(p);
}

/* For the second time: one cost was forgotten while another was measured. */
static json_t *change_again(const struct deferred *p, struct rpc_error *e)
{
	struct conversation_plan plan;
	bool wait;
	json_t *result = p->change(p->service, p->params, &plan, &wait, e);

	return wait ? request_refuse(e, RPC_INTERNAL) : result;
}

static void known(void *arg, int err, const struct cr_err *why)
{
	struct deferred *p = arg;
	struct rpc_error e = { 0 };
	json_t *result = NULL;

	rpc_later_begin();
	if (err) {
		e.code = request_code(err);
		e.why = *why;
	} else {
		result = p->run ? p->run(p->service, p->session, p->params, &e)
				: change_again(p, &e);
	}
	answer(p, result, &e);
}

/* With what @how has of it; see deferred_begin(). */
static json_t *begin(const struct deferred *how, struct rpc_peer *peer,
		     const json_t *params, const struct call_cfg *cfg,
		     unsigned n, struct rpc_error *err)
{
	struct deferred *p = malloc(sizeof(*p));
	struct rpc_error e = { .code = RPC_NO_CAPACITY };

	if (!p) {
		(void)cr_fail(&err->why, 0, "out of memory");
		return request_refuse(err, RPC_NO_CAPACITY);
	}
	*p = *how;
	p->later = rpc_later(peer, err);
	p->needs = (struct cost_needs){ .node = p->service->node,
					.done = known,
					.arg = p };
	if (!p->later) {
		free(p);
		return NULL;
	}
	p->params = json_incref((json_t *)(uintptr_t)params);
	LIST_INSERT_HEAD(&p->service->deferred, p, link);
	if (cost_needs_begin(&p->needs, cfg, n, &e.why))
		answer(p, NULL, &e);
	return NULL;
}

json_t *deferred_begin(struct service *sv, struct rpc_peer *peer,
		       struct session *s, const json_t *params,
		       const struct call_cfg *cfg, unsigned n,
		       deferred_run *run, struct rpc_error *err)
{
	const struct deferred how = { .service = sv, .session = s, .run = run };

	return begin(&how, peer, params, cfg, n, err);
}

json_t *deferred_begin_change(struct service *sv, struct rpc_peer *peer,
			      const json_t *params, deferred_change *change,
			      struct rpc_error *err)
{
	const struct deferred how = { .service = sv, .change = change };
	struct conversation_plan plan;
	bool wait;
	json_t *result = change(sv, params, &plan, &wait, err);

	return wait ? begin(&how, peer, params, plan.stream, 2, err) : result;
}

/* A reply may end the association of who does not read it, and with that drop
 * others: so what is refused here is taken out of their sight before. */
void deferred_drop(struct service *sv, const struct session *s, int code,
		   const char *why)
{
	LIST_HEAD(, deferred) refused = LIST_HEAD_INITIALIZER(refused);
	struct rpc_error e = { .code = code };
	struct deferred *p, *next;

	for (p = LIST_FIRST(&sv->deferred); p; p = next) {
		next = LIST_NEXT(p, link);
		if (s && p->session != s)
			continue;
		cost_needs_forget(&p->needs);
		LIST_REMOVE(p, link);
		LIST_INSERT_HEAD(&refused, p, link);
	}
	(void)cr_fail(&e.why, 0, "%s", why);
	while ((p = LIST_FIRST(&refused)))
		/* It takes what was removed for the first one still.
		 * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		answer(p, NULL, &e);
}
