/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which dialog a request is about.
 */
#include "cmocka_cr.h"

#include <string.h>

#include "ng/dialog.h"

static struct ng_calls calls;
static unsigned gone;

static void count(void *arg, struct ng_side *s)
{
	(void)arg, (void)s;
	gone++;
}

static int fresh(void **state)
{
	RB_INIT(&calls.tree);
	calls.n = 0;
	gone = 0;
	return 0;
}

/* An offer of @from at @branch; NULL is read as one that was made. */
static struct ng_dialog *offered(struct ng_call *call, const char *from,
				 const char *to, const char *branch)
{
	static const char text[] = "v=0\r\no=- 1 1 IN IP4 10.0.0.1\r\ns=-\r\n"
				   "c=IN IP4 10.0.0.1\r\nt=0 0\r\n"
				   "m=audio 4000 RTP/AVP 0\r\n";
	const struct ng_dialog_key w = { from, to, branch };
	struct ng_dialog *d = ng_dialog_new(call, &w, 1);
	struct cr_err e;

	assert_non_null(d);
	assert_int_equal(sdp_read(&d->offer, text, strlen(text), &e), 0);
	return d;
}

static struct ng_dialog *of_offer(struct ng_call *c, const char *from,
				  const char *to, const char *branch)
{
	const struct ng_dialog_key w = { from, to, branch };

	return ng_dialog_of_offer(c, &w);
}

static struct ng_dialog *of_answer(struct ng_call *c, const char *from,
				   const char *to, const char *branch)
{
	const struct ng_dialog_key w = { from, to, branch };

	return ng_dialog_of_answer(c, &w);
}

static bool meant(const struct ng_dialog *d, const char *from, const char *to,
		  const char *branch)
{
	const struct ng_dialog_key w = { from, to, branch };

	return ng_dialog_matches(d, &w);
}

static bool is_overtaken(struct ng_call *c, const char *from, const char *to)
{
	const struct ng_dialog_key w = { from, to, NULL };

	return ng_dialog_is_overtaken(c, &w);
}

static void answered(struct ng_dialog *d, const char *tag)
{
	assert_int_equal(ng_dialog_tag(d, !d->offerer, tag), 0);
	d->known = true;
}

static void end(struct ng_call *c)
{
	while (!LIST_EMPTY(&c->dialogs))
		ng_dialog_free(LIST_FIRST(&c->dialogs), count, NULL);
	assert_true(LIST_EMPTY(&c->sides));
	ng_call_free(&calls, c);
}

static void calls_are_found_by_their_ids(void **state)
{
	static const char *const id[] = { "b", "a", "c", "ab" };
	static const char *const sorted[] = { "a", "ab", "b", "c" };
	struct ng_call *c;

	for (unsigned i = 0; i < 4; i++)
		assert_non_null(ng_call_new(&calls, id[i]));
	assert_int_equal(calls.n, 4);
	c = ng_call_first(&calls);
	for (unsigned i = 0; i < 4; i++, c = ng_call_next(c))
		assert_string_equal(c->id, sorted[i]);
	assert_null(c);
	assert_null(ng_call_find(&calls, "d"));
	while ((c = ng_call_first(&calls)))
		end(c);
	assert_int_equal(calls.n, 0);
}

static void a_call_with_one_answer(void **state)
{
	struct ng_call *c = ng_call_new(&calls, "c");
	struct ng_dialog *d;

	assert_null(of_offer(c, "a", NULL, NULL));
	d = offered(c, "a", NULL, NULL);
	assert_ptr_equal(of_offer(c, "a", NULL, NULL), d); /* repeated */
	assert_null(of_offer(c, "z", NULL, NULL));
	assert_null(of_answer(c, "z", "b", NULL));
	assert_ptr_equal(of_answer(c, "a", "b", NULL), d);
	answered(d, "b");
	assert_ptr_equal(of_answer(c, "a", "b", NULL), d);
	assert_ptr_equal(of_offer(c, "a", "b", NULL), d);
	assert_ptr_equal(of_offer(c, "b", "a", NULL), d);
	/* one tag is enough; of the caller a new branch is a fork */
	assert_ptr_equal(of_offer(c, "b", NULL, NULL), d);
	assert_ptr_equal(of_offer(c, "b", NULL, "b's"), d);
	assert_ptr_equal(of_offer(c, "a", NULL, NULL), d);
	assert_null(of_offer(c, "a", NULL, "new"));
	assert_null(of_offer(c, "z", NULL, NULL));
	assert_true(is_overtaken(c, "b", "a"));
	assert_false(is_overtaken(c, "a", "b"));
	/* who has not offered is not answered */
	assert_null(of_answer(c, "b", "a", NULL));
	d->offerer = 1;
	assert_ptr_equal(of_answer(c, "b", "a", NULL), d);
	assert_int_equal(ng_dialog_number(d, "a"), 0);
	assert_int_equal(ng_dialog_number(d, "b"), 1);
	end(c);
	assert_int_equal(gone, 2);
}

static bool waits_for(const char *to, const char *from_tag, const char *to_tag,
		      const char *branch)
{
	const struct ng_dialog_key asked = { "a", to, "1" };
	const struct ng_dialog_key w = { from_tag, to_tag, branch };

	return ng_dialog_key_find(&asked, &w);
}

/* What "a" has asked, and what is deleted meanwhile. */
static void a_delete_means_what_waits_if_the_tags_say_so(void **state)
{
	assert_true(waits_for(NULL, NULL, NULL, NULL));
	assert_true(waits_for(NULL, "a", NULL, "1"));
	assert_false(waits_for(NULL, "a", NULL, "2"));
	assert_true(waits_for(NULL, "a", "b", NULL)); /* who may be "b" */
	assert_false(waits_for(NULL, "b", NULL, NULL));
	assert_true(waits_for("b", "b", NULL, NULL));
	assert_true(waits_for("b", "a", "b", NULL));
	assert_true(waits_for("b", "b", "a", NULL));
	assert_false(waits_for("b", "a", "c", NULL)); /* another dialog */
	assert_false(waits_for("b", "b", "c", NULL));
}

/* The proxy has forked: each branch has its own dialog, and they share the
 * caller. */
static void branches(void **state)
{
	struct ng_call *c = ng_call_new(&calls, "c");
	struct ng_dialog *x = offered(c, "a", NULL, "x");
	struct ng_dialog *y = offered(c, "a", NULL, "y");

	assert_ptr_equal(x->side[0], y->side[0]);
	assert_ptr_not_equal(x->side[1], y->side[1]);
	assert_ptr_equal(of_offer(c, "a", NULL, "x"), x);
	assert_ptr_equal(of_offer(c, "a", NULL, "y"), y);
	assert_null(of_offer(c, "a", NULL, NULL));
	assert_ptr_equal(of_answer(c, "a", "bx", "x"), x);
	assert_ptr_equal(of_answer(c, "a", "by", "y"), y);
	assert_null(of_answer(c, "a", "bx", NULL)); /* of which? */
	answered(x, "bx");
	answered(y, "by");
	assert_ptr_equal(of_offer(c, "bx", NULL, NULL), x);
	assert_ptr_equal(of_offer(c, "by", NULL, "z"), y);
	assert_ptr_equal(of_offer(c, "a", NULL, NULL), y);
	assert_null(of_offer(c, "a", NULL, "z"));
	assert_ptr_equal(of_answer(c, "a", "by", NULL), y);
	assert_true(meant(x, "a", NULL, NULL) && meant(y, "a", NULL, NULL));
	assert_true(meant(x, "a", NULL, "x") && !meant(y, "a", NULL, "x"));
	assert_true(meant(x, "a", "bx", NULL) && !meant(y, "a", "bx", NULL));
	assert_true(meant(x, "bx", "a", NULL));
	assert_true(meant(x, NULL, NULL, NULL));
	assert_false(meant(x, "z", NULL, NULL));
	ng_dialog_free(x, count, NULL);
	assert_int_equal(gone, 1); /* bx; the caller still talks */
	end(c);
	assert_int_equal(gone, 3);
}

/* Somebody forks behind the proxy: one branch, several answers. The last one
 * counts. */
static void several_answers_at_one_branch(void **state)
{
	struct ng_call *c = ng_call_new(&calls, "c");
	struct ng_dialog *d = offered(c, "a", NULL, NULL);

	answered(d, "b1");
	assert_ptr_equal(of_answer(c, "a", "b2", NULL), d);
	answered(d, "b2");
	assert_null(of_offer(c, "a", "b1", NULL));
	assert_ptr_equal(of_offer(c, "b2", "a", NULL), d);
	/* a late word of the one that lost ends nothing */
	assert_false(meant(d, "a", "b1", NULL));
	end(c);
}

/* Who never answered has a tag that nobody has told: a CANCEL, or a 486. */
static void what_never_was_answered_is_deleted(void **state)
{
	struct ng_call *c = ng_call_new(&calls, "c");
	struct ng_dialog *d = offered(c, "a", NULL, NULL);

	assert_true(meant(d, "a", "b", NULL));
	assert_true(meant(d, "a", NULL, NULL));
	assert_true(meant(d, "a", NULL, "branch")); /* it was not said before */
	end(c);
}

/* The offer is in the answer to an INVITE, the answer in its ACK. */
static void late_offers_have_both_tags(void **state)
{
	struct ng_call *c = ng_call_new(&calls, "c");
	struct ng_dialog *d = offered(c, "b", "a", NULL);

	assert_string_equal(d->side[0]->tag, "b");
	assert_string_equal(d->side[1]->tag, "a");
	assert_ptr_equal(of_answer(c, "b", "a", NULL), d);
	assert_null(of_answer(c, "a", "b", NULL));
	end(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(calls_are_found_by_their_ids, fresh),
		cmocka_unit_test_setup(a_call_with_one_answer, fresh),
		cmocka_unit_test_setup(branches, fresh),
		cmocka_unit_test_setup(several_answers_at_one_branch, fresh),
		cmocka_unit_test_setup(what_never_was_answered_is_deleted,
				       fresh),
		cmocka_unit_test_setup(late_offers_have_both_tags, fresh),
		cmocka_unit_test(a_delete_means_what_waits_if_the_tags_say_so),
	};

	return cmocka_run_group_tests_name("dialog", tests, NULL, NULL);
}
