/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options from a file and from the command line, by one table.
 */
#include "config/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/nearest.h"
#include "config/lines.h"
#include "config/text.h"

/* Longest path that a message shows. */
#define SHOWN "%.200s"

static const struct cli_opt *find(const struct cli *cli, const char *name)
{
	const struct cli_opt *o = cli->opts;

	while (!cli_is_end(o) && (!o->name || strcmp(o->name, name) != 0))
		o++;
	return cli_is_end(o) ? NULL : o;
}

unsigned config_row(const struct config *c, const char *name)
{
	const struct cli_opt *o = find(c->cli, name);

	CR_ASSERT(o);
	return (unsigned)(o - c->cli->opts);
}

/* --- faults --- */

static void at_line(struct config *c, unsigned line, const char *why)
{
	config_faults_add(&c->faults, SHOWN ":%u: %s", c->path, line, why);
}

void config_blame(struct config *c, const char *name, unsigned i,
		  const char *why)
{
	const struct config_origin *from;
	char text[sizeof(((struct cr_err *)0)->text)];

	if (!name) {
		config_faults_add(&c->faults, "%s", why);
		return;
	}
	from = &c->origin[config_row(c, name)];
	(void)snprintf(text, sizeof(text), "--%s: %s", name, why);
	if (from->source == CONFIG_FILE && i < from->count)
		at_line(c, from->line[i], text);
	else
		config_faults_add(&c->faults, "%s", text);
}

static int unknown(const struct cli *cli, const char *name, struct cr_err *e)
{
	const char *names[CLI_MAX_OPTS + 1], *near;
	size_t n = 0;

	for (const struct cli_opt *o = cli->opts; !cli_is_end(o); o++)
		if (o->name && !(o->flags & CLI_COMMAND_LINE))
			names[n++] = o->name;
	names[n] = NULL;
	near = nearest_name(name, names);
	return cr_fail(e, -EINVAL, "unknown option \"%.64s\"%s%s%s", name,
		       near ? "; did you mean '" : "", near ? near : "",
		       near ? "'?" : "");
}

/* --- the file --- */

static int check_row(const struct cli *cli, const struct cli_opt *o,
		     const char *name, struct cr_err *e)
{
	if (!strncmp(name, "--", 2) && find(cli, name + 2))
		return cr_fail(e, -EINVAL, "write it without dashes: %s",
			       name + 2);
	if (!o)
		return unknown(cli, name, e);
	if (o->flags & CLI_COMMAND_LINE)
		return cr_fail(e, -EINVAL,
			       "%s belongs on the command line, not in a file",
			       name);
	return 0;
}

static int take_line(struct config *c, unsigned line, const char *name,
		     const char *value, struct cr_err *e)
{
	const struct cli_opt *o = find(c->cli, name);
	struct config_origin *from;
	int err = check_row(c->cli, o, name, e);

	if (err)
		return err;
	from = &c->origin[o - c->cli->opts];
	if (from->count && o->kind != CLI_LIST)
		return cr_fail(e, -EINVAL,
			       "%s is given twice: before that in line %u",
			       name, from->line[0]);
	from->source = CONFIG_FILE;
	if (from->count < CLI_MAX_LIST)
		from->line[from->count++] = line;
	return cli_set(o, value, e);
}

static void take_lines(struct config *c, size_t size)
{
	struct config_lines l = { .text = c->text, .size = size };
	struct cr_err e = { "" };
	char *name, *value;
	int got;

	while ((got = config_lines_next(&l, &name, &value, &e))) {
		if (got > 0)
			got = take_line(c, l.line, name, value, &e);
		if (got)
			at_line(c, l.line, e.text);
	}
}

static void read_file(struct config *c, const char *path, bool must)
{
	struct cr_err e = { "" };
	size_t size = 0;
	int err = config_text_read(path, &c->text, &size, &e);

	if (!must && (err == -ENOENT || err == -ENOTDIR))
		return;
	c->path = strdup(path);
	if (!c->path)
		err = cr_fail(&e, -ENOMEM, "out of memory");
	if (err)
		config_faults_add(&c->faults, SHOWN ": %s", path, e.text);
	else
		take_lines(c, size);
}

/* --- the command line --- */

static void add_fault(void *arg, const char *why)
{
	config_faults_add(arg, "%s", why);
}

static void take_command_line(struct config *c, const struct config_ask *ask)
{
	const struct cli_faults faults = { add_fault, &c->faults };
	bool given[CLI_MAX_OPTS] = { false };

	(void)cli_take(ask->cli, ask->argc, ask->argv, given, &faults);
	for (unsigned i = 0; i < CLI_MAX_OPTS; i++)
		if (given[i])
			c->origin[i].source = CONFIG_COMMAND_LINE;
}

/* --- values --- */

static void print_values(const struct cli_opt *o, FILE *out)
{
	char buf[CLI_VALUE];

	for (unsigned i = 0; !i || o->kind == CLI_LIST; i++) {
		const char *value = cli_value(o, i, buf);

		if (!value)
			break;
		(void)fprintf(out, "%s%s", i ? "\n" : "", value);
	}
}

/* "a\nb" of those of @o into *@text, or NULL: there is none. */
static int text_of(const struct cli_opt *o, char **text)
{
	char buf[CLI_VALUE];
	size_t size = 0;
	bool failed;
	FILE *f;

	if (o->kind == CLI_SECTION || !cli_value(o, 0, buf))
		return 0;
	f = open_memstream(text, &size);
	if (!f)
		return -ENOMEM;
	print_values(o, f);
	failed = ferror(f);
	return fclose(f) || failed ? -ENOMEM : 0;
}

static void keep_values(struct config *c)
{
	int err = 0;

	for (unsigned i = 0; !cli_is_end(&c->cli->opts[i]); i++) {
		CR_ASSERT(i < CLI_MAX_OPTS);
		err |= text_of(&c->cli->opts[i], &c->value[i]);
	}
	if (err)
		config_faults_add(&c->faults, "out of memory");
}

bool config_same(const struct config *a, const struct config *b, unsigned i)
{
	const char *x = a->value[i], *y = b->value[i];

	return x && y ? !strcmp(x, y) : x == y;
}

int config_read(struct config *c, const struct config_ask *ask)
{
	*c = (struct config){ .cli = ask->cli };
	if (ask->path)
		read_file(c, ask->path, ask->must);
	take_command_line(c, ask);
	keep_values(c);
	return c->faults.n ? -EINVAL : 0;
}

void config_free(struct config *c)
{
	for (unsigned i = 0; i < CLI_MAX_OPTS; i++)
		free(c->value[i]);
	free(c->path);
	free(c->text);
	*c = (struct config){ .path = NULL };
}
