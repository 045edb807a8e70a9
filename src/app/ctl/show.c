/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints JSON for people, by the rows of the protocol's tables: values with
 * their units, objects as lines, lists as tables, texts with values in them.
 * A member without a row, such as one of a newer server, is printed as it
 * is.
 *
 * Pages on a terminal: from the upper left corner, each line cut to the width
 * and cleared to its end, so that nothing flickers or scrolls.
 */

#include "app/ctl/ctl.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/field.h"
#include "base/utf8.h"

enum { PATH_MAX_BYTES = 256, TEXT_MAX = 4096, CELL_MAX = 96, COLUMNS_MAX = 24 };

/* --- where values are --- */

/* The row at @path of @table, and in @wire the path by the names of the JSON. A
 * path that a screen names is in its table. */
static const struct field *find_row(const struct field *table, const char *path,
				    char *wire, size_t size)
{
	size_t used = 0;

	for (;;) {
		char part[FIELD_NAME_MAX], name[FIELD_NAME_MAX];
		int n = (int)strcspn(path, ".");
		const struct field *f;

		(void)snprintf(part, sizeof(part), "%.*s", n, path);
		f = table ? field_find(table, part) : NULL;
		CR_ASSERT(f || !table);
		used += (size_t)snprintf(wire + used, size - used, "%s%s",
					 used ? "." : "",
					 f ? field_wire_name(f, name) : part);
		CR_ASSERT(used < size);
		if (!path[n])
			return f;
		table = f ? f->members : NULL;
		path += n + 1;
	}
}

/* The value at @wire of @o; @object, if not NULL, is what has it. */
static const json_t *find_value(const json_t *o, const char *wire,
				const json_t **object)
{
	char part[FIELD_NAME_MAX];
	const char *dot;

	while ((dot = strchr(wire, '.'))) {
		(void)snprintf(part, sizeof(part), "%.*s", (int)(dot - wire),
			       wire);
		o = json_object_get(o, part);
		wire = dot + 1;
	}
	if (object)
		*object = o;
	return json_object_get(o, wire);
}

double ctl_real(const json_t *o, const char *path)
{
	return json_number_value(find_value(o, path, NULL));
}

double ctl_growth(const struct ctl_shown *s, const char *path)
{
	return ctl_real(s->now, path) - ctl_real(s->before, path);
}

static double growth_rate(const struct ctl_shown *s, const char *wire)
{
	return s->seconds > 0 ? ctl_growth(s, wire) / s->seconds : 0;
}

/* --- numbers in their units --- */

/* The form of a bare number: a factor, the digits behind the point that are of
 * use to people (-1: six in all), the end of its head. */
struct shape {
	const char *unit;
	double by;
	int digits;
	const char *end;
};

/* "" where there is none. */
static const char *unit_of(const struct field *f, const json_t *object)
{
	if (f && f->flags & FIELD_UNIT_MEMBER)
		return ctl_text(object, "unit");
	return f && f->unit ? f->unit : "";
}

static struct shape number_shape(const struct field *f, const char *unit,
				 bool rate)
{
	static const struct shape shapes[] = {
		{ "ns", 1.0 / CR_MS, 3, "_MS" },
		{ "us", 1, 1, "_US" },
		{ "ms", 1, 3, "_MS" },
		{ "s", 1, 1, "_S" },
		{ "share", 100, 2, "_%" },
		{ "CPUs", 1, 4, "" },
		{ "", 1, -1, "" },
		{ NULL, 1, 1, "" },
	};
	const struct shape *s = shapes;

	while (s->unit && strcmp(s->unit, unit) != 0)
		s++;
	if (rate && s - shapes < 4) /* of a time: the share */
		return (struct shape){ unit, (double)field_unit_ns(unit) / 1e7,
				       1, "_%" };
	if (rate)
		return (struct shape){ unit, 1, 1, "/S" };
	if (f && f->kind == FIELD_INT && s->by == 1)
		return (struct shape){ unit, 1, 0, s->end };
	return *s;
}

static void format_bare(double x, struct shape shape, char *buf, size_t size)
{
	char *end;

	if (shape.digits < 0)
		(void)snprintf(buf, size, "%.6g", x * shape.by);
	else
		(void)snprintf(buf, size, "%.*f", shape.digits, x * shape.by);
	if (shape.digits <= 0 || !isfinite(x))
		return;
	for (end = buf + strlen(buf) - 1; *end == '0'; end--)
		*end = '\0';
	if (*end == '.')
		*end = '\0';
}

/* Four digits in a unit that fits. */
static void format_time(double ns, char *buf, size_t size)
{
	static const struct {
		double least;
		const char *unit;
	} units[] = {
		{ CR_SEC, "s" }, { CR_MS, "ms" }, { CR_US, "us" }, { 1, "ns" }
	};
	unsigned i = 0;

	while (i < 3 && fabs(ns) < units[i].least)
		i++;
	ns /= units[i].least;
	(void)snprintf(buf, size, fabs(ns) < 1000 ? "%.4g %s" : "%.0f %s", ns,
		       units[i].unit);
}

static void format_quantity(double x, const struct field *f, const char *unit,
			    json_int_t clock, char *buf, size_t size)
{
	bool at = !strcmp(unit, "clock_ns"), ns = !strcmp(unit, "ns");
	char distance[40];
	size_t used;

	if ((at || ns) && x >= (double)CR_NEVER) {
		(void)snprintf(buf, size, "never");
	} else if (at) {
		format_time(fabs(x - (double)clock), distance,
			    sizeof(distance));
		(void)snprintf(buf, size,
			       x == 0		   ? "none yet"
			       : x < (double)clock ? "%s ago"
						   : "in %s",
			       distance);
	} else if (ns || !strcmp(unit, "us") || !strcmp(unit, "ms") ||
		   !strcmp(unit, "s")) {
		format_time(x * (double)field_unit_ns(unit), buf, size);
	} else if (!strcmp(unit, "ppm")) {
		(void)snprintf(buf, size, "%.4f %%", x / 1e4);
	} else if (!strcmp(unit, "share")) {
		(void)snprintf(buf, size, "%.4g %%", x * 100);
	} else if (!strcmp(unit, "per_s")) {
		(void)snprintf(buf, size, "%.6g/s", x);
	} else {
		format_bare(x, number_shape(f, unit, false), buf, size);
		used = strlen(buf);
		if (*unit && strcmp(unit, "count") != 0)
			(void)snprintf(buf + used, size - used, " %s", unit);
	}
}

/* --- values --- */

/* @v, of the row @f (NULL: not known) and a member of @object. Of an array the
 * names of its objects, or its scalars: "4.75, 5.15, 5.9". */
static void format_value(const struct field *f, const json_t *object,
			 const json_t *v, json_int_t clock, char *buf,
			 size_t size)
{
	const char *unit = unit_of(f, object);
	size_t used = 0;

	if (json_is_string(v)) {
		(void)snprintf(buf, size, "%s", json_string_value(v));
		disarm(buf); /* a peer may have chosen it */
	} else if (json_is_integer(v) && !*unit) {
		(void)snprintf(buf, size, "%" JSON_INTEGER_FORMAT,
			       json_integer_value(v));
	} else if (json_is_number(v)) {
		format_quantity(json_number_value(v), f, unit, clock, buf,
				size);
	} else if (json_is_boolean(v)) {
		(void)snprintf(buf, size, json_is_true(v) ? "yes" : "no");
	} else {
		(void)snprintf(buf, size, "-");
	}
	for (size_t i = 0; i < json_array_size(v) && used < size; i++) {
		const json_t *one = json_array_get(v, i);
		const json_t *name = json_object_get(one, "name");
		char text[CELL_MAX];

		format_value(NULL, NULL, name ? name : one, 0, text,
			     sizeof(text));
		used += (size_t)snprintf(buf + used, size - used, "%s%s",
					 i ? ", " : "", text);
	}
}

/* --- texts with values in them --- */

static const char *copy_path(const char *t, const char *ends, char *path)
{
	size_t n = strcspn(t, ends);

	CR_ASSERT(n < PATH_MAX_BYTES);
	memcpy(path, t, n);
	path[n] = '\0';
	return t + n;
}

/* {@t...}; returns what follows. */
static const char *put_value(const char *t, const struct ctl_shown *s,
			     FILE *out)
{
	char path[PATH_MAX_BYTES], by[PATH_MAX_BYTES], wire[PATH_MAX_BYTES];
	char text[TEXT_MAX];
	const json_t *object, *v;
	const struct field *f;
	const char *unit;

	t = copy_path(t, "}#/:|", path);
	f = find_row(s->table, path, wire, sizeof(wire));
	v = find_value(s->now, wire, &object);
	unit = unit_of(f, object);
	if (!strncmp(t, "/s}", 3)) {
		format_bare(growth_rate(s, wire), number_shape(f, unit, true),
			    text, sizeof(text));
		(void)strcat(text, "/s");
	} else if (*t == '/') {
		(void)copy_path(t + 1, "}", path);
		(void)find_row(s->table, path, by, sizeof(by));
		format_quantity(json_number_value(v) /
					fmax(ctl_real(s->now, by), 1),
				f, unit, s->clock, text, sizeof(text));
	} else if (*t == '#' && json_is_number(v)) {
		format_bare(json_number_value(v), number_shape(f, unit, false),
			    text, sizeof(text));
	} else {
		format_value(f, object, v, s->clock, text, sizeof(text));
	}
	for (const char *p = text; *t == '|' && *p; p++)
		(void)fprintf(out, *p == '|' ? "\\|" : "%c", *p);
	if (*t != '|')
		(void)fprintf(out, "%-*s", *t == ':' ? atoi(t + 1) : 0, text);
	return strchr(t, '}') + 1;
}

static bool is_empty(const json_t *v)
{
	return json_is_null(v) || json_is_false(v) ||
	       (json_is_number(v) && json_number_value(v) == 0) ||
	       (json_is_string(v) && !json_string_length(v)) ||
	       (json_is_array(v) && !json_array_size(v));
}

/* [@t...]; returns what follows. */
static const char *put_part(const char *t, const struct ctl_shown *s, FILE *out)
{
	char path[PATH_MAX_BYTES], wire[PATH_MAX_BYTES];
	bool inverse = *t == '!';
	const struct field *f;
	const json_t *v, *item;
	size_t i;

	t = copy_path(t + inverse, "?*", path);
	f = find_row(s->table, path, wire, sizeof(wire));
	v = find_value(s->now, wire, NULL);
	if (*t++ == '?') {
		if (v && is_empty(v) == inverse)
			ctl_view(t, s, out);
	} else {
		json_array_foreach (v, i, item) {
			struct ctl_shown one = { .table = f ? f->members : NULL,
						 .now = item,
						 .clock = s->clock };
			const json_t *clock = json_object_get(item, "now_ns");

			if (clock) /* a stream has its own */
				one.clock = json_integer_value(clock);
			ctl_view(t, &one, out);
		}
	}
	for (unsigned deep = 1; deep; t++) {
		CR_ASSERT(*t);
		deep += *t == '[';
		deep -= *t == ']';
	}
	return t;
}

/* To the end, or the ']' of the part that @t is in. */
void ctl_view(const char *t, const struct ctl_shown *s, FILE *out)
{
	while (*t && *t != ']') {
		if (*t == '{')
			t = put_value(t + 1, s, out);
		else if (*t == '[')
			t = put_part(t + 1, s, out);
		else
			(void)fputc(*t++, out);
	}
}

/* --- tables --- */

struct column {
	char head[CELL_MAX], path[CELL_MAX]; /* path: of the JSON */
	const char *text; /* of ctl_view(); NULL: the value */
	const struct field *row;
	struct shape shape;
	bool rate;
	char mark; /* '!' or '?'; 0: none */
	int width; /* less than 0: at the left */
};

/* One column from @word, which is written to and stays. */
static void read_column(struct column *c, const struct field *table, char *word)
{
	char *end = word + strlen(word) - 1, *equals = strchr(word, '=');
	bool known = table && *word != '#';
	size_t used;

	*c = (struct column){ .text = equals ? equals + 1 : NULL };
	if (*end == '!' || *end == '?') {
		c->mark = *end;
		*end-- = '\0';
	}
	c->rate = !equals && end - word > 2 && !strcmp(end - 1, "/s");
	if (c->rate)
		end[-1] = '\0';
	if (equals)
		*equals = '\0';
	word += *word == '#';
	c->row = find_row(known ? table : NULL, word, c->path, sizeof(c->path));
	c->shape = number_shape(c->row, unit_of(c->row, NULL), c->rate);
	if (!known) {
		(void)snprintf(c->head, sizeof(c->head), "%s", word);
		return;
	}
	(void)field_text_label(table, word, c->head, sizeof(c->head));
	used = strlen(c->head);
	(void)snprintf(c->head + used, sizeof(c->head) - used, "%s",
		       c->text ? "" : c->shape.end);
}

/* Is it a number, or none? */
static bool format_cell(const struct column *c, const struct ctl_shown *s,
			char *buf, size_t size)
{
	const json_t *object, *v = find_value(s->now, c->path, &object);
	FILE *f = c->text ? fmemopen(buf, size, "w") : NULL;

	if (f) {
		ctl_view(c->text, s, f);
		(void)fclose(f);
		buf[size - 1] = '\0';
		return false;
	}
	if (c->rate)
		format_bare(growth_rate(s, c->path), c->shape, buf, size);
	else if (json_is_number(v) && *unit_of(c->row, object))
		format_bare(json_number_value(v), c->shape, buf, size);
	else
		format_value(c->row, object, v, s->clock, buf, size);
	return c->rate || json_is_number(v) || !v;
}

static enum ctl_mark mark_of(const struct column *c, unsigned n,
			     const struct ctl_shown *row)
{
	enum ctl_mark mark = row ? CTL_PLAIN : CTL_HEAD;

	for (; row && n; n--, c++) {
		if (c->mark && ctl_real(row->now, c->path) > 0)
			mark = c->mark == '!'	 ? CTL_BAD
			       : mark != CTL_BAD ? CTL_WARN
						 : mark;
	}
	return mark;
}

/* @row NULL: the heads. */
static void put_table_row(const struct column *column, unsigned n,
			  const struct ctl_shown *row, FILE *out)
{
	char text[CELL_MAX];

	for (unsigned i = 0; i < n; i++) {
		const struct column *c = &column[i];
		bool last = i + 1 == n;

		if (row)
			(void)format_cell(c, row, text, sizeof(text));
		(void)fprintf(out, "%*s%s", last && c->width < 0 ? 0 : c->width,
			      row ? text : c->head, last ? "\n" : "  ");
	}
}

void ctl_table(const struct ctl_shown *rows, size_t nrows, const char *columns,
	       bool marks, FILE *out)
{
	struct column column[COLUMNS_MAX];
	char words[TEXT_MAX], text[CELL_MAX], *save = NULL;
	unsigned n = 0;

	(void)snprintf(words, sizeof(words), "%s", columns);
	for (char *w = strtok_r(words, " ", &save); w && n < COLUMNS_MAX;
	     w = strtok_r(NULL, " ", &save))
		read_column(&column[n++], rows->table, w);
	for (struct column *c = column; c < column + n; c++) {
		bool numbers = true;

		c->width = (int)strlen(c->head);
		for (size_t i = 0; i < nrows; i++) {
			int width;

			numbers &= format_cell(c, &rows[i], text, sizeof(text));
			width = (int)strlen(text);
			c->width = width > c->width ? width : c->width;
		}
		c->width = numbers ? c->width : -c->width;
	}
	for (size_t i = 0; i <= nrows; i++) {
		const struct ctl_shown *row = i ? &rows[i - 1] : NULL;

		if (marks && mark_of(column, n, row))
			(void)fputc((int)mark_of(column, n, row), out);
		put_table_row(column, n, row, out);
	}
}

struct ctl_shown *ctl_rows(const json_t *now, const json_t *before,
			   const char *id, double seconds,
			   const struct field *table)
{
	size_t n = json_array_size(now), k = 0;
	struct ctl_shown *rows = calloc(n + 1, sizeof(*rows));

	if (!rows)
		abort();
	for (size_t i = 0; i <= n; i++) {
		const json_t *o = json_array_get(now, i), *old;

		while (id && (old = json_array_get(before, k)) &&
		       ctl_real(old, id) < ctl_real(o, id))
			k++;
		old = json_array_get(before, id ? k : i);
		if (id && ctl_real(old, id) != ctl_real(o, id))
			old = NULL;
		rows[i] = (struct ctl_shown){ table, o, old, seconds, 0 };
	}
	return rows;
}

void ctl_list(const json_t *list, const struct field *table,
	      const char *columns, bool marks, FILE *out)
{
	struct ctl_shown *rows = ctl_rows(list, NULL, NULL, 0, table);
	char all[TEXT_MAX] = "";
	size_t used = 0;
	const char *key;
	json_t *v;

	/* all that the first one has and a cell can show */
	json_object_foreach (json_array_get(list, 0), key, v) {
		if (!json_is_object(v) && used < sizeof(all))
			used += (size_t)snprintf(
				all + used, sizeof(all) - used, "%s%s ",
				table && !field_find(table, key) ? "#" : "",
				key);
	}
	ctl_table(rows, json_array_size(list), columns ? columns : all, marks,
		  out);
	free(rows);
}

/* --- whole results --- */

/* The passes of show_members(): find the width of keys, print them, print
 * tables. */
enum pass { PASS_WIDTH, PASS_LINES, PASS_TABLES };

struct showing {
	FILE *out;
	enum pass pass;
	const char *columns; /* of the next table */
	int width;
	bool lone; /* there is nothing but one list */
};

static void show_table(struct showing *w, const struct field *f,
		       const json_t *list, const char *path)
{
	if (!w->lone)
		(void)fprintf(w->out, w->width ? "\n%s\n" : "%s\n", path);
	ctl_list(list, f ? f->members : NULL, w->columns, false, w->out);
	w->columns = NULL;
}

static void show_members(struct showing *w, const struct field *table,
			 const json_t *object, const char *prefix)
{
	const char *key;
	json_t *v;

	json_object_foreach ((json_t *)(uintptr_t)object, key, v) {
		const struct field *f = table ? field_find(table, key) : NULL;
		char path[PATH_MAX_BYTES], text[TEXT_MAX];
		int n = snprintf(path, sizeof(path), "%s%s%s", prefix,
				 f ? f->name : key,
				 json_is_object(v) ? "." : "");

		if (json_is_object(v)) {
			show_members(w,
				     f && f->kind == FIELD_OBJECT ? f->members
								  : NULL,
				     v, path);
		} else if (json_is_object(json_array_get(v, 0)) ||
			   (json_is_array(v) && w->columns)) {
			if (w->pass == PASS_TABLES)
				show_table(w, f, v, path);
		} else if (w->pass == PASS_WIDTH) {
			w->width = n > w->width ? n : w->width;
		} else if (w->pass == PASS_LINES) {
			format_value(f, object, v, 0, text, sizeof(text));
			(void)fprintf(w->out, "%s:%*s %s\n", path, w->width - n,
				      "", text);
		}
	}
}

void ctl_show(const json_t *result, const struct field *table,
	      const char *columns, FILE *out)
{
	struct showing w = { .out = out,
			     .columns = columns,
			     .lone = json_object_size(result) == 1 };
	char text[TEXT_MAX];

	if (!json_is_object(result)) {
		format_value(NULL, NULL, result, 0, text, sizeof(text));
		(void)fprintf(out, "%s\n", text);
		return;
	}
	for (w.pass = PASS_WIDTH; w.pass <= PASS_TABLES; w.pass++)
		show_members(&w, table, result, "");
}

/* --- pages --- */

enum { PAGE_COLUMNS = 80, PAGE_LINES = 24 };

bool ctl_page_size(unsigned *lines, unsigned *columns)
{
	struct winsize w = { 0 };
	bool is = isatty(STDOUT_FILENO) == 1;

	*lines = PAGE_LINES;
	*columns = PAGE_COLUMNS;
	if (is && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_col &&
	    w.ws_row) {
		*lines = w.ws_row;
		*columns = w.ws_col;
	}
	return is;
}

static const char *look_of(char mark)
{
	static const char *const looks[] = { [CTL_HEAD] = "\033[7m",
					     [CTL_BAD] = "\033[31m",
					     [CTL_WARN] = "\033[33m" };
	const char *no_color = getenv("NO_COLOR");

	return no_color && *no_color ? "" : looks[(unsigned)mark];
}

static bool is_mark(char c)
{
	return c >= CTL_HEAD && c <= CTL_WARN;
}

static void to_terminal(const char *text, bool first)
{
	unsigned left, columns;

	(void)ctl_page_size(&left, &columns);
	(void)fputs(first ? "\033[2J\033[H" : "\033[H", stdout);
	while (*text && --left > 0) { /* the last line is the cursor's */
		const char *look = is_mark(*text) ? look_of(*text++) : "";
		int n = (int)strcspn(text, "\n");

		(void)printf("%s%.*s%s\033[K\n", look,
			     n < (int)columns ? n : (int)columns, text,
			     *look ? "\033[0m" : "");
		text += n;
		text += *text == '\n';
	}
	(void)fputs("\033[J", stdout);
}

int ctl_page(const char *text, bool first)
{
	if (isatty(STDOUT_FILENO)) {
		to_terminal(text, first);
		return cli_written();
	}
	if (!first)
		(void)fputc('\n', stdout);
	for (; *text; text++)
		if (!is_mark(*text))
			(void)fputc(*text, stdout);
	return cli_written();
}
