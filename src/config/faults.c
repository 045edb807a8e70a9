/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of faults.
 */
#include "config/faults.h"

#include <stdarg.h>

#include "base/disarm.h"

void config_faults_add(struct config_faults *f, const char *fmt, ...)
{
	char *text;
	va_list ap;

	if (f->n == CONFIG_FAULTS_MAX) {
		f->more++;
		return;
	}
	text = f->text[f->n++].text;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(f->text[0].text), fmt, ap);
	va_end(ap);
	disarm(text);
}

void config_faults_print(const struct config_faults *f, const char *program,
			 FILE *out)
{
	for (unsigned i = 0; i < f->n; i++)
		(void)fprintf(out, "%s: %s\n", program, f->text[i].text);
	if (f->more)
		(void)fprintf(out, "%s: and %u more\n", program, f->more);
}
