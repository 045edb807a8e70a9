/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints JSON for people. Does not know what the members mean.
 */
#include "app/ctl/show.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/disarm.h"
#include "protocol/field_text.h"

enum { CELL_MAX = 96, COLUMNS_MAX = 24, PATH_MAX_BYTES = 256 };

static void cell(const json_t *v, char *buf, size_t size);

/* The names of an array's objects, or its scalars: "4.75, 5.15, 5.9". */
static void join(const json_t *array, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < json_array_size(array) && used < size; i++) {
		const json_t *v = json_array_get(array, i);
		const json_t *name = json_object_get(v, "name");
		char one[CELL_MAX];
		int n;

		cell(name ? name : v, one, sizeof(one));
		n = snprintf(buf + used, size - used, i ? ", %s" : "%s", one);
		used += n > 0 ? (size_t)n : 0;
	}
	if (!used)
		(void)snprintf(buf, size, "-");
}

static void cell(const json_t *v, char *buf, size_t size)
{
	switch (v ? json_typeof(v) : JSON_NULL) {
	case JSON_STRING:
		(void)snprintf(buf, size, "%s", json_string_value(v));
		disarm(buf); /* a peer may have chosen it */
		break;
	case JSON_INTEGER:
		(void)snprintf(buf, size, "%" JSON_INTEGER_FORMAT,
			       json_integer_value(v));
		break;
	case JSON_REAL:
		(void)snprintf(buf, size, "%.6g", json_real_value(v));
		break;
	case JSON_TRUE:
		(void)snprintf(buf, size, "yes");
		break;
	case JSON_FALSE:
		(void)snprintf(buf, size, "no");
		break;
	case JSON_ARRAY:
		join(v, buf, size);
		break;
	default:
		(void)snprintf(buf, size, json_is_object(v) ? "{...}" : "-");
		break;
	}
}

static const json_t *at(const json_t *object, const char *path)
{
	char part[PATH_MAX_BYTES];
	const char *dot;

	while ((dot = strchr(path, '.'))) {
		(void)snprintf(part, sizeof(part), "%.*s", (int)(dot - path),
			       path);
		object = json_object_get(object, part);
		path = dot + 1;
	}
	return json_object_get(object, path);
}

static bool numeric(const json_t *rows, const char *path)
{
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *v = at(json_array_get(rows, i), path);

		if (v && !json_is_number(v))
			return false;
	}
	return true;
}

static void print_cell(const char *text, int width, bool right, bool last,
		       FILE *out)
{
	if (last && !right)
		(void)fprintf(out, "%s\n", text);
	else
		(void)fprintf(out, right ? "%*s%s" : "%-*s%s", width, text,
			      last ? "\n" : "  ");
}

static const char *head_of(const struct ctl_column *c, char *buf, size_t size)
{
	size_t used;

	if (c->head)
		return c->head;
	(void)field_text_label(c->table, c->member ? c->member : c->path, buf,
			       size);
	used = strlen(buf);
	(void)snprintf(buf + used, size - used, "%s",
		       c->suffix ? c->suffix : "");
	return buf;
}

void ctl_table(const json_t *rows, const struct ctl_column *columns, FILE *out)
{
	size_t width[COLUMNS_MAX] = { 0 };
	bool right[COLUMNS_MAX];
	char text[CELL_MAX];
	unsigned n = 0;

	for (; columns[n].path && n < COLUMNS_MAX; n++) {
		width[n] = strlen(head_of(&columns[n], text, sizeof(text)));
		right[n] = numeric(rows, columns[n].path);
		for (size_t i = 0; i < json_array_size(rows); i++) {
			cell(at(json_array_get(rows, i), columns[n].path), text,
			     sizeof(text));
			if (strlen(text) > width[n])
				width[n] = strlen(text);
		}
	}
	for (unsigned c = 0; c < n; c++)
		print_cell(head_of(&columns[c], text, sizeof(text)),
			   (int)width[c], right[c], c + 1 == n, out);
	for (size_t i = 0; i < json_array_size(rows); i++) {
		for (unsigned c = 0; c < n; c++) {
			cell(at(json_array_get(rows, i), columns[c].path), text,
			     sizeof(text));
			print_cell(text, (int)width[c], right[c], c + 1 == n,
				   out);
		}
	}
}

/* One column for each member of the first row that fits into a cell. */
static void table_of(const char *title, const json_t *rows, bool first_line,
		     FILE *out)
{
	struct ctl_column columns[COLUMNS_MAX + 1] = { 0 };
	json_t *first = json_array_get(rows, 0), *v;
	const char *key;
	unsigned n = 0;

	json_object_foreach (first, key, v) {
		if (!json_is_object(v) && n < COLUMNS_MAX)
			columns[n++] =
				(struct ctl_column){ .path = key, .head = key };
	}
	(void)fprintf(out, first_line ? "%s\n" : "\n%s\n", title);
	ctl_table(rows, columns, out);
}

static bool is_table(const json_t *v)
{
	return json_is_object(json_array_get(v, 0));
}

/* What lines() is for: find the width of keys, print them, print tables. */
enum pass { PASS_WIDTH, PASS_LINES, PASS_TABLES };

static void lines(const json_t *object, const char *prefix, enum pass pass,
		  int *width, FILE *out)
{
	const char *key;
	json_t *v;

	json_object_foreach ((json_t *)(uintptr_t)object, key, v) {
		char path[PATH_MAX_BYTES], text[1024];

		(void)snprintf(path, sizeof(path), "%s%s", prefix, key);
		if (json_is_object(v)) {
			(void)strncat(path, ".",
				      sizeof(path) - strlen(path) - 1);
			lines(v, path, pass, width, out);
		} else if (is_table(v)) {
			if (pass == PASS_TABLES)
				table_of(path, v, !*width, out);
		} else if (pass == PASS_WIDTH) {
			if ((int)strlen(path) > *width)
				*width = (int)strlen(path);
		} else if (pass == PASS_LINES) {
			cell(v, text, sizeof(text));
			(void)fprintf(out, "%s:%*s %s\n", path,
				      *width - (int)strlen(path), "", text);
		}
	}
}

void ctl_show(const json_t *result, FILE *out)
{
	char text[1024];
	int width = 0;

	if (!json_is_object(result)) {
		cell(result, text, sizeof(text));
		(void)fprintf(out, "%s\n", text);
		return;
	}
	lines(result, "", PASS_WIDTH, &width, out);
	lines(result, "", PASS_LINES, &width, out);
	lines(result, "", PASS_TABLES, &width, out);
}
