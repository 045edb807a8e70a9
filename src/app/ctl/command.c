/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec-ctl's commands, each a function from its words to a request; words of a
 * command line as JSON ("out.codec=amr": which members are text even when they
 * look like numbers is in the protocol's tables); and "codec-ctl help", the
 * protocol's tables as text for a terminal, which needs no server. What the
 * methods mean is the daemon's matter. Pure.
 */
#include "app/ctl/command.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/ctl/reference.h"
#include "app/ctl/show.h"
#include "base/nearest.h"
#include "base/units.h"
#include "cr/error.h"
#include "protocol/field.h"
#include "protocol/field_text.h"
#include "protocol/tables/call.h"
#include "protocol/tables/conversation.h"
#include "protocol/tables/convert.h"
#include "protocol/tables/method.h"
#include "rpc/jsonrpc.h"

enum { KEY_MAX = 256 };

/* Is the member at @path text? A quantity is, by the name without a unit. */
static bool is_text(const struct field *table, const char *path)
{
	const struct field *f = table ? field_find_path(table, path) : NULL;
	const char *dot = strrchr(path, '.');

	if (!f)
		return false;
	if (field_has_unit(f))
		return !strcmp(f->name, dot ? dot + 1 : path);
	return f->type == FIELD_TEXT || f->type == FIELD_CODEC ||
	       f->type == FIELD_MODE || f->type == FIELD_CHOICE ||
	       f->type == FIELD_ADDRESS;
}

/* NULL: it looks like JSON and is none. */
static json_t *value_of(bool is_text, const char *text)
{
	json_t *v;

	if (!strcmp(text, "null"))
		return json_null();
	if (is_text)
		return json_string(text);
	if (!strcmp(text, "yes") || !strcmp(text, "no"))
		return json_boolean(text[0] == 'y');
	v = json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
	if (!v && text[0] != '{' && text[0] != '[')
		v = json_string(text);
	return v;
}

/* Put @v (taken over) at the dotted @path, which is written to. */
static int put_member(json_t *object, char *path, json_t *v, const char *word,
		      struct cr_err *e)
{
	char *dot = strchr(path, '.');

	while (dot) {
		json_t *inner;

		*dot = '\0';
		inner = json_object_get(object, path);
		if (!inner && path[0]) {
			inner = json_object();
			(void)json_object_set_new(object, path, inner);
		}
		if (!json_is_object(inner)) {
			json_decref(v);
			return cr_fail(e, -EINVAL,
				       "%s: '%s' is not a group of members",
				       word, path);
		}
		object = inner;
		path = dot + 1;
		dot = strchr(path, '.');
	}
	if (!path[0] || json_object_get(object, path)) {
		json_decref(v);
		return cr_fail(e, -EINVAL,
			       path[0] ? "%s: given twice"
				       : "%s: a member without a name",
			       word);
	}
	return json_object_set_new(object, path, v) ? -ENOMEM : 0;
}

static int put_word(json_t *object, const char *word, const struct field *table,
		    struct cr_err *e)
{
	const char *equals = strchr(word, '=');
	size_t length = equals ? (size_t)(equals - word) : 0;
	char key[KEY_MAX];
	json_t *v;

	if (!length || length >= sizeof(key))
		return cr_fail(e, -EINVAL, "%.100s: should be KEY=VALUE", word);
	memcpy(key, word, length);
	key[length] = '\0';
	v = value_of(is_text(table, key), equals + 1);
	if (!v)
		return cr_fail(e, -EINVAL, "%.100s: the value is not JSON",
			       word);
	return put_member(object, key, v, word, e);
}

/*
 * An object from @n words KEY=VALUE; dots in KEY make objects within objects.
 *
 * A VALUE that looks like a number, true, false, yes, no, an object or an
 * array is one; the rest is text, and so is all that is text in @table, the
 * method's parameters (NULL: none is known): out.mode=12.2 is "12.2", ptime=20
 * is "20", ptime_ms=20 is 20. On success returns 0 and *@object is the
 * caller's; else -EINVAL with @e naming the word.
 */
static int ctl_object(json_t **object, const char *const *word, unsigned n,
		      const struct field *table, struct cr_err *e)
{
	json_t *o = json_object();

	for (unsigned i = 0; i < n; i++) {
		int rc = put_word(o, word[i], table, e);

		if (rc) {
			json_decref(o);
			return rc;
		}
	}
	*object = o;
	return 0;
}

/* call.top looks little more often. */
#define TOP_LEAST (500 * CR_MS)

/*
 * KEY=VALUE words of a scheduler's options.
 *
 * KEY=VALUE words, joined by commas as the scheduler's options are written.
 */
static int words_tune(struct ctl_request *r, const char *const *words,
		      unsigned n, struct cr_err *e)
{
	char text[512] = "";
	size_t used = 0;

	for (unsigned i = 0; i < n; i++) {
		int more = snprintf(text + used, sizeof(text) - used, "%s%s",
				    i ? "," : "", words[i]);

		used += (size_t)more;
		if (used >= sizeof(text))
			return cr_fail(e, -EINVAL, "tune: too many options");
	}
	r->params = json_pack("{s:s}", "options", text);
	return 0;
}

/* NAME [overwrite] */
static int words_trace_start(struct ctl_request *r, const char *const *words,
			     unsigned n, struct cr_err *e)
{
	if (n > 1 && strcmp(words[1], "overwrite") != 0)
		return cr_fail(e, -EINVAL,
			       "trace start: '%s' is not "
			       "'overwrite'",
			       words[1]);
	r->params =
		json_pack("{s:s, s:b}", "name", words[0], "overwrite", n > 1);
	return 0;
}

/* [INTERVAL [TIMES]] of @command, whose pages are @least apart. */
static int repeat(struct ctl_request *r, const char *command, cr_ns least,
		  const char *const *words, unsigned n, struct cr_err *e)
{
	char text[UNITS_TEXT];
	int64_t times = 0;

	r->interval = CR_SEC;
	if (n > 0 && (units_parse_time(words[0], &r->interval) ||
		      r->interval < least || r->interval > 3600 * CR_SEC))
		return cr_fail(e, -EINVAL, "%s: '%s' is no time from %s to 1h",
			       command, words[0],
			       units_format_time(least, text, sizeof(text)));
	if (n > 1 && (units_parse_int(words[1], &times) || times < 1 ||
		      times > UINT32_MAX))
		return cr_fail(e, -EINVAL, "%s: '%s' is no number of times",
			       command, words[1]);
	r->times = (unsigned)times;
	return 0;
}

/* [INTERVAL [TIMES]] */
static int words_watch(struct ctl_request *r, const char *const *words,
		       unsigned n, struct cr_err *e)
{
	return repeat(r, "watch", 10 * CR_MS, words, n, e);
}

static int words_top(struct ctl_request *r, const char *const *words,
		     unsigned n, struct cr_err *e)
{
	r->top = true;
	return repeat(r, "top", TOP_LEAST, words, n, e);
}

/* [TIME] */
static int words_drain(struct ctl_request *r, const char *const *words,
		       unsigned n, struct cr_err *e)
{
	cr_ns limit;

	if (n && units_parse_time(words[0], &limit))
		return cr_fail(e, -EINVAL,
			       "drain: '%s' is no time, such as 30s", words[0]);
	if (n)
		r->params = json_pack("{s:s}", "limit", words[0]);
	return 0;
}

/*
 * REQUEST, or METHOD [PARAMS], as JSON.
 *
 * A whole request object, or a method and its parameters as JSON.
 */
static int words_raw(struct ctl_request *r, const char *const *words,
		     unsigned n, struct cr_err *e)
{
	const char *text = n > 1 ? words[1] : words[0];
	const char *method = words[0];
	json_error_t error;
	json_t *o = NULL;

	if (n > 1 || words[0][0] == '{') {
		o = json_loads(text, JSON_REJECT_DUPLICATES, &error);
		if (!o)
			return cr_fail(e, -EINVAL, "raw: column %d: %s",
				       error.column, error.text);
	}
	if (o && n == 1) {
		method = json_string_value(json_object_get(o, "method"));
		r->params = json_incref(json_object_get(o, "params"));
	} else {
		r->params = json_incref(o);
	}
	if (method)
		(void)snprintf(r->method, sizeof(r->method), "%s", method);
	json_decref(o);
	return method ? 0
		      : cr_fail(e, -EINVAL,
				"raw: the object has no \"method\"");
}

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

/* All methods, notifications and error codes, a line each. */
static void ctl_help_all(FILE *out)
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

/* The parameters and the result of @m. */
static void ctl_help_method(const struct method *m, FILE *out)
{
	(void)fprintf(out, "%s: %s\n", m->name, m->help);
	if (m->result) {
		print_params(m->params, out);
		print_members("Result", m->result, out);
	} else {
		print_members("Members", m->params, out);
	}
}

/* Words after the command's own, and what to do with them. */
struct command {
	const char *words; /* "call start" */
	const char *method;
	const char *usage; /* of the words that follow */
	unsigned min, max;
	int (*build)(struct ctl_request *r, const char *const *words,
		     unsigned n, struct cr_err *e);
	void (*view)(const json_t *result, FILE *out);
	const char *help; /* sentences; NULL: the method's */
};

static int no_params(struct ctl_request *r, const char *const *words,
		     unsigned n, struct cr_err *e)
{
	(void)r, (void)words, (void)n, (void)e;
	return 0;
}

/* What is started has to outlive us, so it is kept unless the words say
 * otherwise. */
static int start_request(struct ctl_request *r, const char *const *words,
			 unsigned n, const struct field *fields,
			 struct cr_err *e)
{
	int rc = ctl_object(&r->params, words, n, fields, e);

	if (!rc && !json_object_get(r->params, "keep"))
		(void)json_object_set_new(r->params, "keep", json_true());
	return rc;
}

static int call_start(struct ctl_request *r, const char *const *words,
		      unsigned n, struct cr_err *e)
{
	return start_request(r, words, n, call_start_fields, e);
}

static int call_top(struct ctl_request *r, const char *const *words, unsigned n,
		    struct cr_err *e)
{
	return ctl_object(&r->params, words, n, call_top_fields, e);
}

static int conversation_start(struct ctl_request *r, const char *const *words,
			      unsigned n, struct cr_err *e)
{
	return start_request(r, words, n, conversation_start_fields, e);
}

/* Files by name, then members of convert.start. */
static int convert(struct ctl_request *r, const char *const *words, unsigned n,
		   struct cr_err *e)
{
	int rc = ctl_object(&r->params, words + 2, n - 2, convert_start_fields,
			    e);

	if (rc)
		return rc;
	(void)json_object_set_new(r->params, "in", json_string(words[0]));
	(void)json_object_set_new(r->params, "out", json_string(words[1]));
	r->follow = true;
	return 0;
}

static int number(struct ctl_request *r, const char *what, const char *word,
		  struct cr_err *e)
{
	char *end;
	long id;

	errno = 0;
	id = strtol(word, &end, 10);
	if (errno || *end || end == word || id < 1)
		return cr_fail(e, -EINVAL, "%s: not the number of a %s", word,
			       what);
	r->params = json_pack("{s:I}", what, (json_int_t)id);
	return 0;
}

static int conversion_id(struct ctl_request *r, const char *const *words,
			 unsigned n, struct cr_err *e)
{
	(void)n;
	return number(r, "conversion", words[0], e);
}

static int call_id(struct ctl_request *r, const char *const *words, unsigned n,
		   struct cr_err *e)
{
	(void)n;
	return number(r, "call", words[0], e);
}

static int conversation_id(struct ctl_request *r, const char *const *words,
			   unsigned n, struct cr_err *e)
{
	(void)n;
	return number(r, "conversation", words[0], e);
}

static int endpoint_id(struct ctl_request *r, const char *const *words,
		       unsigned n, struct cr_err *e)
{
	(void)n;
	return number(r, "endpoint", words[0], e);
}

/* The number of a @what, then members of @fields. */
static int change_of(struct ctl_request *r, const char *const *words,
		     unsigned n, const char *what, const struct field *fields,
		     struct cr_err *e)
{
	json_t *members;
	int rc = ctl_object(&members, words + 1, n - 1, fields, e);

	if (!rc) {
		rc = number(r, what, words[0], e);
		if (!rc)
			(void)json_object_update(r->params, members);
		json_decref(members);
	}
	return rc;
}

static int change_request(struct ctl_request *r, const char *const *words,
			  unsigned n, struct cr_err *e)
{
	return change_of(r, words, n, "call", call_change_fields, e);
}

static int conversation_change(struct ctl_request *r, const char *const *words,
			       unsigned n, struct cr_err *e)
{
	return change_of(r, words, n, "conversation",
			 conversation_change_fields, e);
}

static int endpoint_open(struct ctl_request *r, const char *const *words,
			 unsigned n, struct cr_err *e)
{
	return start_request(r, words, n, endpoint_open_fields, e);
}

static int endpoint_change(struct ctl_request *r, const char *const *words,
			   unsigned n, struct cr_err *e)
{
	return change_of(r, words, n, "endpoint", endpoint_change_fields, e);
}

/* Without a name: which is in use? */
static int scheduler(struct ctl_request *r, const char *const *words,
		     unsigned n, struct cr_err *e)
{
	(void)e;
	if (!n) {
		(void)snprintf(r->method, sizeof(r->method), "schedulers");
		r->view = ctl_view_scheduler;
		return 0;
	}
	r->params = json_pack("{s:s}", "scheduler", words[0]);
	return 0;
}

static void print_help(const struct method *about, FILE *out)
{
	if (about)
		ctl_help_method(about, out);
	else
		ctl_help_all(out);
}

static void print_reference(const struct method *about, FILE *out)
{
	(void)about;
	ctl_reference(out);
}

static void print_schema(const struct method *about, FILE *out)
{
	(void)about;
	ctl_reference_records(out);
}

static int reference(struct ctl_request *r, const char *const *words,
		     unsigned n, struct cr_err *e)
{
	if (n && strcmp(words[0], "records") != 0)
		return cr_fail(e, -EINVAL,
			       "there is a reference of the protocol, and one "
			       "of \"records\"; none of \"%s\"",
			       words[0]);
	r->print = n ? print_schema : print_reference;
	return 0;
}

static int help(struct ctl_request *r, const char *const *words, unsigned n,
		struct cr_err *e);

/* Of commands that begin alike, the longer ones come first. */
static const struct command commands[] = {
	{ "hello", "hello", "", 0, 0, no_params, NULL, NULL },
	{ "stats", "stats", "", 0, 0, no_params, NULL, NULL },
	{ "codecs", "codecs", "", 0, 0, no_params, NULL, NULL },
	{ "schedulers", "schedulers", "", 0, 0, no_params, ctl_view_schedulers,
	  NULL },
	{ "scheduler set", "scheduler.set", "NAME[,KEY=VALUE...]", 1, 1,
	  scheduler, NULL, NULL },
	{ "scheduler tune", "scheduler.tune", "KEY=VALUE...", 1, 64, words_tune,
	  NULL, NULL },
	{ "scheduler", "scheduler.set", "[NAME[,KEY=VALUE...]]", 0, 1,
	  scheduler, NULL,
	  "Short for scheduler set; without a name: the scheduler in use, and "
	  "its options." },
	{ "tune", "scheduler.tune", "KEY=VALUE...", 1, 64, words_tune, NULL,
	  "Short for scheduler tune." },
	{ "call start", "call.start", "KEY=VALUE...", 1, 64, call_start, NULL,
	  "Start a call, and print where to send. Keys are the parameters of "
	  "call.start, with dots for members: in.codec=pcmu, "
	  "contract.rate=50/s; \"codec-ctl help call.start\" lists them all. "
	  "The call goes on until call stop, unless keep=no." },
	{ "call stop", "call.stop", "ID", 1, 1, call_id, NULL, NULL },
	{ "call change", "call.change", "ID KEY=VALUE...", 2, 64,
	  change_request, ctl_view_call,
	  "Change a running call. It has to pass the admission test again; if "
	  "it is refused, nothing has changed. No frame is lost. Keys: class, "
	  "deadline, weight, nice, ptime, out.mode, out.ptime and members of "
	  "contract, as for call start; null takes a member back: "
	  "contract.worst=null." },
	{ "call query", "call.query", "ID", 1, 1, call_id, NULL, NULL },
	{ "call list", "call.list", "", 0, 0, no_params, NULL, "The calls." },
	{ "call", "call.query", "ID", 1, 1, call_id, ctl_view_call,
	  "Show one call to people: what it is, what it lost, and the "
	  "scheduler's own numbers about it, with units." },
	{ "change", "call.change", "ID KEY=VALUE...", 2, 64, change_request,
	  ctl_view_call, "Short for call change." },
	{ "list", "call.list", "", 0, 0, no_params, NULL,
	  "Short for call list." },
	{ "endpoint open", "endpoint.open", "[KEY=VALUE...]", 0, 64,
	  endpoint_open, NULL,
	  "Open an endpoint towards a party before it talks, and print where "
	  "it "
	  "sends to: codec=pcmu address=192.0.2.7:4000. The endpoint stays "
	  "open "
	  "until endpoint close, unless keep=no." },
	{ "endpoint change", "endpoint.change", "ID KEY=VALUE...", 2, 64,
	  endpoint_change, NULL,
	  "Tell what is new of the party of an endpoint, also of a "
	  "conversation's: "
	  "address=192.0.2.7:4000, codec=pcma, hold=yes." },
	{ "endpoint query", "endpoint.query", "ID", 1, 1, endpoint_id, NULL,
	  NULL },
	{ "endpoint list", "endpoint.list", "", 0, 0, no_params, NULL,
	  "The endpoints." },
	{ "endpoint close", "endpoint.close", "ID", 1, 1, endpoint_id, NULL,
	  NULL },
	{ "conversation start", "conversation.start", "KEY=VALUE...", 1, 64,
	  conversation_start, NULL,
	  "Start a conversation of two parties, and print where each sends "
	  "to. Keys are the parameters of conversation.start, with dots for "
	  "members: a.codec=pcmu, b.codec=amr, b.address=192.0.2.7:4000; or "
	  "a.endpoint=7, an open one. It goes on until conversation stop, "
	  "unless "
	  "keep=no." },
	{ "conversation change", "conversation.change", "ID KEY=VALUE...", 2,
	  64, conversation_change, NULL,
	  "Tell what is new of a party: a.address=192.0.2.7:4000, "
	  "b.codec=pcma, a.hold=yes. What is not given stays as it is." },
	{ "conversation query", "conversation.query", "ID", 1, 1,
	  conversation_id, NULL, NULL },
	{ "conversation list", "conversation.list", "", 0, 0, no_params, NULL,
	  "The conversations." },
	{ "conversation stop", "conversation.stop", "ID", 1, 1, conversation_id,
	  NULL, NULL },
	{ "convert start", "convert.start", "IN OUT [KEY=VALUE...]", 2, 64,
	  convert, NULL,
	  "Convert a file of the server's spool folder. Names are relative to "
	  "that folder, and their endings (.wav, .amr, .awb) say what the "
	  "files are. Keys: mode=12.2, dtx=yes, rate=16000 (of WAV), "
	  "overwrite=yes. codec-ctl shows the progress and waits for the end; "
	  "if you interrupt it, the conversion is cancelled." },
	{ "convert query", "convert.query", "ID", 1, 1, conversion_id, NULL,
	  NULL },
	{ "convert cancel", "convert.cancel", "ID", 1, 1, conversion_id, NULL,
	  NULL },
	{ "convert list", "convert.list", "", 0, 0, no_params, NULL,
	  "The conversions: waiting, running, and the last that ended." },
	{ "convert", "convert.start", "IN OUT [KEY=VALUE...]", 2, 64, convert,
	  NULL, "Short for convert start." },
	{ "watch", "", "[INTERVAL [TIMES]]", 0, 2, words_watch, NULL,
	  "Show a table of rates, anew every second or INTERVAL, until you "
	  "interrupt it or TIMES times: totals, how busy the workers are, "
	  "calls by class and codecs, and the calls that lose most frames. "
	  "With --json it prints lines of JSON." },
	{ "call top", "call.top", "[KEY=VALUE...]", 0, 64, call_top, NULL,
	  NULL },
	{ "top", "", "[INTERVAL [TIMES]]", 0, 2, words_top, NULL,
	  "Show the calls that stand out, anew every second or INTERVAL, until "
	  "you interrupt it or TIMES times: frames lost, packets missing, "
	  "workers' time and delay of each in that time. --sort says which "
	  "come first, or the keys l, m, c and d; q quits. --once shows one "
	  "page; with --json a page is a line of JSON, the result of call.top. "
	  "The server chooses the calls, however many there are." },
	{ "trace start", "trace.start", "NAME [overwrite]", 1, 2,
	  words_trace_start, NULL,
	  "Write a trace file in the server's trace folder." },
	{ "trace stop", "trace.stop", "", 0, 0, no_params, NULL, NULL },
	{ "drain cancel", "drain.cancel", "", 0, 0, no_params, NULL, NULL },
	{ "drain", "drain", "[TIME]", 0, 1, words_drain, NULL,
	  "Accept no new calls, and exit when the last one has ended; those "
	  "that go on at TIME are ended. With --undo, as drain cancel: take "
	  "that back." },
	{ "raw", "", "REQUEST | METHOD [PARAMS]", 1, 2, words_raw, NULL,
	  "Send a JSON-RPC request object, or a method and its parameters as "
	  "JSON." },
	{ "help", "", "[METHOD]", 0, 64, help, NULL,
	  "List the methods, or the parameters and the result of one. It needs "
	  "no server. \"codec-ctl COMMAND --help\" does the same." },
	{ "reference", "", "[records]", 0, 1, reference, NULL,
	  "Print the reference of the protocol in Markdown: the second part "
	  "of docs/protocol-reference.md; or the JSON Schema of the lines of "
	  "codec-runner --records: docs/records.schema.json." },
};

enum {
	NCOMMANDS = sizeof(commands) / sizeof(commands[0]),
	LINE_MAX_BYTES = 64
};

/* "call.start" is "call start". */
static bool is_dotted(const char *dotted, const char *words)
{
	for (; *dotted && *words; dotted++, words++)
		if (*dotted != *words && (*dotted != '.' || *words != ' '))
			return false;
	return *dotted == *words;
}

/* How many of @words are the name of @c; 0: it is another command. */
static unsigned own_words(const struct command *c, const char *const *words,
			  unsigned n)
{
	size_t first = strcspn(c->words, " ");

	if (c->words[first] && is_dotted(words[0], c->words))
		return 1;
	if (strlen(words[0]) != first || strncmp(c->words, words[0], first))
		return 0;
	if (c->words[first])
		return n > 1 && !strcmp(c->words + first + 1, words[1]) ? 2 : 0;
	/* "call 7", but "call stpo" is a slip */
	if (!strcmp(c->words, "call"))
		return n < 2 || (words[1][0] >= '0' && words[1][0] <= '9');
	return 1;
}

/* --- help --- */

static int unknown_method(const char *name, struct cr_err *e)
{
	const char *names[64] = { NULL };
	char hint[400];
	unsigned n = 0;

	for (const struct method *m = methods; m->name && n < 63; m++)
		names[n++] = m->name;
	return cr_fail(e, -EINVAL, "help: unknown method '%.100s'; %s", name,
		       nearest_hint(name, names, hint, sizeof(hint)));
}

/* A method, a notification, or a command with a method. */
static const struct method *method_meant(const char *const *words, unsigned n)
{
	for (const struct method *m = notifications; m->name; m++)
		if (!strcmp(m->name, words[0]))
			return m;
	for (unsigned i = 0; i < NCOMMANDS; i++)
		if (own_words(&commands[i], words, n) && *commands[i].method)
			return method_find(commands[i].method);
	return method_find(words[0]);
}

static int help(struct ctl_request *r, const char *const *words, unsigned n,
		struct cr_err *e)
{
	r->print = print_help;
	r->about = n ? method_meant(words, n) : NULL;
	return n && !r->about ? unknown_method(words[0], e) : 0;
}

/* What the table says, as a sentence. */
static const char *help_of(const struct command *c, char *buf, size_t size)
{
	const struct method *m = method_find(c->method);

	if (c->help || !m)
		return c->help;
	(void)snprintf(buf, size, "%s.", m->help);
	if (*buf >= 'a' && *buf <= 'z')
		*buf = (char)(*buf - 'a' + 'A');
	return buf;
}

const struct cli_line *ctl_commands(void)
{
	static struct cli_line lines[NCOMMANDS + 1];
	static char left[NCOMMANDS][LINE_MAX_BYTES], right[NCOMMANDS][200];

	for (unsigned i = 0; i < NCOMMANDS; i++) {
		const struct command *c = &commands[i];

		(void)snprintf(left[i], sizeof(left[i]), "%s%s%s", c->words,
			       *c->usage ? " " : "", c->usage);
		lines[i] =
			(struct cli_line){ left[i], help_of(c, right[i],
							    sizeof(right[i])) };
	}
	return lines;
}

/* --- */

static int unknown(const char *words, struct cr_err *e)
{
	const char *names[NCOMMANDS + 1];
	char hint[300];

	for (unsigned i = 0; i < NCOMMANDS; i++)
		names[i] = commands[i].words;
	names[NCOMMANDS] = NULL;
	return cr_fail(e, -EINVAL, "unknown command '%.100s'; %s", words,
		       nearest_hint(words, names, hint, sizeof(hint)));
}

int ctl_request(struct ctl_request *r, const char *const *words, unsigned n,
		struct cr_err *e)
{
	const struct command *c = commands;
	char two[128];
	unsigned own = 0, rest;
	int rc;

	(void)snprintf(two, sizeof(two), "%s%s%s", words[0], n > 1 ? " " : "",
		       n > 1 ? words[1] : "");
	while (c < commands + NCOMMANDS && !(own = own_words(c, words, n)))
		c++;
	if (c == commands + NCOMMANDS)
		return unknown(strcmp(words[0], "call") &&
					       strcmp(words[0], "trace")
				       ? words[0]
				       : two,
			       e);
	rest = n - own;
	if (rest < c->min || rest > c->max)
		return cr_fail(e, -EINVAL, "usage: codec-ctl %s %s", c->words,
			       c->usage);
	*r = (struct ctl_request){ .view = c->view };
	(void)snprintf(r->method, sizeof(r->method), "%s", c->method);
	rc = c->build(r, words + own, rest, e);
	if (rc) {
		json_decref(r->params);
		r->params = NULL;
	}
	return rc;
}
