/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all manual pages are made of.
 */
#include "base/troff.h"

#include <ctype.h>
#include <string.h>

void troff_bytes(FILE *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!i && (text[i] == '.' || text[i] == '\''))
			(void)fputs("\\&", out);
		if (text[i] == '\\')
			(void)fputs("\\e", out);
		else if (text[i] == '-')
			(void)fputs("\\-", out);
		else
			(void)fputc(text[i], out);
	}
}

void troff_text(FILE *out, const char *text)
{
	troff_bytes(out, text, strlen(text));
}

void troff_title(FILE *out, const char *name)
{
	(void)fprintf(out, ".TH ");
	for (; *name; name++)
		(void)fputc(toupper((unsigned char)*name), out);
}

void troff_paragraphs(FILE *out, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		if (len) {
			(void)fprintf(out, ".PP\n");
			troff_bytes(out, text, len);
			(void)fprintf(out, "\n");
		}
		text += len;
		text += *text == '\n';
	}
}

void troff_help(FILE *out, const struct cli_opt *o)
{
	char dflt[128];

	troff_text(out, o->help);
	if (*cli_default(o, dflt, sizeof(dflt))) {
		(void)fprintf(out, " (default: ");
		troff_text(out, dflt);
		(void)fprintf(out, ")");
	}
	(void)fprintf(out, "\n");
}

void troff_section(FILE *out, const char *heading)
{
	(void)fprintf(out, ".SS ");
	troff_text(out, heading);
	(void)fprintf(out, "\n");
}
