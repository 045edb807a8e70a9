/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of the log about who did what.
 */
#include "protocol/audit.h"

#include <string.h>

#include "protocol/service_impl.h"

void audit_log(struct log_site *site, enum log_level level,
	       const struct audit *a)
{
	if (!log_wants(level))
		return;
	if (a->why)
		log_write(site, level, "audit",
			  "who=\"%s\" did=\"%s\" what=\"%s\" result=refused "
			  "why=\"%s\"",
			  a->who, a->did, a->what, a->why);
	else
		log_write(site, level, "audit",
			  "who=\"%s\" did=\"%s\" what=\"%s\" result=done",
			  a->who, a->did, a->what);
}

/* The number that what was made has got: it is in no parameter. */
static void add_made(char *what, size_t size, const json_t *result)
{
	static const char *const ids[] = { "call", "endpoint", "conversation",
					   "conversion" };
	size_t n = strlen(what);

	for (unsigned i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		const json_t *id = json_object_get(result, ids[i]);
		char text[40];

		(void)snprintf(text, sizeof(text), "%s=%lld", ids[i],
			       (long long)json_integer_value(id));
		if (!json_is_integer(id) || strstr(what, text))
			continue;
		(void)snprintf(what + n, size - n, "%s%s", n ? " " : "", text);
		return;
	}
}

void audit_method(const struct rpc_noted *noted, const json_t *result,
		  const struct rpc_error *err)
{
	/* Of each method: done, refused. What strangers try hides nothing. */
	static struct log_site sites[64][2];
	char what[RPC_WHAT_MAX + 40];
	size_t i = (size_t)(noted->method - service_methods);

	(void)snprintf(what, sizeof(what), "%s", noted->what);
	if (result)
		add_made(what, sizeof(what), result);
	audit_log(&sites[i % (sizeof(sites) / sizeof(*sites))][!result],
		  LOG_INFO,
		  &(struct audit){ .who = noted->peer,
				   .did = noted->method->name,
				   .what = what,
				   .why = result ? NULL : err->why.text });
}
