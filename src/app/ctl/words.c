/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words that are not simply members of a method's parameters.
 */
#include "app/ctl/words.h"

#include <errno.h>
#include <string.h>

#include "base/units.h"

/* call.top looks little more often. */
#define TOP_LEAST (500 * CR_MS)

/* KEY=VALUE words, joined by commas as the scheduler's options are written. */
int words_tune(struct ctl_request *r, const char *const *words, unsigned n,
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

int words_trace_start(struct ctl_request *r, const char *const *words,
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

/* [INTERVAL [TIMES]] of @command, whose pages are @least apart. */
static int repeat(struct ctl_request *r, const char *command, cr_ns least,
		  const char *const *words, unsigned n, struct cr_err *e)
{
	char text[UNITS_TEXT];
	int64_t times = 0;

	r->interval = CR_SEC;
	if (n > 0 && (units_parse_time(words[0], &r->interval) ||
		      r->interval < least || r->interval > 3600 * CR_SEC))
		return cr_fail(e, -EINVAL, "%s: '%s' is no time from %s to 1h",
			       command, words[0],
			       units_format_time(least, text, sizeof(text)));
	if (n > 1 && (units_parse_int(words[1], &times) || times < 1 ||
		      times > UINT32_MAX))
		return cr_fail(e, -EINVAL, "%s: '%s' is no number of times",
			       command, words[1]);
	r->times = (unsigned)times;
	return 0;
}

int words_watch(struct ctl_request *r, const char *const *words, unsigned n,
		struct cr_err *e)
{
	return repeat(r, "watch", 10 * CR_MS, words, n, e);
}

int words_top(struct ctl_request *r, const char *const *words, unsigned n,
	      struct cr_err *e)
{
	r->top = true;
	return repeat(r, "top", TOP_LEAST, words, n, e);
}

int words_drain(struct ctl_request *r, const char *const *words, unsigned n,
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
int words_raw(struct ctl_request *r, const char *const *words, unsigned n,
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
