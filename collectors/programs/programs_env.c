/*
 * programs_env.c - PYTHONPATH.
 *
 * Threads    see programs_env.h
 */
#include "collectors/programs/programs_env.h"

#include "base/mem.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Cut the last folder off a path without a slash at its end; false if nothing is left. */
static bool path_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return false;
    *slash = '\0';
    return true;
}

/* Append ":BASE/lib:PARENT" if BASE has a folder lib. */
static void env_lib(struct ts_buf *out, const char *base)
{
    char lib[PATH_MAX + 8], up[PATH_MAX];
    struct stat st;
    (void)snprintf(lib, sizeof(lib), "%s/lib", base);
    if (stat(lib, &st) < 0 || !S_ISDIR(st.st_mode))
        return;
    ts_buf_printf(out, ":%s", lib);
    (void)snprintf(up, sizeof(up), "%s", base);
    if (path_up(up))
        ts_buf_printf(out, ":%s", up);
}

static void env_python(struct ts_buf *out, const char *folder)
{
    char base[PATH_MAX];
    if (!*folder || !realpath(folder, base))
        return;
    env_lib(out, base);
    if (path_up(base))
        env_lib(out, base);
}

void col_env_make(struct col_env *env, const char *folder)
{
    static const char name[] = "PYTHONPATH=";
    const char *before = getenv("PYTHONPATH");
    struct ts_buf more;
    size_t n = 0, k = 0;
    ts_buf_init(&env->python, 0);
    ts_buf_init(&more, 0);
    env_python(&more, folder);
    while (environ && environ[n])
        n++;
    env->vars = ts_xcalloc(n + 2, sizeof(*env->vars));
    if (more.n) {
        ts_buf_printf(&env->python, "%s%s%.*s", name, before ? before : "",
                      (int)more.n - !(before && *before), more.p + !(before && *before));
        ts_buf_char(&env->python, '\0');
        env->vars[k++] = env->python.p;
    }
    for (size_t i = 0; i < n; i++)
        if (!more.n || strncmp(environ[i], name, sizeof(name) - 1) != 0)
            env->vars[k++] = environ[i];
    ts_buf_release(&more);
}

void col_env_release(struct col_env *env)
{
    ts_free(env->vars);
    env->vars = NULL;
    ts_buf_release(&env->python);
}
