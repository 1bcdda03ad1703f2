/*
 * gexp.c - parses the text of functions into trees, and collects the sub queries of trees.
 */
#include "query/functions/gexp.h"

#include "base/cut.h"
#include "base/near.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>

struct parser {
    struct ts_slice text;
    size_t at; /* next byte */
    int depth;
    size_t n_nodes;
    bool compat;
    struct ts_arena *arena;
    struct ts_error *err;
};

static int fail(struct parser *p, size_t at, const char *why)
{
    return ts_error_set(p->err, TS_EPARSE, "Failed to parse %.*s: %s at position %zu", TS_SHOWN(p->text, 100),
                        why, at + 1);
}

static void blanks(struct parser *p)
{
    while (p->at < p->text.n && isspace((unsigned char)p->text.p[p->at]))
        p->at++;
}

static char peek(const struct parser *p)
{
    return p->at < p->text.n ? p->text.p[p->at] : 0;
}

/* --- sub queries --- */
static bool is_word(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("*-_#/$@|.'[]", c));
}

static size_t word_bytes(struct ts_slice s, size_t from)
{
    size_t n = 0;
    while (from + n < s.n && is_word(s.p[from + n]))
        n++;
    return n;
}

/* A star stands alone or not at all. */
static bool good_word(struct ts_slice s, size_t from, size_t n)
{
    return n && (n == 1 || !memchr(s.p + from, '*', n));
}

/* What OpenTSDB reads here: agg:[word:][word:]metric[{k=v,...}]. */
static bool is_simple(struct ts_slice s)
{
    size_t at = 0, n, n_parts = 0;
    for (;; at++) {
        n = word_bytes(s, at);
        if (!good_word(s, at, n))
            return false;
        at += n;
        n_parts++;
        if (at == s.n || s.p[at] != ':')
            break;
    }
    if (n_parts < 2 || n_parts > 4)
        return false;
    if (at == s.n)
        return true;
    if (s.p[at] != '{')
        return false;
    do {
        at++;
        n = word_bytes(s, at);
        if (!good_word(s, at, n) || at + n == s.n || s.p[at + n] != '=')
            return false;
        at += n + 1;
        n = word_bytes(s, at);
        if (!good_word(s, at, n))
            return false;
        at += n;
    } while (at < s.n && s.p[at] == ',');
    return at + 1 == s.n && s.p[at] == '}';
}

/* Text up to ',' or ')' outside of brackets, blanks outside of parentheses left out. */
static int parse_sub(struct parser *p, struct qry_gexp_node *out)
{
    size_t from = p->at, n = 0;
    int round = 0, braces = 0;
    char *copy = ts_arena_alloc(p->arena, p->text.n - p->at + 1);
    for (; p->at < p->text.n; p->at++) {
        char c = p->text.p[p->at];
        if (!round && !braces && (c == ',' || c == ')'))
            break;
        round += c == '(' ? 1 : c == ')' ? -1 : 0;
        braces += c == '{' ? 1 : c == '}' ? -1 : 0;
        if (round < 0 || braces < 0)
            return fail(p, p->at, "a bracket too much");
        if (round || !isspace((unsigned char)c))
            copy[n++] = c;
    }
    if (p->at == p->text.n)
        return fail(p, p->at, "the text ends inside a sub query, ',' or ')' is wanted");
    out->sub_text = (struct ts_slice){copy, n};
    if (p->compat && !is_simple(out->sub_text))
        return fail(p, from, "not agg:[word:][word:]metric[{k=v,...}]");
    return 0;
}

/* --- words --- */
static int parse_word(struct parser *p, struct ts_slice *out)
{
    size_t from = p->at;
    char quote = peek(p);
    if (quote == '\'' || quote == '"') {
        const char *end = memchr(p->text.p + from + 1, quote, p->text.n - from - 1);
        if (!end)
            return fail(p, from, "a quote without end");
        p->at = (size_t)(end - p->text.p) + 1;
        *out = (struct ts_slice){p->text.p + from + 1, p->at - from - 2};
    } else {
        while (p->at < p->text.n && p->text.p[p->at] != ',' && p->text.p[p->at] != ')')
            p->at++;
        *out = ts_slice_trim((struct ts_slice){p->text.p + from, p->at - from});
        if (word_bytes(*out, 0) != out->n)
            return fail(p, from + word_bytes(*out, 0), "a character that no word has");
    }
    if (!out->n)
        return fail(p, from, "a query or a word is wanted");
    out->p = ts_arena_strndup(p->arena, out->p, out->n);
    return 0;
}

/* --- calls --- */
static int unknown_function(const struct parser *p, struct ts_slice name)
{
    struct ts_near near;
    int rc = ts_error_set(p->err, TS_EINVAL, "Function %.*s has not been implemented", TS_SHOWN(name, 100));
    if (p->compat)
        return rc;
    ts_near_init(&near, name);
    qry_function_see_all(&near);
    ts_near_hint(&near, p->err);
    return rc;
}

static int parse_call(struct parser *p, struct qry_gexp_node **out);

static int new_node(struct parser *p, struct qry_gexp_node **out)
{
    if (++p->n_nodes > QRY_GEXP_MAX_NODES)
        return ts_error_set(p->err, TS_ELIMIT, "The expression has more than %d calls and sub queries",
                            QRY_GEXP_MAX_NODES);
    *out = ts_arena_zalloc(p->arena, sizeof **out);
    return 0;
}

static int add_set(struct parser *p, struct qry_gexp_node *call, struct qry_gexp_node *arg, size_t at)
{
    if (call->n_words)
        return fail(p, at, "queries come before words");
    if (call->n_args == call->fn->max_sets)
        return ts_error_set(p->err, TS_EINVAL, "%s takes at most %u queries: %s", call->fn->name,
                            call->fn->max_sets, call->fn->usage);
    call->args[call->n_args++] = arg;
    return 0;
}

static int parse_param(struct parser *p, struct qry_gexp_node *call)
{
    struct qry_gexp_node *arg = NULL;
    size_t at = p->at, k = p->at;
    char quote = peek(p);
    while (k < p->text.n && !strchr("(:{,)", p->text.p[k]))
        k++;
    char mark = quote == '\'' || quote == '"' || k == p->text.n ? 0 : p->text.p[k];
    if (mark == '(') {
        TS_TRY(parse_call(p, &arg));
        return add_set(p, call, arg, at);
    }
    if (mark == ':' || mark == '{') {
        TS_TRY(new_node(p, &arg));
        TS_TRY(parse_sub(p, arg));
        return add_set(p, call, arg, at);
    }
    if (call->n_words == call->fn->n_words)
        return ts_error_set(p->err, TS_EINVAL, "%s takes %u words: %s", call->fn->name, call->fn->n_words,
                            call->fn->usage);
    return parse_word(p, &call->words[call->n_words++]);
}

static int check_call(struct parser *p, const struct qry_gexp_node *call)
{
    const struct qry_function *f = call->fn;
    int64_t shift = 0;
    if (call->n_args < f->min_sets || call->n_words < f->n_words)
        return ts_error_set(p->err, TS_EINVAL, "%s has too few arguments: %s", f->name, f->usage);
    struct qry_fn_args args = {.words = call->words, .n_words = call->n_words};
    return f->check ? f->check(f, &args, p->compat, &shift, p->err) : 0;
}

static int parse_call(struct parser *p, struct qry_gexp_node **out)
{
    struct qry_gexp_node *call = NULL;
    size_t from = p->at;
    if (++p->depth > QRY_GEXP_MAX_DEPTH)
        return ts_error_set(p->err, TS_ELIMIT, "The expression has calls more than %d levels deep",
                            QRY_GEXP_MAX_DEPTH);
    while (isalnum((unsigned char)peek(p)) || peek(p) == '_')
        p->at++;
    struct ts_slice name = {p->text.p + from, p->at - from};
    blanks(p);
    if (!name.n || peek(p) != '(')
        return fail(p, p->at, "the name of a function and '(' are wanted");
    TS_TRY(new_node(p, &call));
    call->fn = qry_function_find(name);
    if (!call->fn)
        return unknown_function(p, name);
    call->args = ts_arena_alloc(p->arena, call->fn->max_sets * sizeof *call->args);
    call->words = ts_arena_alloc(p->arena, (call->fn->n_words + 1) * sizeof *call->words);
    do {
        p->at++;
        blanks(p);
        TS_TRY(parse_param(p, call));
        blanks(p);
    } while (peek(p) == ',');
    if (peek(p) != ')')
        return fail(p, p->at, "',' or ')' is wanted");
    p->at++;
    p->depth--;
    *out = call;
    return check_call(p, call);
}

int qry_gexp_tree(struct ts_slice text, bool compat, struct ts_arena *arena, struct qry_gexp_node **out,
                  struct ts_error *err)
{
    struct parser p = {.text = text, .compat = compat, .arena = arena, .err = err};
    *out = NULL;
    if (text.n > QRY_GEXP_MAX_BYTES)
        return ts_error_set(err, TS_ELIMIT, "The expression has %zu bytes, more than %d", text.n,
                            QRY_GEXP_MAX_BYTES);
    blanks(&p);
    TS_TRY(parse_call(&p, out));
    blanks(&p);
    return p.at == text.n ? 0 : fail(&p, p.at, "text behind the call");
}

/* --- sub queries to run --- */
struct planner {
    struct qry_gexp *g;
    struct ts_slice *texts; /* [spec.n_subs to be] different sub queries */
    size_t n_texts;
    bool compat;
};

static int plan_node(struct planner *pl, struct qry_gexp_node *node, int64_t shift_ms, struct ts_error *err)
{
    struct qry_gexp *g = pl->g;
    if (node->fn) {
        struct qry_fn_args args = {.words = node->words, .n_words = node->n_words};
        int64_t own = 0;
        if (node->fn->check)
            TS_TRY(node->fn->check(node->fn, &args, pl->compat, &own, err));
        if (shift_ms > INT64_MAX / 4 - own)
            return ts_error_set(err, TS_EINVAL, "%s: too long", node->fn->name);
        for (size_t i = 0; i < node->n_args; i++)
            TS_TRY(plan_node(pl, node->args[i], shift_ms + own, err));
        return 0;
    }
    struct qry_gexp_leaf leaf = {.shift_ms = shift_ms};
    while (leaf.sub < pl->n_texts && !ts_slice_eq(pl->texts[leaf.sub], node->sub_text))
        leaf.sub++;
    if (leaf.sub == pl->n_texts)
        pl->texts[pl->n_texts++] = node->sub_text;
    node->leaf = 0;
    while (node->leaf < g->n_leaves &&
           (g->leaves[node->leaf].sub != leaf.sub || g->leaves[node->leaf].shift_ms != shift_ms))
        node->leaf++;
    if (node->leaf == g->n_leaves)
        g->leaves[g->n_leaves++] = leaf;
    return 0;
}

/* The request's own parameters, with the different sub queries as m. */
static int make_spec(struct planner *pl, const struct qry_param *params, size_t n, int64_t now_ms,
                     struct ts_arena *arena, struct ts_error *err)
{
    struct qry_param *all = ts_arena_alloc(arena, (n + pl->n_texts + 1) * sizeof *all);
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (!ts_slice_is(params[i].name, "m") && !ts_slice_is(params[i].name, "tsuid") &&
            !ts_slice_is(params[i].name, "tsuids"))
            all[k++] = params[i];
    for (size_t i = 0; i < pl->n_texts; i++)
        all[k++] = (struct qry_param){TS_SLICE_LIT("m"), pl->texts[i]};
    TS_TRY(qry_parse_params(all, k, now_ms, pl->compat, arena, &pl->g->spec, err));
    if (pl->g->spec.n_subs != pl->n_texts)
        TS_BUG("%zu sub queries of %zu", pl->g->spec.n_subs, pl->n_texts);
    if (pl->g->spec.by_on)
        return ts_error_set(err, TS_EINVAL, "Functions work on series: leave out by");
    return 0;
}

int qry_gexp_parse(const struct qry_param *params, size_t n, int64_t now_ms, bool compat,
                   struct ts_arena *arena, struct qry_gexp *out, struct ts_error *err)
{
    struct planner pl = {.g = out, .compat = compat};
    *out = (struct qry_gexp){0};
    out->exps = ts_arena_alloc(arena, (n + 1) * sizeof(*out->exps));
    for (size_t i = 0; i < n; i++) {
        if (!ts_slice_is(params[i].name, "exp"))
            continue;
        TS_TRY(qry_gexp_tree(params[i].value, compat, arena, &out->exps[out->n_exps], err));
        out->n_exps++;
    }
    if (!out->n_exps)
        return ts_error_set(err, TS_EINVAL, "Missing parameter <code>exp</code>");
    size_t most = out->n_exps * QRY_GEXP_MAX_NODES;
    if (most > QRY_GEXP_MAX_NODES * 10)
        return ts_error_set(err, TS_ELIMIT, "More than 10 expressions in a request");
    pl.texts = ts_arena_alloc(arena, most * sizeof *pl.texts);
    out->leaves = ts_arena_alloc(arena, most * sizeof *out->leaves);
    for (size_t i = 0; i < out->n_exps; i++)
        TS_TRY(plan_node(&pl, out->exps[i], 0, err));
    return make_spec(&pl, params, n, now_ms, arena, err);
}
