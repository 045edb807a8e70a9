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

/* Wait for the next, if there is one. False: no. */
static bool wait_on(struct parked *p, struct rpc_error *e)
{
	if (p->next == p->n)
		return false;
	p->wait.media = p->need[p->next].media;
	p->wait.period = p->need[p->next].period;
	p->next++;
	e->code = RPC_INTERNAL;
	return !node_cost_wait(p->service->node, &p->wait, &e->why);
}

/* All that @cfg needs. */
static void add_needs(struct parked *p, const struct call_cfg *cfg)
{
	struct pipeline_cfg media[CALL_CODECS_MAX];
	unsigned n = node_cost_media(cfg, media);

	for (unsigned i = 0; i < n; i++)
		p->need[p->n++] = (struct parked_need){
			.media = media[i],
			.period = cfg->release.period,
		};
}

/* For the second time: one cost was forgotten while another was measured. */
static json_t *change_again(const struct parked *p, struct rpc_error *e)
{
	struct conversation_plan plan;
	bool wait;
	json_t *result = p->change(p->service, p->params, &plan, &wait, e);

	return wait ? request_refuse(e, RPC_INTERNAL) : result;
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
		result = p->run ? p->run(p->service, p->session, p->params, &e)
				: change_again(p, &e);
	}
	answer(p, result, &e);
}

/* With what @how has of it; see parked_begin(). */
static json_t *begin(const struct parked *how, struct rpc_peer *peer,
		     const json_t *params, const struct call_cfg *cfg,
		     unsigned n, struct rpc_error *err)
{
	struct parked *p = malloc(sizeof(*p));
	struct rpc_error e = { .code = RPC_INTERNAL };

	if (!p) {
		(void)cr_fail(&err->why, 0, "out of memory");
		return request_refuse(err, RPC_INTERNAL);
	}
	*p = *how;
	p->later = rpc_later(peer, err);
	p->wait = (struct node_cost_wait){ .done = known, .arg = p };
	for (unsigned i = 0; i < n; i++)
		add_needs(p, &cfg[i]);
	if (!p->later) {
		free(p);
		return NULL;
	}
	p->params = json_incref((json_t *)(uintptr_t)params);
	LIST_INSERT_HEAD(&p->service->parked, p, link);
	if (!wait_on(p, &e))
		answer(p, NULL, &e);
	return NULL;
}

json_t *parked_begin(struct service *sv, struct rpc_peer *peer,
		     struct session *s, const json_t *params,
		     const struct call_cfg *cfg, unsigned n, parked_run *run,
		     struct rpc_error *err)
{
	const struct parked how = { .service = sv, .session = s, .run = run };

	return begin(&how, peer, params, cfg, n, err);
}

json_t *parked_begin_change(struct service *sv, struct rpc_peer *peer,
			    const json_t *params, parked_change *change,
			    struct rpc_error *err)
{
	const struct parked how = { .service = sv, .change = change };
	struct conversation_plan plan;
	bool wait;
	json_t *result = change(sv, params, &plan, &wait, err);

	return wait ? begin(&how, peer, params, plan.stream, 2, err) : result;
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
