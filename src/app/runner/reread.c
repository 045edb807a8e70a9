/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options taken over by a running daemon.
 */
#include "app/runner/reread.h"

#include <stdlib.h>

#include "observe/log.h"

static const struct runner_options *current(const struct reread *r)
{
	return r->now ? r->now : r->start;
}

static void refused(struct reread *r, const char *why)
{
	r->state->taken = false;
	r->state->refused++;
	(void)cr_fail(&r->state->why, 0, "%s", why);
}

static void report_faults(const struct config_faults *f)
{
	for (unsigned i = 0; i < f->n; i++)
		log_event(LOG_ERROR, "config-wrong", "why=\"%s\"",
			  f->text[i].text);
	log_event(LOG_ERROR, "config-not-taken", "faults=%u", f->n + f->more);
}

static bool changed(const struct reread *r, const struct runner_options *to,
		    const char *option)
{
	return !config_same(&current(r)->from, &to->from,
			    config_row(&to->from, option));
}

/* What may fail comes first. */
static int take(struct reread *r, const struct runner_options *to,
		struct cr_err *e)
{
	struct node *n = service_node(r->service);
	int err = 0;

	if (r->ng)
		err = ng_listener_check(r->start->ng.address, to->ng.acl, e);
	if (!err && changed(r, to, "scheduler"))
		err = node_scheduler_set(n, to->service.node.scheduler, e);
	if (!err)
		err = service_change(r->service, &to->service, e);
	if (!err && r->ng)
		err = ng_service_change(r->ng, &to->ng, e);
	if (err)
		return err;
	if (r->http)
		http_allow_control(r->http, to->http_control);
	r->start->drain_timeout = to->drain_timeout;
	log_set_level((enum log_level)to->log_level);
	return 0;
}

static const char *shown(const struct config *c, unsigned row)
{
	return c->value[row] ? c->value[row] : "";
}

/* What is not what it was: from the last time, or, of what stays, from the
 * start. */
static void report_changes(struct reread *r, const struct runner_options *to)
{
	const struct config *c = &to->from;
	unsigned changes = 0, stay = 0;

	for (unsigned i = 0; !cli_is_end(&c->cli->opts[i]); i++) {
		const struct cli_opt *o = &c->cli->opts[i];
		bool live = o->flags & CLI_LIVE;
		const struct config *before =
			live ? &current(r)->from : &r->start->from;

		if (o->flags & CLI_COMMAND_LINE || config_same(before, c, i))
			continue;
		changes += live;
		stay += !live;
		if (live)
			log_event(LOG_INFO, "option-changed",
				  "name=%s from=\"%s\" to=\"%s\"", o->name,
				  shown(before, i), shown(c, i));
		else
			log_event(LOG_WARN, "needs-restart",
				  "name=%s now=\"%s\" configured=\"%s\"",
				  o->name, shown(before, i), shown(c, i));
	}
	log_event(LOG_INFO, "config-read",
		  "file=%s changed=%u needs-restart=%u",
		  c->path ? c->path : "none", changes, stay);
	r->state->taken = true;
	r->state->needs_restart = stay;
	r->state->why.text[0] = '\0';
}

static void discard(struct runner_options *o)
{
	if (o)
		runner_options_free(o);
	free(o);
}

void reread_config(struct reread *r)
{
	struct runner_options *to;
	struct cr_err e = { "" };
	int err;

	if (!r->service)
		return;
	r->state->read++;
	to = calloc(1, sizeof(*to));
	if (!to) {
		log_event(LOG_ERROR, "config-not-taken",
			  "why=\"out of memory\"");
		refused(r, "out of memory");
		return;
	}
	err = runner_options_again(to);
	if (!err) {
		err = take(r, to, &e);
		if (err)
			config_blame(&to->from, NULL, 0, e.text);
	}
	if (err) {
		report_faults(&to->from.faults);
		refused(r, to->from.faults.text[0].text);
		discard(to);
		return;
	}
	report_changes(r, to);
	discard(r->now);
	r->now = to;
}

void reread_free(struct reread *r)
{
	discard(r->now);
	r->now = NULL;
}
