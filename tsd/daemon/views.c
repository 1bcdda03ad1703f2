/*
 * views.c - the folder of shared views.
 *
 * Threads    see views.h
 */
#include "tsd/daemon/views.h"

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define VIEWS_SUFFIX     ".json"
#define VIEWS_FILE_BYTES ((size_t)64 << 10) /* longest file that is read: an address with escapes fits */

static const char views_digits[] = "0123456789ABCDEF";

void tsd_views_init(struct tsd_views *v, const char *folder, const char *data, size_t n_max)
{
    *v = (struct tsd_views){.dir = *folder ? ts_fs_suffixed(folder, "") : ts_fs_join(data, "views"),
                            .n_max = n_max};
    pthread_mutex_init(&v->mu, NULL);
}

void tsd_views_release(struct tsd_views *v)
{
    if (!v->dir)
        return;
    ts_free(v->dir);
    v->dir = NULL;
    pthread_mutex_destroy(&v->mu);
}

/* --- names --- */

static bool views_plain(struct ts_slice text)
{
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] < 0x20 || text.p[i] == 0x7f)
            return false;
    return true;
}

static bool views_is_name(struct ts_slice name)
{
    return name.n && name.n <= TSD_VIEW_NAME_BYTES && views_plain(name) && name.p[0] != ' ' &&
           name.p[name.n - 1] != ' ';
}

/* The name of the file of a view. */
static void views_file(struct ts_slice name, struct ts_buf *out)
{
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];
        bool kept = c != '/' && c != '\\' && c != '%' && (c != '.' || i > 0);
        (void)ts_buf_char(out, kept ? (char)c : '%');
        if (!kept) {
            (void)ts_buf_char(out, views_digits[c >> 4]);
            (void)ts_buf_char(out, views_digits[c & 15]);
        }
    }
    (void)ts_buf_str(out, VIEWS_SUFFIX);
}

static int views_digit(char c)
{
    const char *at = c ? strchr(views_digits, c) : NULL;
    return at ? (int)(at - views_digits) : -1;
}

/* The name of the view of a file; false: the file has not the name that views_file gives to any view. */
static bool views_name(const char *file, struct ts_buf *out)
{
    size_t n = strlen(file) - strlen(VIEWS_SUFFIX);
    struct ts_buf again;
    for (size_t i = 0; i < n; i++) {
        bool coded =
            file[i] == '%' && i + 2 < n && views_digit(file[i + 1]) >= 0 && views_digit(file[i + 2]) >= 0;
        (void)ts_buf_char(out,
                          coded ? (char)(views_digit(file[i + 1]) * 16 + views_digit(file[i + 2])) : file[i]);
        i += coded ? 2 : 0;
    }
    ts_buf_init(&again, 0);
    views_file(ts_buf_get(out), &again);
    bool same = views_is_name(ts_buf_get(out)) && ts_slice_is(ts_buf_get(&again), file);
    ts_buf_release(&again);
    return same;
}

static int views_check_name(struct ts_slice name, struct ts_error *err)
{
    if (views_is_name(name))
        return 0;
    return ts_error_set(
        err, TS_EINVAL,
        "the name of a view has 1 to %u bytes, no control characters, and no blank at its ends",
        TSD_VIEW_NAME_BYTES);
}

static int views_check_address(struct ts_slice address, struct ts_error *err)
{
    if (address.n && address.n <= TSD_VIEW_ADDRESS_BYTES && views_plain(address) && address.p[0] != '#')
        return 0;
    return ts_error_set(
        err, TS_EINVAL,
        "the address of a view has 1 to %u bytes, no control characters, and no # at its beginning",
        TSD_VIEW_ADDRESS_BYTES);
}

/* --- the list --- */

/* Names of files. */
struct views_list {
    char **files;
    size_t n, cap; /* used, allocated */
};

static int views_collect(void *arg, const char *file)
{
    struct views_list *l = arg;
    size_t n = strlen(file), n_suffix = strlen(VIEWS_SUFFIX);
    if (n <= n_suffix || file[0] == '.' || strcmp(file + n - n_suffix, VIEWS_SUFFIX) != 0)
        return 0;
    if (l->n == TSD_VIEWS_LISTED)
        return TS_ELIMIT;
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 16;
        l->files = ts_xrealloc(l->files, l->cap * sizeof(*l->files));
    }
    l->files[l->n++] = ts_fs_suffixed(file, "");
    return 0;
}

static int views_cmp(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void views_list_release(struct views_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        ts_free(l->files[i]);
    ts_free(l->files);
}

/* The files of views in the folder, sorted; none if it is missing. */
static int views_list(struct tsd_views *v, struct views_list *l, struct ts_error *err)
{
    *l = (struct views_list){.n = 0};
    int rc = ts_fs_real()->list(ts_fs_real(), v->dir, views_collect, l, err);
    if (rc == TS_ELIMIT)
        rc = ts_error_set(err, TS_ELIMIT, "the folder of views %s has more than %u files", v->dir,
                          TSD_VIEWS_LISTED);
    if (rc < 0)
        views_list_release(l);
    if (rc < 0)
        *l = (struct views_list){.n = 0};
    if (l->n)
        qsort(l->files, l->n, sizeof(*l->files), views_cmp);
    return rc == TS_ENOTFOUND ? 0 : rc;
}

/* Read the address out of a file; *root keeps it. Returns why it is no view, or NULL. */
static const char *views_read(const char *path, json_t **root, struct ts_slice *out)
{
    struct ts_error err = {0};
    char *text = NULL;
    size_t n = 0;
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) /* to open a named pipe would wait for its writer */
        return "it is not a regular file";
    int rc = ts_fs_read_file(ts_fs_real(), path, VIEWS_FILE_BYTES, &text, &n, &err);
    if (rc < 0)
        return rc == TS_ELIMIT ? "it has more than 64 KiB" : "it cannot be read";
    rc = ts_json_load((struct ts_slice){text, n}, root, &err);
    ts_free(text);
    if (rc < 0)
        return "it is not JSON";
    const json_t *address = json_object_get(*root, "address");
    if (!json_is_string(address))
        return "it has no member address with a text";
    *out = (struct ts_slice){json_string_value(address), json_string_length(address)};
    return views_check_address(*out, &err) < 0
               ? "its address is empty, too long, begins with # or has control characters"
               : NULL;
}

static int views_one(struct tsd_views *v, const char *file,
                     int (*each)(void *arg, const struct tsd_view *view), void *arg)
{
    struct tsd_view view = {.file = file};
    struct ts_buf name;
    json_t *root = NULL;
    char *path = ts_fs_join(v->dir, file);
    ts_buf_init(&name, 0);
    if (!views_name(file, &name))
        view.problem = "its name is not that of a view";
    else
        view.problem = views_read(path, &root, &view.address);
    if (view.problem)
        view.address = (struct ts_slice){"", 0};
    else
        view.name = ts_buf_get(&name);
    int rc = each(arg, &view);
    json_decref(root);
    ts_buf_release(&name);
    ts_free(path);
    return rc;
}

int tsd_views_each(struct tsd_views *v, int (*each)(void *arg, const struct tsd_view *view), void *arg,
                   struct ts_error *err)
{
    struct views_list l;
    TS_TRY(views_list(v, &l, err));
    int rc = 0;
    for (size_t i = 0; i < l.n && rc >= 0; i++)
        rc = views_one(v, l.files[i], each, arg);
    views_list_release(&l);
    return rc < 0 ? rc : 0;
}

/* --- changes --- */

/* The path of a view; ts_free it. */
static char *views_path(const struct tsd_views *v, struct ts_slice name)
{
    struct ts_buf file;
    ts_buf_init(&file, 0);
    views_file(name, &file);
    (void)ts_buf_char(&file, 0);
    char *path = ts_fs_join(v->dir, ts_buf_get(&file).p);
    ts_buf_release(&file);
    return path;
}

/* Is there room for one more? */
static int views_room(struct tsd_views *v, struct ts_error *err)
{
    struct views_list l;
    TS_TRY(views_list(v, &l, err));
    size_t n = l.n;
    views_list_release(&l);
    if (n < v->n_max)
        return 0;
    return ts_error_set(err, TS_ELIMIT, "there are %zu shared views; views_max is %zu", n, v->n_max);
}

/* With the mutex. */
static int views_write(struct tsd_views *v, const char *path, struct ts_slice name, struct ts_slice text,
                       bool replace, struct ts_error *err)
{
    int there = ts_fs_exists(ts_fs_real(), path, err);
    if (there < 0)
        return there;
    if (there && !replace)
        return ts_error_set(err, TS_EEXIST, "there is a shared view %.*s already: PUT replaces it",
                            (int)name.n, name.p);
    if (!there)
        TS_TRY(views_room(v, err));
    TS_TRY(ts_fs_mkdirs(ts_fs_real(), v->dir, err));
    return ts_fs_write_atomic(ts_fs_real(), path, text.p, text.n, err);
}

int tsd_views_save(struct tsd_views *v, struct ts_slice name, struct ts_slice address, bool replace,
                   struct ts_error *err)
{
    struct ts_buf text;
    struct ts_json j;
    TS_TRY(views_check_name(name, err));
    TS_TRY(views_check_address(address, err));
    char *path = views_path(v, name);
    ts_buf_init(&text, 0);
    ts_json_init(&j, &text);
    ts_json_obj(&j);
    ts_json_member_slice(&j, "address", address);
    ts_json_obj_end(&j);
    (void)ts_buf_char(&text, '\n');
    pthread_mutex_lock(&v->mu);
    int rc = views_write(v, path, name, ts_buf_get(&text), replace, err);
    pthread_mutex_unlock(&v->mu);
    ts_buf_release(&text);
    ts_free(path);
    return rc;
}

int tsd_views_remove(struct tsd_views *v, struct ts_slice name, struct ts_error *err)
{
    TS_TRY(views_check_name(name, err));
    char *path = views_path(v, name);
    pthread_mutex_lock(&v->mu);
    int rc = ts_fs_real()->unlink(ts_fs_real(), path, err);
    if (rc == 0)
        rc = ts_fs_sync_folder_of(ts_fs_real(), path, err);
    pthread_mutex_unlock(&v->mu);
    ts_free(path);
    return rc == TS_ENOTFOUND ? ts_error_set(err, rc, "there is no shared view %.*s", (int)name.n, name.p)
                              : rc;
}
