/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec-ctl's commands, each a function from its words to a request. What the
 * methods mean is the daemon's matter.
 */
#include "app/ctl/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/units.h"
#include "app/ctl/args.h"
#include "app/ctl/views.h"

/* Words after the command's own, and what to do with them. */
struct command {
	const char *words; /* "call start" */
	const char *method;
	const char *usage; /* of the words that follow */
	unsigned min, max;
	int (*build)(struct ctl_request *r, const char *const *words,
		     unsigned n, struct cr_err *e);
	void (*view)(const json_t *result, FILE *out);
};

static int no_params(struct ctl_request *r, const char *const *words,
		     unsigned n, struct cr_err *e)
{
	(void)r, (void)words, (void)n, (void)e;
	return 0;
}

/* The call has to outlive us, so it is kept unless the words say otherwise. */
static int call_start(struct ctl_request *r, const char *const *words,
		      unsigned n, struct cr_err *e)
{
	int rc = ctl_object(&r->params, words, n, e);

	if (!rc && !json_object_get(r->params, "keep"))
		(void)json_object_set_new(r->params, "keep", json_true());
	return rc;
}

/* Files by name, then members of convert.start. */
static int convert(struct ctl_request *r, const char *const *words, unsigned n,
		   struct cr_err *e)
{
	int rc = ctl_object(&r->params, words + 2, n - 2, e);

	if (rc)
		return rc;
	(void)json_object_set_new(r->params, "in", json_string(words[0]));
	(void)json_object_set_new(r->params, "out", json_string(words[1]));
	r->follow = true;
	return 0;
}

static int number(struct ctl_request *r, const char *what, const char *word,
		  struct cr_err *e)
{
	char *end;
	long id;

	errno = 0;
	id = strtol(word, &end, 10);
	if (errno || *end || end == word || id < 1)
		return cr_fail(e, -EINVAL, "%s: not the number of a %s", word,
			       what);
	r->params = json_pack("{s:I}", what, (json_int_t)id);
	return 0;
}

static int conversion_id(struct ctl_request *r, const char *const *words,
			 unsigned n, struct cr_err *e)
{
	(void)n;
	return number(r, "conversion", words[0], e);
}

static int call_id(struct ctl_request *r, const char *const *words, unsigned n,
		   struct cr_err *e)
{
	(void)n;
	return number(r, "call", words[0], e);
}

/* A call's number, then members of call.change. */
static int change(struct ctl_request *r, const char *const *words, unsigned n,
		  struct cr_err *e)
{
	json_t *members;
	int rc = ctl_object(&members, words + 1, n - 1, e);

	if (!rc) {
		rc = number(r, "call", words[0], e);
		if (!rc)
			(void)json_object_update(r->params, members);
		json_decref(members);
	}
	return rc;
}

/* Without a name: which is in use? */
static int scheduler(struct ctl_request *r, const char *const *words,
		     unsigned n, struct cr_err *e)
{
	(void)e;
	if (!n) {
		(void)snprintf(r->method, sizeof(r->method), "schedulers");
		r->view = ctl_view_scheduler;
		return 0;
	}
	r->params = json_pack("{s:s}", "scheduler", words[0]);
	return 0;
}

/* KEY=VALUE words, joined by commas as the scheduler's options are written. */
static int tune(struct ctl_request *r, const char *const *words, unsigned n,
		struct cr_err *e)
{
	char text[512] = "";
	size_t used = 0;

	for (unsigned i = 0; i < n; i++) {
		int more = snprintf(text + used, sizeof(text) - used, "%s%s",
				    i ? "," : "", words[i]);

		used += (size_t)more;
		if (used >= sizeof(text))
			return cr_fail(e, -EINVAL, "tune: too many options");
	}
	r->params = json_pack("{s:s}", "options", text);
	return 0;
}

static int trace_start(struct ctl_request *r, const char *const *words,
		       unsigned n, struct cr_err *e)
{
	if (n > 1 && strcmp(words[1], "overwrite") != 0)
		return cr_fail(e, -EINVAL,
			       "trace start: '%s' is not "
			       "'overwrite'",
			       words[1]);
	r->params =
		json_pack("{s:s, s:b}", "name", words[0], "overwrite", n > 1);
	return 0;
}

static int watch(struct ctl_request *r, const char *const *words, unsigned n,
		 struct cr_err *e)
{
	int64_t times = 0;

	r->interval = CR_SEC;
	if (n > 0 && (units_parse_time(words[0], &r->interval) ||
		      r->interval < 10 * CR_MS || r->interval > 3600 * CR_SEC))
		return cr_fail(e, -EINVAL,
			       "watch: '%s' is no time from 10ms to 1h",
			       words[0]);
	if (n > 1 && (units_parse_int(words[1], &times) || times < 1 ||
		      times > UINT32_MAX))
		return cr_fail(e, -EINVAL, "watch: '%s' is no number of times",
			       words[1]);
	r->times = (unsigned)times;
	return 0;
}

static int drain(struct ctl_request *r, const char *const *words, unsigned n,
		 struct cr_err *e)
{
	cr_ns limit;

	if (n && units_parse_time(words[0], &limit))
		return cr_fail(e, -EINVAL,
			       "drain: '%s' is no time, such as 30s", words[0]);
	if (n)
		r->params = json_pack("{s:s}", "limit", words[0]);
	return 0;
}

/* A whole request object, or a method and its parameters as JSON. */
static int raw(struct ctl_request *r, const char *const *words, unsigned n,
	       struct cr_err *e)
{
	const char *text = n > 1 ? words[1] : words[0];
	const char *method = words[0];
	json_error_t error;
	json_t *o = NULL;

	if (n > 1 || words[0][0] == '{') {
		o = json_loads(text, JSON_REJECT_DUPLICATES, &error);
		if (!o)
			return cr_fail(e, -EINVAL, "raw: column %d: %s",
				       error.column, error.text);
	}
	if (o && n == 1) {
		method = json_string_value(json_object_get(o, "method"));
		r->params = json_incref(json_object_get(o, "params"));
	} else {
		r->params = json_incref(o);
	}
	if (method)
		(void)snprintf(r->method, sizeof(r->method), "%s", method);
	json_decref(o);
	return method ? 0
		      : cr_fail(e, -EINVAL,
				"raw: the object has no \"method\"");
}

static const struct command commands[] = {
	{ "hello", "hello", "", 0, 0, no_params, NULL },
	{ "list", "call.list", "", 0, 0, no_params, NULL },
	{ "stats", "stats", "", 0, 0, no_params, NULL },
	{ "codecs", "codecs", "", 0, 0, no_params, NULL },
	{ "schedulers", "schedulers", "", 0, 0, no_params,
	  ctl_view_schedulers },
	{ "scheduler", "scheduler.set", "[NAME[,KEY=VALUE...]]", 0, 1,
	  scheduler, NULL },
	{ "tune", "scheduler.tune", "KEY=VALUE...", 1, 64, tune, NULL },
	{ "call list", "call.list", "", 0, 0, no_params, NULL },
	{ "call start", "call.start", "KEY=VALUE...", 1, 64, call_start, NULL },
	{ "call stop", "call.stop", "ID", 1, 1, call_id, NULL },
	{ "call query", "call.query", "ID", 1, 1, call_id, NULL },
	{ "call", "call.query", "ID", 1, 1, call_id, ctl_view_call },
	{ "change", "call.change", "ID KEY=VALUE...", 2, 64, change,
	  ctl_view_call },
	{ "convert list", "convert.list", "", 0, 0, no_params, NULL },
	{ "convert query", "convert.query", "ID", 1, 1, conversion_id, NULL },
	{ "convert cancel", "convert.cancel", "ID", 1, 1, conversion_id, NULL },
	{ "convert", "convert.start", "IN OUT [KEY=VALUE...]", 2, 64, convert,
	  NULL },
	{ "watch", "", "[INTERVAL [TIMES]]", 0, 2, watch, NULL },
	{ "trace start", "trace.start", "NAME [overwrite]", 1, 2, trace_start,
	  NULL },
	{ "trace stop", "trace.stop", "", 0, 0, no_params, NULL },
	{ "drain", "drain", "[TIME]", 0, 1, drain, NULL },
	{ "raw", "", "REQUEST | METHOD [PARAMS]", 1, 2, raw, NULL },
};

enum { NCOMMANDS = sizeof(commands) / sizeof(commands[0]) };

static int unknown(const char *words, struct cr_err *e)
{
	const char *names[NCOMMANDS + 1];
	char hint[300];

	for (unsigned i = 0; i < NCOMMANDS; i++)
		names[i] = commands[i].words;
	names[NCOMMANDS] = NULL;
	return cr_fail(e, -EINVAL, "unknown command '%.100s'; %s", words,
		       nearest_hint(words, names, hint, sizeof(hint)));
}

/* How many of @words are the name of @c; 0: it is another command. */
static unsigned own_words(const struct command *c, const char *const *words,
			  unsigned n)
{
	size_t first = strcspn(c->words, " ");

	if (strlen(words[0]) != first || strncmp(c->words, words[0], first))
		return 0;
	if (c->words[first])
		return n > 1 && !strcmp(c->words + first + 1, words[1]) ? 2 : 0;
	/* "call 7", but "call stpo" is a slip */
	if (!strcmp(c->words, "call"))
		return n < 2 || (words[1][0] >= '0' && words[1][0] <= '9');
	return 1;
}

int ctl_request(struct ctl_request *r, const char *const *words, unsigned n,
		struct cr_err *e)
{
	const struct command *c = commands;
	char two[128];
	unsigned own = 0, rest;
	int rc;

	(void)snprintf(two, sizeof(two), "%s%s%s", words[0], n > 1 ? " " : "",
		       n > 1 ? words[1] : "");
	while (c < commands + NCOMMANDS && !(own = own_words(c, words, n)))
		c++;
	if (c == commands + NCOMMANDS)
		return unknown(strcmp(words[0], "call") &&
					       strcmp(words[0], "trace")
				       ? words[0]
				       : two,
			       e);
	rest = n - own;
	if (rest < c->min || rest > c->max)
		return cr_fail(e, -EINVAL, "usage: codec-ctl %s %s", c->words,
			       c->usage);
	*r = (struct ctl_request){ .view = c->view };
	(void)snprintf(r->method, sizeof(r->method), "%s", c->method);
	rc = c->build(r, words + own, rest, e);
	if (rc) {
		json_decref(r->params);
		r->params = NULL;
	}
	return rc;
}
