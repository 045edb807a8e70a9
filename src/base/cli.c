/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines by a table of rows: parsing; the --help text, wrapped to 80
 * columns, and the man page, by one walk (pages under docs/man come from here,
 * so that they agree with the program).
 */
#include "base/cli.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/nearest.h"
#include "base/page.h"

/* getopt_long()'s return values: a row is ROW_BASE + its index. */
enum { ASK_HELP = 256, ASK_VERSION, ASK_MAN, ROW_BASE };

struct table {
	struct option longs[CLI_MAX_OPTS + 4];
	char shorts[2 * CLI_MAX_OPTS + 4];
};

static bool takes_argument(const struct field *o)
{
	return o->kind != FIELD_BOOL;
}

static void build_table(const struct cli *c, struct table *t)
{
	size_t n = 0, s = 0;

	memset(t, 0, sizeof(*t));
	t->shorts[s++] = ':'; /* a missing argument is no bad option */
	for (int i = 0; !field_is_end(&c->opts[i]); i++) {
		const struct field *o = &c->opts[i];

		if (o->kind == FIELD_HEADING)
			continue;
		CR_ASSERT(n < CLI_MAX_OPTS);
		t->longs[n++] = (struct option){
			.name = o->name,
			.has_arg = takes_argument(o) ? required_argument
				   : c->has_file     ? optional_argument
						     : no_argument,
			.val = ROW_BASE + i,
		};
		if (o->letter)
			t->shorts[s++] = o->letter;
		if (o->letter && takes_argument(o))
			t->shorts[s++] = ':';
	}
	t->shorts[s] = 'h';
	t->longs[n++] = (struct option){ .name = "help", .val = ASK_HELP };
	t->longs[n++] =
		(struct option){ .name = "version", .val = ASK_VERSION };
	t->longs[n] = (struct option){ .name = "man", .val = ASK_MAN };
}

static const struct field *row_of(const struct cli *c, int val)
{
	if (val >= ROW_BASE)
		return &c->opts[val - ROW_BASE];
	if (val >= ASK_HELP || val == 'h')
		return NULL;
	for (const struct field *o = c->opts; !field_is_end(o); o++)
		if (o->letter == val && o->kind != FIELD_HEADING)
			return o;
	return NULL;
}

static int next_option(struct table *t, int argc, char **argv)
{
	return getopt_long(argc, argv, t->shorts, t->longs, NULL);
}

static void restart_getopt(void)
{
	opterr = 0;
	optind = 0; /* GNU: also forgets the place inside a cluster */
}

static bool answer_question(const struct cli *c, struct table *t, int argc,
			    char **argv)
{
	int val;

	restart_getopt();
	while ((val = next_option(t, argc, argv)) != -1) {
		if (val == ASK_HELP || val == 'h')
			cli_help(c, stdout);
		else if (val == ASK_VERSION)
			printf("%s (codec-runner) %s\n", c->program,
			       CR_VERSION);
		else if (val == ASK_MAN)
			cli_man(c, stdout);
		else
			continue;
		return true;
	}
	return false;
}

/* getopt_long() reorders what it looks at: let it look at a copy. Nothing has
 * begun yet, so without memory this is the end. */
static char **copy_of(const struct cli *c, int argc, char **argv)
{
	char **copy = calloc((size_t)argc + 1, sizeof(*copy));

	if (!copy) {
		(void)fprintf(stderr, "%s: no memory for the command line\n",
			      c->program);
		exit(1);
	}
	memcpy(copy, argv, (size_t)argc * sizeof(*copy));
	return copy;
}

/* Help shows the defaults, so it must come before any value is stored. */
bool cli_asked(const struct cli *c, int argc, char **argv)
{
	char **copy = copy_of(c, argc, argv);
	struct table t;
	bool answered;

	build_table(c, &t);
	answered = answer_question(c, &t, argc, copy);
	free(copy);
	return answered;
}

const char *cli_peek(const struct cli *c, int argc, char **argv,
		     const char *name)
{
	char **copy = copy_of(c, argc, argv);
	const char *value = NULL;
	struct table t;
	int val;

	build_table(c, &t);
	restart_getopt();
	while ((val = next_option(&t, argc, copy)) != -1) {
		const struct field *o =
			val == '?' || val == ':' ? NULL : row_of(c, val);

		if (o && !strcmp(o->name, name))
			value = optarg ? optarg : "";
	}
	free(copy);
	return value;
}

static int unknown_option(const struct table *t, char **argv, struct cr_err *e)
{
	const char *names[CLI_MAX_OPTS + 4], *word, *near;
	char typed[64];
	size_t n = 0;

	if (optopt > 0 && optopt < 256)
		return cr_fail(e, -EINVAL, "unknown option -%c", optopt);
	word = argv[optind - 1];
	if (optopt >= 256)
		return cr_fail(e, -EINVAL, "option %s takes no argument", word);
	word += strspn(word, "-");
	(void)snprintf(typed, sizeof(typed), "%s", word);
	typed[strcspn(typed, "=")] = '\0';
	for (; t->longs[n].name; n++) {
		names[n] = t->longs[n].name;
		if (*typed && !strncmp(names[n], typed, strlen(typed)))
			return cr_fail(e, -EINVAL,
				       "option --%s could be several: write "
				       "--%s in full",
				       typed, names[n]);
	}
	names[n] = NULL;
	near = nearest_name(typed, names);
	return cr_fail(e, -EINVAL, "unknown option --%s%s%s%s", typed,
		       near ? "; did you mean '--" : "", near ? near : "",
		       near ? "'?" : "");
}

int cli_give(const struct cli_target *to, const struct field *o,
	     enum cli_source source, unsigned line, const char *text,
	     struct cr_err *e)
{
	struct cli_given *g = &to->given[o - to->cli->opts];
	struct cr_err why;

	if (g->source != source) {
		*g = (struct cli_given){ .source = source };
		field_default(o, to->vars);
	}
	if (o->kind != FIELD_TEXTS)
		g->text.count = 0;
	if (g->text.count == FIELD_TEXTS_MAX)
		return cr_fail(e, -EINVAL, "--%s: given more than %u times",
			       o->name, FIELD_TEXTS_MAX);
	g->line[g->text.count] = line;
	if (field_set(o, to->vars, text, &why))
		return cr_fail(e, -EINVAL, "--%.500s", why.text);
	g->text.item[g->text.count++] = text;
	return 0;
}

static int check_operands(const struct cli *c, int argc, char **argv,
			  struct cr_err *e)
{
	int given = argc - optind;

	if (given < c->min_args)
		return cr_fail(e, -EINVAL, "missing operand; usage: %s %.*s",
			       c->program, (int)strcspn(c->synopsis, "\n"),
			       c->synopsis);
	if (c->max_args >= 0 && given > c->max_args)
		return cr_fail(e, -EINVAL, "unexpected operand \"%s\"",
			       argv[optind + c->max_args]);
	return optind;
}

/* Take the option that getopt_long() has found. */
static int take_next(const struct cli_target *to, const struct table *t,
		     int val, char **argv, struct cr_err *e)
{
	if (val == ':')
		return cr_fail(e, -EINVAL, "option %s needs an argument",
			       argv[optind - 1]);
	if (val == '?')
		return unknown_option(t, argv, e);
	return cli_give(to, row_of(to->cli, val), CLI_COMMAND_LINE, 0,
			optarg ? optarg : "yes", e);
}

int cli_take(const struct cli_target *to, int argc, char **argv)
{
	bool unknown = false;
	struct cr_err e;
	struct table t;
	int val, rc = 0;

	build_table(to->cli, &t);
	restart_getopt();
	while ((val = next_option(&t, argc, argv)) != -1) {
		unknown |= val == '?';
		if (!take_next(to, &t, val, argv, &e))
			continue;
		to->fault(to->arg, e.text);
		rc = -EINVAL;
	}
	if (!unknown && check_operands(to->cli, argc, argv, &e) < 0) {
		to->fault(to->arg, e.text);
		rc = -EINVAL;
	}
	return rc ? rc : optind;
}

static void keep_first(void *arg, const char *why)
{
	struct cr_err *e = arg;

	if (!*e->text)
		(void)cr_fail(e, -EINVAL, "%s", why);
}

int cli_parse(const struct cli *c, int argc, char **argv, struct cr_err *e)
{
	static struct cli_given given[CLI_MAX_OPTS];
	const struct cli_target to = { c, c->vars, given, keep_first, e };

	if (cli_asked(c, argc, argv))
		return 0;
	e->text[0] = '\0';
	memset(given, 0, sizeof(given));
	field_defaults(c->opts, c->vars);
	return cli_take(&to, argc, argv);
}

int cli_written(void)
{
	if (fflush(stdout))
		return -errno;
	return ferror(stdout) ? -EIO : 0;
}

int cli_flush(const char *program)
{
	int err = cli_written();

	if (err)
		(void)fprintf(stderr, "%s: standard output: %s\n", program,
			      strerror(-err));
	return err ? 1 : 0;
}

int cli_parse_or_exit(const struct cli *c, int argc, char **argv)
{
	struct cr_err e = { "" };
	int first = cli_parse(c, argc, argv, &e);

	if (first > 0)
		return first;
	if (!first)
		exit(cli_flush(c->program));
	(void)fprintf(stderr, "%s: %s\nTry '%s --help'.\n", c->program, e.text,
		      c->program);
	exit(2);
}

/* --- help and manual page: one walk, two forms (base/page.h) --- */

static const struct field general_options[] = {
	OPT_HEADING("General"),
	OPT(FIELD_BOOL, "help", NULL,
	    "Print a summary of the options and exit.", .letter = 'h'),
	OPT(FIELD_BOOL, "version", NULL, "Print the version and exit."),
	{ .name = NULL },
};

static void put_cli_options(struct page *p, const struct field *o)
{
	for (; !field_is_end(o); o++) {
		if (o->kind == FIELD_HEADING)
			page_group(p, o->help);
		else if (o->help)
			page_option(p, o, false);
	}
}

static void put_cli_lines(struct page *p, const char *title,
			  const struct cli_line *line)
{
	if (line)
		page_section(p, title);
	for (; line && line->left; line++)
		page_item(p, line->left, line->right);
}

static void put_usage(struct page *p, const struct cli *c)
{
	const char *line = c->synopsis;

	if (p->man)
		page_section(p, "Synopsis");
	for (bool first = true; *line; first = false) {
		char one[512];

		(void)snprintf(one, sizeof(one), "%.*s",
			       (int)strcspn(line, "\n"), line);
		if (p->man) {
			(void)fprintf(p->out, first ? ".B " : ".br\n.B ");
			page_text(p, c->program);
			(void)fputc('\n', p->out);
			page_text(p, one);
			(void)fputc('\n', p->out);
		} else {
			(void)fprintf(p->out, "%s %s %s\n",
				      first ? "Usage:" : "  or: ", c->program,
				      one);
		}
		line += strlen(one);
		line += *line == '\n';
	}
}

/* The parts behind the description. */
static void put_cli_parts(struct page *p, const struct cli *c)
{
	put_cli_lines(p, "Operands", c->operands);
	if (p->man || c->opts->kind != FIELD_HEADING)
		page_section(p, "Options");
	put_cli_options(p, c->opts);
	put_cli_options(p, general_options);
	if (c->examples)
		page_section(p, "Examples");
	for (const struct cli_line *l = c->examples; l && l->left; l++)
		page_example(p, l->left, l->right);
	put_cli_lines(p, "Exit status", c->exits);
}

void cli_man(const struct cli *c, FILE *out)
{
	struct page p = { .out = out, .man = true };

	page_title(&p, c->program, "", '1', "User Commands", c->summary);
	put_usage(&p, c);
	page_section(&p, "Description");
	page_paragraphs(&p, c->text ? c->text : c->summary);
	put_cli_parts(&p, c);
	if (c->see_also) {
		page_section(&p, "See also");
		page_text(&p, c->see_also);
		(void)fputc('\n', out);
	}
}

void cli_help(const struct cli *c, FILE *out)
{
	struct page p = { .out = out, .prefix = "", .width = 80 };
	char summary[256];

	put_usage(&p, c);
	/* In the man page it follows a dash: there it begins small. */
	(void)snprintf(summary, sizeof(summary), "%s.", c->summary);
	summary[0] = (char)toupper((unsigned char)summary[0]);
	(void)fputc('\n', out);
	page_paragraphs(&p, summary);
	if (c->text) {
		(void)fputc('\n', out);
		page_paragraphs(&p, c->text);
	}
	put_cli_parts(&p, c);
}
