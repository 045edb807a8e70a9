/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol's tables as help for a terminal and as Markdown: what is said of
 * their rows as JSON, shown by two texts (ctl_view()); and that of records as a
 * JSON Schema.
 */
#include "app/ctl/ctl.h"

#include <ctype.h>
#include <string.h>

#include "base/field.h"
#include "protocol/tables/node_fields.h"
#include "protocol/tables/record_fields.h"
#include "rpc/jsonrpc.h"

/* --- texts --- */

#define PARAM_LINES                                                            \
	"  {name:24} {type}[range?; {range}][required?; required]"             \
	"[default?; default: {default}]\n"                                     \
	"[or?      or {or}, a {number}\n][help?      {help}\n]"

static const char help_view[] =
	"{name}: {help}\n"
	"[asks?\nParameters:\n[!params?  none\n][params*" PARAM_LINES "]"
	"[why?  refused: {refused}\n      {why}\n]]"
	"\n{title}:\n[!members?  none\n]"
	"[members*  {name:24} {type}\n[help?      {help}\n]]";

static const char list_view[] =
	"Methods; \"codec-ctl help METHOD\" shows their parameters and "
	"results:\n[methods*  {name:16} {help}\n]"
	"\nNotifications, which the server sends by itself:\n"
	"[notifications*  {name:16} {help}\n]"
	"\nErrors:\n[errors*  {code:6}  {name}: {help}\n]";

#define MEMBER_ROWS                                                            \
	"| name | type | what it is |\n| --- | --- | --- |\n"                  \
	"[members*[inline?| ... | | all that is in {inline} |\n]"              \
	"[!inline?| `{name}` | {type|} | {help|} |\n]]"

#define METHOD_PAGE                                                            \
	"\n### {name}\n\n{sentence}\n[asks?"                                   \
	"[!params?\nParameters: none.\n][params?\nParameters:\n\n"             \
	"| name | type | range | default | what it is |\n"                     \
	"| --- | --- | --- | --- | --- |\n]"                                   \
	"[params*| `{name}` | {type}[or?; or `{or}`, a {number}] | {range} "   \
	"| [required?required]{default|} | {help|} |\n]"                       \
	"[why?\nRefused: {refused}; each {why|}.\n]]"                          \
	"[object?\n{title}: {object}.\n][!object?"                             \
	"[!members?\n{title}: an empty object.\n]"                             \
	"[members?\n{title}:\n\n" MEMBER_ROWS "]]"

static const char reference_view[] =
	"\n## Methods\n\n| name | what it is |\n| --- | --- |\n"
	"[methods*| {link} | {help|} |\n][methods*" METHOD_PAGE "]"
	"\n## Notifications\n\nMessages that the node sends to a "
	"session by itself.\n"
	"[notifications*" METHOD_PAGE "]"
	"\n## Objects\n\nParts of several results.\n"
	"[objects*\n### {name}\n\n{help}\n\n" MEMBER_ROWS "]"
	"\n## Metrics\n\nThe metrics of `/metrics` (`--http`) for Prometheus, "
	"and their places in the result of {stats}. Times are in seconds.\n\n"
	"| metric | type | in stats | what it is |\n"
	"| --- | --- | --- | --- |\n"
	"[metrics*| `codec_runner_{name}{labels}` | {type} | `{path}` | "
	"{help|} |\n]"
	"\n## Errors\n\n| code | name | when, and what to do |\n"
	"| --- | --- | --- |\n[errors*| {code} | {name} | {help|} |\n]";

/* --- what is said of rows --- */

struct listing {
	json_t *params, *members, *metrics;
	char refused[FIELD_TEXT_MAX * 4]; /* names */
	const char *why;		  /* they are refused */
	const char *type;		  /* of a metric with several rows */
	bool markdown;
};

/* To a heading: "call.start" is #callstart. */
static const char *link_of(const char *name, char *buf, size_t size)
{
	size_t used = (size_t)snprintf(buf, size, "[%s](#", name);

	for (; *name && used + 2 < size; name++)
		if (*name != '.')
			buf[used++] = *name;
	(void)snprintf(buf + used, size - used, ")");
	return buf;
}

/* As JSON has it. */
static const char *default_of(const struct field *f, char *buf, size_t size)
{
	if (f->required)
		return "";
	if (f->kind == FIELD_BOOL && !f->without)
		return f->dflt ? "true" : "false";
	return *field_text_default(f, buf, size) ? buf : "none";
}

static bool add_param(void *arg, const struct field *f, const char *path,
		      const char *name, const void *base)
{
	char type[FIELD_TEXT_MAX], number[FIELD_TEXT_MAX];
	char range[FIELD_TEXT_MAX], without[FIELD_TEXT_MAX];
	struct listing *l = arg;
	size_t used = strlen(l->refused);

	(void)base;
	if (f->kind == FIELD_FIXED) {
		l->why = f->help;
		(void)snprintf(l->refused + used, sizeof(l->refused) - used,
			       l->markdown ? "%s`%s`" : "%s%s",
			       used ? ", " : "", path);
	}
	if (f->kind == FIELD_FIXED || f->kind == FIELD_INLINE ||
	    f->kind == FIELD_OBJECT)
		return true;
	(void)json_array_append_new(
		l->params,
		json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:s, s:s}", "name",
			  path, "type", field_text_param(f, type, sizeof(type)),
			  "or", field_has_unit(f) ? name : "", "number",
			  field_text_result(f, number, sizeof(number)), "range",
			  field_text_range(f, range, sizeof(range)), "required",
			  f->required != NULL, "default",
			  default_of(f, without, sizeof(without)), "help",
			  f->help ? f->help : ""));
	return true;
}

/* A page links to the objects that it has elsewhere; at a terminal all is in
 * place. */
static bool add_member(void *arg, const struct field *f, const char *path,
		       const char *name, const void *base)
{
	char type[FIELD_TEXT_MAX + 20], link[FIELD_TEXT_MAX] = "";
	struct listing *l = arg;
	const struct object *o =
		l->markdown && f->members ? object_of(f->members) : NULL;
	bool within = f->kind == FIELD_INLINE;

	(void)path;
	(void)base;
	(void)field_text_result(f, type, sizeof(type));
	if (o)
		(void)link_of(o->name, link, sizeof(link));
	if (o && !within)
		(void)snprintf(type, sizeof(type), "%s: %s",
			       f->kind == FIELD_LIST ? "list of" : "object",
			       link);
	if (within ? !o
		   : !l->markdown && f->kind == FIELD_OBJECT &&
			     f->store != FIELD_C_POINTER)
		return true;
	(void)json_array_append_new(l->members,
				    json_pack("{s:s, s:s, s:s, s:s}", "name",
					      name, "type", type, "inline",
					      within ? link : "", "help",
					      f->help ? f->help : ""));
	return !o;
}

static bool add_metric(void *arg, const struct field *f, const char *path,
		       const char *name, const void *base)
{
	const struct field_metric *m = f->metric;
	struct listing *l = arg;

	(void)path;
	(void)base;
	if (!m || !m->name)
		return true;
	l->type = m->type ? m->type : l->type;
	(void)json_array_append_new(
		l->metrics,
		json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", m->name,
			  "labels", m->labels ? m->labels : "", "type", l->type,
			  "path", name, "help", f->help ? f->help : m->help));
	return true;
}

static json_t *describe_method(const struct method *m, bool markdown)
{
	struct listing l = { .params = json_array(),
			     .members = json_array(),
			     .markdown = markdown };
	const struct field *members = m->result ? m->result : m->params;
	const struct object *o = markdown ? object_of(members) : NULL;
	char link[FIELD_TEXT_MAX], object[FIELD_TEXT_MAX] = "";

	field_walk(m->params, NULL, add_param, &l);
	field_walk(members, NULL, add_member, &l);
	if (o)
		(void)link_of(o->name, object, sizeof(object));
	return json_pack(
		"{s:s, s:s, s:s, s:o, s:b, s:o, s:s, s:s, s:s, s:s, "
		"s:o}",
		"name", m->name, "link", link_of(m->name, link, sizeof(link)),
		"help", m->help, "sentence",
		json_sprintf("%c%s.", toupper((unsigned char)m->help[0]),
			     m->help + 1),
		"asks", m->result != NULL, "params", l.params, "refused",
		l.refused, "why", l.why ? l.why : "", "title",
		m->result ? "Result" : "Members", "object", object, "members",
		l.members);
}

static json_t *describe_methods(const struct method *m, bool markdown)
{
	json_t *list = json_array();

	for (; m->name; m++)
		(void)json_array_append_new(list, describe_method(m, markdown));
	return list;
}

static void put_all(const char *view, bool markdown, FILE *out)
{
	struct listing l = { .metrics = json_array(), .markdown = markdown };
	json_t *about = json_array(), *errors = json_array(), *all;
	char stats[FIELD_TEXT_MAX];

	field_walk(stats_fields, NULL, add_metric, &l);
	for (const struct object *o = objects; o->name; o++) {
		l.members = json_array();
		field_walk(o->members, NULL, add_member, &l);
		(void)json_array_append_new(about,
					    json_pack("{s:s, s:s, s:o}", "name",
						      o->name, "help", o->help,
						      "members", l.members));
	}
	for (const struct rpc_code_row *r = rpc_codes; r->name; r++)
		(void)json_array_append_new(
			errors, json_pack("{s:i, s:s, s:s}", "code", r->code,
					  "name", r->name, "help", r->help));
	all = json_pack("{s:o, s:o, s:o, s:o, s:o, s:s}", "methods",
			describe_methods(methods, markdown), "notifications",
			describe_methods(notifications, markdown), "objects",
			about, "metrics", l.metrics, "errors", errors, "stats",
			link_of("stats", stats, sizeof(stats)));
	ctl_view(view, &(struct ctl_shown){ .now = all }, out);
	json_decref(all);
}

void ctl_help(const struct method *m, FILE *out)
{
	json_t *about = m ? describe_method(m, false) : NULL;

	if (m)
		ctl_view(help_view, &(struct ctl_shown){ .now = about }, out);
	else
		put_all(list_view, false, out);
	json_decref(about);
}

void ctl_reference(FILE *out)
{
	put_all(reference_view, true, out);
}

/* --- JSON Schema --- */

static void add_schema(json_t *o, const struct field *table);

static json_t *schema_of_field(const struct field *f)
{
	static const char *const types[] = {
		[FIELD_BOOL] = "boolean",  [FIELD_INT] = "integer",
		[FIELD_REAL] = "number",   [FIELD_TIME] = "number",
		[FIELD_RATE] = "number",   [FIELD_LIST] = "array",
		[FIELD_OBJECT] = "object", [FIELD_MAP] = "object",
		[FIELD_FIXED] = NULL,
	};
	bool whole = f->kind == FIELD_TIME &&
		     (f->flags & FIELD_ROUND || !strcmp(f->unit, "ns"));
	const char *type = whole	    ? "integer"
			   : types[f->kind] ? types[f->kind]
					    : "string";
	json_t *o = json_object(), *choices = json_array(), *items;

	if (f->kind == FIELD_OBJECT || f->kind == FIELD_MAP)
		add_schema(o, f->members);
	(void)json_object_set_new(o, "type",
				  f->flags & FIELD_NULL ||
						  f->store == FIELD_C_POINTER
					  ? json_pack("[s, s]", type, "null")
					  : json_string(type));
	for (unsigned i = 0; f->names && f->names[i]; i++)
		(void)json_array_append_new(choices, json_string(f->names[i]));
	if (f->names)
		(void)json_object_set(o, "enum", choices);
	json_decref(choices);
	if (f->kind == FIELD_LIST) {
		items = json_object();
		add_schema(items, f->members);
		(void)json_object_set_new(o, "items", items);
	}
	if (f->help)
		(void)json_object_set_new(o, "description",
					  json_string(f->help));
	return o;
}

/* A result leaves out texts and numbers where there is none. */
static void add_members(json_t *properties, json_t *required,
			const struct field *table)
{
	for (const struct field *f = table; f->name; f++) {
		char wire[FIELD_NAME_MAX];
		bool lacks = f->store == FIELD_C_TEXT && !f->required &&
			     !(f->flags & FIELD_NULL);

		if (f->kind == FIELD_INLINE) {
			add_members(properties, required, f->members);
			continue;
		}
		(void)json_object_set_new(properties, field_wire_name(f, wire),
					  schema_of_field(f));
		if (!lacks && !(f->flags & FIELD_OMIT_ZERO))
			(void)json_array_append_new(
				required,
				json_string(field_wire_name(f, wire)));
	}
}

static void add_schema(json_t *o, const struct field *table)
{
	json_t *properties = json_object(), *required = json_array();

	add_members(properties, required, table);
	(void)json_object_set_new(o, "type", json_string("object"));
	(void)json_object_set_new(o, "properties", properties);
	(void)json_object_set_new(o, "required", required);
	(void)json_object_set_new(o, "additionalProperties", json_false());
}

void ctl_reference_records(FILE *out)
{
	json_t *schema =
		json_pack("{s:s, s:s}", "$schema",
			  "https://json-schema.org/draft/2020-12/schema",
			  "title", "A line of codec-runner --records");

	add_schema(schema, record_fields);
	(void)json_dumpf(schema, out, JSON_INDENT(1));
	(void)fputc('\n', out);
	json_decref(schema);
}
