/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines by a table of rows: parsing; the --help text, wrapped to 80
 * columns; and the man page (troff with the man macros; pages under docs/man
 * come from here, so that they agree with the program), with what all manual
 * pages are made of.
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

/* getopt_long()'s return values: a row is ROW_BASE + its index. */
enum { ASK_HELP = 256, ASK_VERSION, ASK_MAN, ROW_BASE };

struct table {
	struct option longs[CLI_MAX_OPTS + 4];
	char shorts[2 * CLI_MAX_OPTS + 4];
};

static bool takes_argument(const struct option_row *o)
{
	return o->kind != CR_OPT_BOOL;
}

static int argument_of(const struct cli *c, const struct option_row *o)
{
	if (takes_argument(o))
		return required_argument;
	return c->has_file ? optional_argument : no_argument;
}

static void build_table(const struct cli *c, struct table *t)
{
	size_t n = 0, s = 0;

	memset(t, 0, sizeof(*t));
	t->shorts[s++] = ':'; /* tell a missing argument from a bad option */
	for (int i = 0; !option_is_end(&c->opts[i]); i++) {
		const struct option_row *o = &c->opts[i];

		if (o->kind == OPTION_SECTION)
			continue;
		CR_ASSERT(n < CLI_MAX_OPTS);
		t->longs[n++] = (struct option){
			.name = o->name,
			.has_arg = argument_of(c, o),
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

static const struct option_row *row_of(const struct cli *c, int val)
{
	if (val >= ROW_BASE)
		return &c->opts[val - ROW_BASE];
	if (val >= ASK_HELP || val == 'h')
		return NULL;
	for (const struct option_row *o = c->opts; !option_is_end(o); o++)
		if (o->letter == val && o->kind != OPTION_SECTION)
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
		const struct option_row *o =
			val == '?' || val == ':' ? NULL : row_of(c, val);

		if (o && !strcmp(o->name, name))
			value = optarg;
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

int cli_give(const struct cli_target *to, const struct option_row *o,
	     enum cli_source source, unsigned line, const char *text,
	     struct cr_err *e)
{
	struct cli_given *g = &to->given[o - to->cli->opts];
	struct cr_err why;

	if (g->source != source) {
		*g = (struct cli_given){ .source = source };
		option_reset(o, to->vars);
	}
	if (o->kind != OPTION_LIST)
		g->text.count = 0;
	if (g->text.count == OPTION_LIST_MAX)
		return cr_fail(e, -EINVAL, "--%s: given more than %u times",
			       o->name, OPTION_LIST_MAX);
	g->line[g->text.count] = line;
	if (option_set(o, to->vars, text, &why))
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

/* What getopt_long() has found. */
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
	options_reset(c->opts, c->vars);
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

/* Print @len bytes of @text so that troff takes them literally. */
static void troff_bytes(FILE *out, const char *text, size_t len)
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

void troff_help(FILE *out, const struct option_row *o)
{
	char dflt[128];

	troff_text(out, o->help);
	if (takes_argument(o) && *option_default(o, dflt, sizeof(dflt))) {
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

static void put_synopsis(FILE *out, const struct cli *c)
{
	const char *line = c->synopsis;

	(void)fprintf(out, ".SH SYNOPSIS\n");
	while (*line) {
		size_t len = strcspn(line, "\n");

		(void)fprintf(out, ".B ");
		troff_text(out, c->program);
		(void)fprintf(out, "\n");
		troff_bytes(out, line, len);
		(void)fprintf(out, "\n");
		line += len;
		if (*line == '\n') {
			(void)fprintf(out, ".br\n");
			line++;
		}
	}
}

static void put_man_option(FILE *out, const struct option_row *o)
{
	char word[256];

	(void)fprintf(out, ".TP\n");
	if (o->letter)
		(void)fprintf(out, "\\fB\\-%c\\fR, ", o->letter);
	(void)fprintf(out, "\\fB\\-\\-");
	troff_text(out, o->name);
	(void)fprintf(out, "\\fR");
	if (takes_argument(o)) {
		(void)fprintf(out, "=\\fI");
		troff_text(out, option_argument(o, word, sizeof(word)));
		(void)fprintf(out, "\\fR");
	}
	(void)fprintf(out, "\n");
	troff_help(out, o);
}

static void put_man_options(FILE *out, const struct option_row *o)
{
	(void)fprintf(out, ".SH OPTIONS\n");
	for (; o->name || o->help; o++) {
		if (o->kind == OPTION_SECTION) {
			troff_section(out, o->help);
		} else if (o->name && o->help) {
			put_man_option(out, o);
		}
	}
	(void)fprintf(out, ".SS General\n"
			   ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\n"
			   "Print a summary of the options and exit.\n"
			   ".TP\n\\fB\\-\\-version\\fR\n"
			   "Print the version and exit.\n");
}

static void put_man_lines(FILE *out, const char *title,
			  const struct cli_line *line)
{
	if (!line)
		return;
	(void)fprintf(out, ".SH %s\n", title);
	for (; line->left; line++) {
		(void)fprintf(out, ".TP\n.B ");
		troff_text(out, line->left);
		(void)fprintf(out, "\n");
		troff_text(out, line->right);
		(void)fprintf(out, "\n");
	}
}

static void put_man_examples(FILE *out, const struct cli_line *line)
{
	if (!line)
		return;
	(void)fprintf(out, ".SH EXAMPLES\n");
	for (; line->left; line++) {
		(void)fprintf(out, ".PP\n");
		troff_text(out, line->right);
		(void)fprintf(out, "\n.PP\n.nf\n.RS\n");
		troff_text(out, line->left);
		(void)fprintf(out, "\n.RE\n.fi\n");
	}
}

void cli_man(const struct cli *c, FILE *out)
{
	troff_title(out, c->program);
	(void)fprintf(out, " 1 \"\" \"codec-runner %s\" \"User Commands\"\n",
		      CR_VERSION);
	(void)fprintf(out, ".SH NAME\n");
	troff_text(out, c->program);
	(void)fprintf(out, " \\- ");
	troff_text(out, c->summary);
	(void)fprintf(out, "\n");
	put_synopsis(out, c);
	(void)fprintf(out, ".SH DESCRIPTION\n");
	troff_paragraphs(out, c->text ? c->text : c->summary);
	put_man_lines(out, "OPERANDS", c->operands);
	put_man_options(out, c->opts);
	put_man_examples(out, c->examples);
	put_man_lines(out, "EXIT STATUS", c->exits);
	if (c->see_also) {
		(void)fprintf(out, ".SH SEE ALSO\n");
		troff_text(out, c->see_also);
		(void)fprintf(out, "\n");
	}
}

enum { COLUMNS = 80, HELP_COLUMN = 28 };

/* Where the next character goes, and where new lines begin. */
struct page {
	FILE *out;
	int column, indent;
};

static void new_line(struct page *p)
{
	(void)fputc('\n', p->out);
	p->column = 0;
}

static void pad_to(struct page *p, int column)
{
	for (; p->column < column; p->column++)
		(void)fputc(' ', p->out);
}

/* Prints one word, on a new line when it does not fit any more. */
static void put_help_word(struct page *p, const char *word, int len)
{
	if (p->column > p->indent && p->column + 1 + len > COLUMNS)
		new_line(p);
	if (p->column > p->indent)
		p->column += fprintf(p->out, " ");
	pad_to(p, p->indent);
	p->column += fprintf(p->out, "%.*s", len, word);
}

/* Prints @text in words; '\n' in it ends a line. */
static void put_text(struct page *p, const char *text)
{
	while (*text) {
		int len = (int)strcspn(text, " \n");

		if (len)
			put_help_word(p, text, len);
		text += len;
		if (*text == '\n')
			new_line(p);
		text += *text != '\0';
	}
}

static void put_pair(struct page *p, const char *left, const char *right)
{
	p->indent = HELP_COLUMN;
	p->column = fprintf(p->out, "  %s", left);
	if (p->column >= HELP_COLUMN)
		new_line(p);
	pad_to(p, HELP_COLUMN);
	put_text(p, right);
	new_line(p);
}

static void put_help_option(struct page *p, const struct option_row *o)
{
	char left[128], word[256] = "", dflt[128] = "", right[1024];

	if (takes_argument(o)) {
		(void)option_argument(o, word, sizeof(word));
		(void)option_default(o, dflt, sizeof(dflt));
	}
	(void)snprintf(left, sizeof(left), "%c%c%c --%s%s%.*s",
		       o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
		       o->letter ? ',' : ' ', o->name, *word ? "=" : "", 80,
		       word);
	(void)snprintf(right, sizeof(right), "%s%s%s%s", o->help,
		       *dflt ? " (default: " : "", dflt, *dflt ? ")" : "");
	put_pair(p, left, right);
}

static void put_help_options(struct page *p, const struct option_row *o)
{
	if (o->kind != OPTION_SECTION)
		(void)fprintf(p->out, "\nOptions:\n");
	for (; o->name || o->help; o++) {
		if (o->kind == OPTION_SECTION)
			(void)fprintf(p->out, "\n%s:\n", o->help);
		else if (o->help)
			put_help_option(p, o);
	}
	(void)fprintf(p->out, "\nGeneral:\n");
	put_pair(p, "-h, --help", "print this text and exit");
	put_pair(p, "    --version", "print the version and exit");
}

static void put_help_lines(struct page *p, const char *title,
			   const struct cli_line *line)
{
	if (!line)
		return;
	(void)fprintf(p->out, "\n%s:\n", title);
	for (; line->left; line++)
		put_pair(p, line->left, line->right);
}

static void put_help_examples(struct page *p, const struct cli_line *line)
{
	if (!line)
		return;
	(void)fprintf(p->out, "\nExamples:\n");
	for (; line->left; line++) {
		(void)fprintf(p->out, "  %s\n", line->left);
		p->column = 0;
		p->indent = 6;
		put_text(p, line->right);
		new_line(p);
	}
}

static void put_usage(struct page *p, const struct cli *c)
{
	const char *line = c->synopsis;

	for (int first = 1; *line; first = 0) {
		int len = (int)strcspn(line, "\n");

		(void)fprintf(p->out, "%s %s %.*s\n",
			      first ? "Usage:" : "  or: ", c->program, len,
			      line);
		line += len;
		line += *line == '\n';
	}
}

void cli_help(const struct cli *c, FILE *out)
{
	struct page p = { .out = out };
	char summary[256];

	put_usage(&p, c);
	(void)fprintf(out, "\n");
	(void)snprintf(summary, sizeof(summary), "%s", c->summary);
	/* In the man page it follows a dash: there it begins small. */
	summary[0] = (char)toupper((unsigned char)summary[0]);
	put_text(&p, summary);
	(void)fprintf(out, ".\n");
	p.column = 0;
	if (c->text) {
		(void)fprintf(out, "\n");
		put_text(&p, c->text);
		new_line(&p);
	}
	put_help_lines(&p, "Operands", c->operands);
	put_help_options(&p, c->opts);
	put_help_examples(&p, c->examples);
	put_help_lines(&p, "Exit codes", c->exits);
}
