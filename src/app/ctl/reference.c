/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol's tables as help for a terminal, as Markdown, and that of
 * records as a JSON Schema.
 */

#include "app/ctl/ctl.h"

#include <string.h>

#include "protocol/field_text.h"
#include "protocol/tables/call.h"
#include "protocol/tables/node.h"
#include "rpc/jsonrpc.h"

/* What is printed of a table of rows, in one of two ways. */
struct part {
	FILE *out;
	bool markdown;
	const char *head;    /* before the first row, until there is one */
	const char *refused; /* why, of the FIXED rows; NULL: none       */
};

/* "|" would end a cell. */
static void put_cell(const char *text, FILE *out)
{
	for (; *text; text++) {
		if (*text == '|')
			(void)fputc('\\', out);
		(void)fputc(*text, out);
	}
}

/* The name of a heading in an address: "call.start" is #callstart. */
static void put_link(const char *name, FILE *out)
{
	(void)fprintf(out, "[%s](#", name);
	for (; *name; name++)
		if (*name != '.')
			(void)fputc(*name, out);
	(void)fputc(')', out);
}

static void put_sentence(const char *text, FILE *out)
{
	if (*text >= 'a' && *text <= 'z')
		(void)fputc(*text++ - 'a' + 'A', out);
	(void)fprintf(out, "%s.\n", text);
}

static void begin_row(struct part *p)
{
	if (p->head)
		(void)fputs(p->head, p->out);
	p->head = NULL;
}

/* --- rows --- */

/* A parameter in a line or two at a terminal. */
static void put_param(struct part *p, const struct field *f, const char *path,
		      const char *name)
{
	char type[FIELD_TEXT_MAX], number[FIELD_TEXT_MAX];
	char range[FIELD_TEXT_MAX], without[FIELD_TEXT_MAX];

	begin_row(p);
	(void)field_text_param(f, type, sizeof(type));
	(void)field_text_result(f, number, sizeof(number));
	(void)field_text_range(f, range, sizeof(range));
	(void)field_text_default(f, without, sizeof(without));
	if (!p->markdown) {
		(void)fprintf(p->out, "  %-24s %s%s%s%s%s\n", path, type,
			      *range ? "; " : "", range,
			      !*without	    ? ""
			      : f->required ? "; "
					    : "; default: ",
			      without);
		if (field_has_unit(f))
			(void)fprintf(p->out, "      or %s, a %s\n", name,
				      number);
		return;
	}
	(void)fprintf(p->out, "| `%s` | %s", path, type);
	if (field_has_unit(f))
		(void)fprintf(p->out, "; or `%s`, a %s", name, number);
	(void)fprintf(p->out, " | %s | ", range);
	put_cell(without, p->out);
}

static void put_type(struct part *p, const struct field *f)
{
	const struct object *o = f->members ? object_of(f->members) : NULL;
	char text[FIELD_TEXT_MAX];

	if (p->markdown && o) {
		(void)fputs(f->type == FIELD_LIST ? "list of: " : "object: ",
			    p->out);
		put_link(o->name, p->out);
	} else {
		put_cell(field_text_result(f, text, sizeof(text)), p->out);
	}
}

static void put_help(struct part *p, const char *help)
{
	if (p->markdown) {
		(void)fputs(" | ", p->out);
		put_cell(help ? help : "", p->out);
		(void)fputs(" |\n", p->out);
	} else if (help) {
		(void)fprintf(p->out, "      %s\n", help);
	}
}

static bool report_param(void *arg, const struct field *f, const char *path,
			 const char *name)
{
	struct part *p = arg;

	if (f->type == FIELD_FIXED) {
		p->refused = f->help;
	} else if (f->type != FIELD_INLINE && f->type != FIELD_OBJECT) {
		put_param(p, f, path, name);
		put_help(p, f->help);
	}
	return true;
}

/* All names in a line, and the reason. */
static bool report_refused(void *arg, const struct field *f, const char *path,
			   const char *name)
{
	struct part *p = arg;

	(void)name;
	if (f->type == FIELD_FIXED) {
		(void)fprintf(p->out, p->markdown ? "%s`%s`" : "%s%s", p->head,
			      path);
		p->head = ", ";
	}
	return true;
}

static void put_params(const struct field *table, bool markdown, FILE *out)
{
	struct part p = { .out = out,
			  .markdown = markdown,
			  .head = markdown ? "\nParameters:\n\n| name | type | "
					     "range | default | what it is |\n"
					     "| --- | --- | --- | --- | --- "
					     "|\n"
					   : "\nParameters:\n" };

	field_report(table, report_param, &p);
	if (p.head)
		(void)fputs(markdown ? "\nParameters: none.\n"
				     : "\nParameters:\n  none\n",
			    out);
	if (!p.refused)
		return;
	p.head = markdown ? "\nRefused: " : "  refused: ";
	field_report(table, report_refused, &p);
	(void)fputs(markdown ? "; each " : "\n      ", out);
	put_cell(p.refused, out);
	(void)fputs(markdown ? ".\n" : "\n", out);
}

/* A page names the objects that it tells of elsewhere; at a terminal all is
 * told in place. */
static bool report_result(void *arg, const struct field *f, const char *path,
			  const char *name)
{
	struct part *p = arg;
	const struct object *o =
		p->markdown && f->members ? object_of(f->members) : NULL;
	bool inside = f->type == FIELD_OBJECT && f->store != FIELD_C_POINTER;

	(void)path;
	if (f->type == FIELD_INLINE && o) {
		begin_row(p);
		(void)fputs("| ... | | all that is in ", p->out);
		put_link(o->name, p->out);
		(void)fputs(" |\n", p->out);
	} else if (f->type != FIELD_INLINE && (p->markdown || !inside)) {
		begin_row(p);
		(void)fprintf(p->out, p->markdown ? "| `%s` | " : "  %-24s ",
			      name);
		put_type(p, f);
		if (!p->markdown)
			(void)fputc('\n', p->out);
		put_help(p, f->help);
	}
	return !o;
}

/* Members of a result, under @title. */
static void put_members(const char *title, const struct field *table,
			bool markdown, FILE *out)
{
	const struct object *o = markdown ? object_of(table) : NULL;
	char head[120];
	struct part p = { .out = out, .markdown = markdown, .head = head };

	if (o && *title) {
		(void)fprintf(out, "\n%s: ", title);
		put_link(o->name, out);
		(void)fputs(".\n", out);
		return;
	}
	(void)snprintf(head, sizeof(head), "\n%s%s%s", title,
		       !*title	  ? ""
		       : markdown ? ":\n\n"
				  : ":\n",
		       markdown ? "| name | type | what it is |\n"
				  "| --- | --- | --- |\n"
				: "");
	field_report(table, report_result, &p);
	if (p.head)
		(void)fprintf(out,
			      markdown ? "\n%s: an empty object.\n"
				       : "\n%s:\n  none\n",
			      title);
}

/* --- at a terminal --- */

static void list_methods(const struct method *m, FILE *out)
{
	for (; m->name; m++)
		(void)fprintf(out, "  %-16s %s\n", m->name, m->help);
}

void ctl_help(const struct method *m, FILE *out)
{
	if (m) {
		(void)fprintf(out, "%s: %s\n", m->name, m->help);
		if (m->result)
			put_params(m->params, false, out);
		put_members(m->result ? "Result" : "Members",
			    m->result ? m->result : m->params, false, out);
		return;
	}
	(void)fputs("Methods; \"codec-ctl help METHOD\" shows their parameters "
		    "and results:\n",
		    out);
	list_methods(methods, out);
	(void)fputs("\nNotifications, which the server sends by itself:\n",
		    out);
	list_methods(notifications, out);
	(void)fputs("\nErrors:\n", out);
	for (const struct rpc_code_row *r = rpc_codes; r->name; r++)
		(void)fprintf(out, "  %6d  %s: %s\n", r->code, r->name,
			      r->help);
}

/* --- pages of docs --- */

static void put_list(const struct method *m, FILE *out)
{
	(void)fputs("| name | what it is |\n| --- | --- |\n", out);
	for (; m->name; m++) {
		(void)fputs("| ", out);
		put_link(m->name, out);
		(void)fputs(" | ", out);
		put_cell(m->help, out);
		(void)fputs(" |\n", out);
	}
}

static bool report_metric(void *arg, const struct field *f, const char *path,
			  const char *name)
{
	static const char *type = "counter";
	struct part *p = arg;
	const struct field_metric *m = f->metric;

	(void)path;
	if (!m || !m->name)
		return true;
	type = m->type ? m->type : type;
	(void)fprintf(p->out, "| `codec_runner_%s%s` | %s | `%s` | ", m->name,
		      m->labels ? m->labels : "", type, name);
	put_cell(f->help ? f->help : m->help, p->out);
	(void)fputs(" |\n", p->out);
	return true;
}

void ctl_reference(FILE *out)
{
	struct part metrics = { .out = out, .markdown = true };

	(void)fputs("\n## Methods\n\n", out);
	put_list(methods, out);
	for (const struct method *m = methods; m->name; m++) {
		(void)fprintf(out, "\n### %s\n\n", m->name);
		put_sentence(m->help, out);
		put_params(m->params, true, out);
		put_members("Result", m->result, true, out);
	}
	(void)fputs("\n## Notifications\n\nMessages that the node sends to a "
		    "session by itself.\n",
		    out);
	for (const struct method *m = notifications; m->name; m++) {
		(void)fprintf(out, "\n### %s\n\n", m->name);
		put_sentence(m->help, out);
		put_members("Members", m->params, true, out);
	}
	(void)fputs("\n## Objects\n\nParts of several results.\n", out);
	for (const struct object *o = objects; o->name; o++) {
		(void)fprintf(out, "\n### %s\n\n%s\n", o->name, o->help);
		put_members("", o->members, true, out);
	}
	(void)fputs("\n## Metrics\n\nThe metrics of `/metrics` (`--http`) for "
		    "Prometheus, and their places in the result of "
		    "[stats](#stats). Times are in seconds.\n\n| metric | type "
		    "| in stats | what it is |\n| --- | --- | --- | --- |\n",
		    out);
	field_report(stats_fields, report_metric, &metrics);
	(void)fputs("\n## Errors\n\n| code | name | when, and what to do |\n"
		    "| --- | --- | --- |\n",
		    out);
	for (const struct rpc_code_row *r = rpc_codes; r->name; r++) {
		(void)fprintf(out, "| %d | %s | ", r->code, r->name);
		put_cell(r->help, out);
		(void)fputs(" |\n", out);
	}
}

/* --- JSON Schema --- */

static json_t *schema_of_table(const struct field *table);

/* Texts that a result leaves out where there is none. */
static bool may_lack(const struct field *f)
{
	return f->flags & FIELD_OMIT_ZERO ||
	       (f->store == FIELD_C_TEXT && !f->required &&
		!(f->flags & FIELD_NULL));
}

static const char *schema_type(const struct field *f)
{
	bool whole =
		f->flags & FIELD_ROUND || !strcmp(f->unit ? f->unit : "", "ns");

	switch (f->type) {
	case FIELD_BOOL:
		return "boolean";
	case FIELD_INT:
		return "integer";
	case FIELD_TIME:
		return whole ? "integer" : "number";
	case FIELD_REAL:
	case FIELD_RATE:
		return "number";
	case FIELD_LIST:
		return "array";
	default:
		return "string";
	}
}

static json_t *schema_of_field(const struct field *f)
{
	bool object = f->type == FIELD_OBJECT || f->type == FIELD_MAP;
	bool may_null = f->flags & FIELD_NULL || f->store == FIELD_C_POINTER;
	json_t *o = object ? schema_of_table(f->members) : json_object();
	const char *type = object ? "object" : schema_type(f);
	json_t *choices = f->choices ? json_array() : NULL;

	(void)json_object_set_new(o, "type",
				  may_null ? json_pack("[s, s]", type, "null")
					   : json_string(type));
	for (unsigned i = 0; choices && f->choices[i]; i++)
		(void)json_array_append_new(choices,
					    json_string(f->choices[i]));
	if (choices)
		(void)json_object_set_new(o, "enum", choices);
	if (f->type == FIELD_LIST)
		(void)json_object_set_new(o, "items",
					  schema_of_table(f->members));
	if (f->help)
		(void)json_object_set_new(o, "description",
					  json_string(f->help));
	return o;
}

static void schema_members(const struct field *table, json_t *properties,
			   json_t *required)
{
	char wire[FIELD_NAME_MAX];

	for (const struct field *f = table; f->name; f++) {
		const char *name = field_wire_name(f, wire);

		if (f->type == FIELD_INLINE) {
			schema_members(f->members, properties, required);
			continue;
		}
		(void)json_object_set_new(properties, name, schema_of_field(f));
		if (!may_lack(f))
			(void)json_array_append_new(required,
						    json_string(name));
	}
}

static json_t *schema_of_table(const struct field *table)
{
	json_t *properties = json_object(), *required = json_array();

	schema_members(table, properties, required);
	return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties",
			 properties, "required", required,
			 "additionalProperties", 0);
}

void ctl_reference_records(FILE *out)
{
	json_t *schema =
		json_pack("{s:s, s:s}", "$schema",
			  "https://json-schema.org/draft/2020-12/schema",
			  "title", "A line of codec-runner --records");
	json_t *table = schema_of_table(record_fields);

	(void)json_object_update(schema, table);
	(void)json_dumpf(schema, out, JSON_INDENT(1));
	(void)fputc('\n', out);
	json_decref(table);
	json_decref(schema);
}
