/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol's tables as text for a terminal.
 */
#include "app/ctl/help.h"

#include <string.h>

#include "protocol/field_text.h"
#include "rpc/codes.h"

struct page {
	FILE *out;
	bool any;
	const char *why; /* of what is refused */
};

static void print_methods(const struct method *m, FILE *out)
{
	for (; m->name; m++)
		(void)fprintf(out, "  %-16s %s\n", m->name, m->help);
}

void ctl_help_all(FILE *out)
{
	(void)fputs("Methods; \"codec-ctl help METHOD\" tells their "
		    "parameters and results:\n",
		    out);
	print_methods(methods, out);
	(void)fputs("\nNotifications, which the server sends unasked:\n", out);
	print_methods(notifications, out);
	(void)fputs("\nErrors:\n", out);
	for (const struct rpc_code_row *r = rpc_codes; r->name; r++)
		(void)fprintf(out, "  %6d  %s: %s\n", r->code, r->name,
			      r->help);
}

static void print_head(struct page *p, const char *path, const char *type,
		       const char *range, const char *dflt)
{
	(void)fprintf(p->out, "  %-24s %s%s%s%s%s\n", path, type,
		      *range ? "; " : "", range, *dflt ? "; " : "", dflt);
	p->any = true;
}

static void print_param_text(struct page *p, const struct field *f,
			     const char *path, const char *name)
{
	char type[FIELD_TEXT_MAX], range[FIELD_TEXT_MAX];
	char without[FIELD_TEXT_MAX], dflt[FIELD_TEXT_MAX + 20];

	(void)field_text_default(f, without, sizeof(without));
	(void)snprintf(dflt, sizeof(dflt), "%s%s",
		       *without && !f->required ? "default: " : "", without);
	print_head(p, path, field_text_param(f, type, sizeof(type)),
		   field_text_range(f, range, sizeof(range)), dflt);
	if (field_has_unit(f))
		(void)fprintf(p->out, "      or %s, a %s\n", name,
			      field_text_result(f, type, sizeof(type)));
	if (f->help)
		(void)fprintf(p->out, "      %s\n", f->help);
}

static bool print_param(void *arg, const struct field *f, const char *path,
			const char *name)
{
	if (f->type != FIELD_INLINE && f->type != FIELD_OBJECT &&
	    f->type != FIELD_FIXED)
		print_param_text(arg, f, path, name);
	return true;
}

/* What is known, and refused, in a line of all names and one of the reason. */
static bool print_refused(void *arg, const struct field *f, const char *path,
			  const char *name)
{
	struct page *p = arg;

	(void)name;
	if (f->type != FIELD_FIXED)
		return true;
	(void)fprintf(p->out, "%s%s", p->why ? ", " : "  refused: ", path);
	p->why = f->help;
	return true;
}

static void print_params(const struct field *table, FILE *out)
{
	struct page p = { .out = out };

	(void)fputs("\nParameters:\n", out);
	field_report(table, print_param, &p);
	if (!p.any)
		(void)fputs("  none\n", out);
	field_report(table, print_refused, &p);
	if (p.why)
		(void)fprintf(out, "\n      %s\n", p.why);
}

static bool print_result(void *arg, const struct field *f, const char *path,
			 const char *name)
{
	struct page *p = arg;
	char type[FIELD_TEXT_MAX];

	(void)path;
	if (f->type == FIELD_INLINE ||
	    (f->type == FIELD_OBJECT && f->store != FIELD_C_POINTER))
		return true;
	print_head(p, name, field_text_result(f, type, sizeof(type)), "", "");
	if (f->help)
		(void)fprintf(p->out, "      %s\n", f->help);
	return true;
}

static void print_members(const char *title, const struct field *table,
			  FILE *out)
{
	struct page p = { .out = out };

	(void)fprintf(out, "\n%s:\n", title);
	field_report(table, print_result, &p);
	if (!p.any)
		(void)fputs("  none\n", out);
}

void ctl_help_method(const struct method *m, FILE *out)
{
	(void)fprintf(out, "%s: %s\n", m->name, m->help);
	if (m->result) {
		print_params(m->params, out);
		print_members("Result", m->result, out);
	} else {
		print_members("Members", m->params, out);
	}
}
