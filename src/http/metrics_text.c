/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of metrics.
 */
#include "http/metrics_text.h"

#include <inttypes.h>

void metrics_head(struct evbuffer *out, const char *name, const char *type,
		  const char *help)
{
	(void)evbuffer_add_printf(out,
				  "# HELP " METRICS_NAME " %s\n"
				  "# TYPE " METRICS_NAME " %s\n",
				  name, help, name, type);
}

void metrics_alone(struct evbuffer *out, const char *name, const char *type,
		   const char *help, uint64_t value)
{
	metrics_head(out, name, type, help);
	(void)evbuffer_add_printf(out, METRICS_NAME " %" PRIu64 "\n", name,
				  value);
}

void metrics_process(struct evbuffer *out, const char *name, const char *type,
		     const char *help, double value)
{
	(void)evbuffer_add_printf(out,
				  "# HELP process_%s %s\n"
				  "# TYPE process_%s %s\n"
				  "process_%s %.15g\n",
				  name, help, name, type, name, value);
}

void metrics_labelled(struct evbuffer *out, const char *name, const char *label,
		      const char *is, uint64_t value)
{
	(void)evbuffer_add_printf(out, METRICS_NAME "{%s=\"%s\"} %" PRIu64 "\n",
				  name, label, is, value);
}
