/* SPDX-License-Identifier: MIT */
/* Slash commands: a prompt "/name rest" runs a command instead of a turn, and what it says comes as
 * a message.  Nothing of it joins the conversation.  A skill is a command, too: its prompt goes to
 * the model with the text of the skill.  Other words behind a slash are ordinary text. */
#include "dialects/acp/methods.h"

#include "base/path.h"
#include "base/utf8.h"
#include "context/export.h"
#include "context/instructions.h"
#include "context/skills.h"
#include "dialects/undone.h"
#include "mcp/config.h"
#include "mcp/hub.h"

/* ---- looking ---- */

static bool help_await(struct acp_session *s, struct str args, struct buf *out, struct error *err)
{
    (void)s, (void)args, (void)err;
    for (const struct acp_command *c = acp_commands; c->name; c++)
        buf_addf(out, "- `/%s%s%s` %s\n", c->name, c->hint ? " " : "", c->hint ? c->hint : "",
                 c->about);
    return true;
}

static bool status_await(struct acp_session *s, struct str args, struct buf *out, struct error *err)
{
    struct session_info info;
    const struct usage *u = &info.usage;
    (void)args, (void)err;
    session_info(s->session, &info);
    buf_addf(out, "- session: %s%s%.*s\n", s->id, info.name.n ? ", " : "", STR_FMT(info.name));
    buf_addf(out, "- file: `%.*s`\n", STR_FMT(info.path));
    buf_addf(out, "- workspace: `%.*s`\n", STR_FMT(s->cwd));
    buf_addf(out, "- model: %.*s %.*s\n", STR_FMT(info.model), STR_FMT(info.effort));
    buf_addf(out, "- mode: %s\n", s->mode->name);
    buf_addf(out, "- context: %lld of %lld tokens, %lld messages\n", (long long)info.context_tokens,
             (long long)session_window(s->session), (long long)info.n_messages);
    buf_addf(out, "- used: %lld tokens in, %lld out", (long long)u->input, (long long)u->output);
    if (u->cost > 0)
        buf_addf(out, ", $%.4f", u->cost);
    buf_addc(out, '\n');
    return true;
}

static bool tools_await(struct acp_session *s, struct str args, struct buf *out, struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n;
    const struct tool **tools = engine_tools(s->acp->sv->engine, &s->settings, s->cwd, &a, &n);
    (void)args, (void)err;
    for (size_t i = 0; i < n; i++) {
        struct str first;
        str_split(str_of(tools[i]->about), '.', &first);
        buf_addf(out, "- `%s` %.*s\n", tools[i]->name, STR_FMT(first));
    }
    return true;
}

static bool skills_await(struct acp_session *s, struct str args, struct buf *out, struct error *err)
{
    const struct skills *skills = profile_skills_await(s->acp->sv->engine, s->cwd);
    (void)args, (void)err;
    for (size_t i = 0; i < skills->n; i++) {
        buf_addf(out, "- `/%.*s` ", STR_FMT(skills->items[i].name));
        skill_preview(&skills->items[i], out);
        buf_addc(out, '\n');
    }
    if (!skills->n)
        buf_addz(out, "There are no skills: they lie in .agents/skills/NAME/SKILL.md of the "
                      "workspace or of the home directory, and in ~/.config/trivet/skills.\n");
    return true;
}

static bool memory_await(struct acp_session *s, struct str args, struct buf *out, struct error *err)
{
    AUTO(instructions) struct instructions all = INSTRUCTIONS_INIT;
    (void)args, (void)err;
    instructions_find(&all, s->cwd, s->settings.instructions);
    for (size_t i = 0; i < all.n; i++)
        buf_addf(out, "- `%.*s` %lld bytes, sent with every request\n", STR_FMT(all.files[i].path),
                 (long long)all.files[i].bytes);
    if (!all.n)
        buf_addz(out,
                 "There is none: what AGENTS.md of the workspace says would be sent with every "
                 "request.\n");
    return true;
}

static bool mcp_await(struct acp_session *s, struct str args, struct buf *out, struct error *err)
{
    struct mcp_hub *hub = session_hub(s->session);
    size_t n = hub ? mcp_hub_count(hub) : 0;
    (void)args, (void)err;
    for (size_t i = 0; i < n; i++) {
        struct mcp_status st = mcp_hub_status(hub, i);
        buf_addf(out, "- %.*s: %s, %zu tools%s%.*s\n", STR_FMT(st.config->name), st.state,
                 st.n_tools, st.trouble.n ? "; " : "", STR_FMT(st.trouble));
    }
    struct str untrusted = session_untrusted_servers(s->session);
    if (untrusted.n)
        buf_addf(out,
                 "The servers of `%.*s` are not started: look at the file, then run "
                 "`trivet mcp trust`.\n",
                 STR_FMT(untrusted));
    else if (!n)
        buf_addz(out, "There are no MCP servers yet; those of the user, of the project and of the "
                      "editor start with the first prompt.\n");
    return true;
}

static bool permissions_await(struct acp_session *s, struct str args, struct buf *out,
                              struct error *err)
{
    static const char *const verdicts[] = {"", "allow", "ask", "deny"};
    enum verdict verdict;
    struct str text;
    (void)args, (void)err;
    buf_addf(out, "- mode: %s\n", s->mode->name);
    for (size_t i = 0; (text = rules_line(&s->rules, i, &verdict)).p; i++)
        buf_addf(out, "- %s `%.*s`\n", verdicts[verdict], STR_FMT(text));
    return true;
}

/* ---- doing ---- */

static bool compact_await(struct acp_session *s, struct str args, struct buf *out,
                          struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct compact_outcome done;
    if (!session_compact_await(s->session, args, &a, &done, err))
        return false;
    buf_addf(out, "The conversation was summed up: about %lld tokens instead of %lld.\n",
             (long long)done.tokens_after, (long long)done.tokens_before);
    return true;
}

static bool undo_await(struct acp_session *s, struct str args, struct buf *out, struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct undo_report report;
    (void)args;
    if (!session_undo_await(s->session, &a, &report, err))
        return false;
    undone_put_text(&report, out);
    return true;
}

static bool rename_await(struct acp_session *s, struct str args, struct buf *out, struct error *err)
{
    if (!args.n)
        return error_set(err, ERR_INVALID, "say the name: /rename NAME");
    if (!session_set_name_await(s->session, args, err))
        return false;
    acp_say_title(s);
    buf_addf(out, "This session is called %.*s.\n", STR_FMT(args));
    return true;
}

static bool export_await(struct acp_session *s, struct str args, struct buf *out, struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf path = BUF_INIT, text = BUF_INIT;
    size_t n;
    struct str name = args.n ? args : arena_fmt(&a, "trivet-%.8s.md", s->id);
    path_absolute(&path, s->cwd, name);
    struct message *m = session_whole_await(s->session, &a, &n);
    if (str_ends(name, STR(".html")))
        export_html(&text, STR("trivet session"), m, n);
    else
        export_markdown(&text, STR("trivet session"), m, n);
    if (!export_write_await(buf_str(&path), s->cwd, STR_NONE, buf_str(&text), err))
        return false;
    buf_addf(out, "Written: `%.*s`\n", STR_FMT(buf_str(&path)));
    return true;
}

static bool model_await(struct acp_session *s, struct str args, struct buf *out, struct error *err)
{
    struct session_info info;
    if (args.n && !acp_set_model(s, args, err))
        return false;
    session_info(s->session, &info);
    buf_addf(out, "The model is %.*s.\n", STR_FMT(info.model));
    if (args.n)
        acp_say_config(s);
    return true;
}

const struct acp_command acp_commands[] = {
    {"help", NULL, "commands", help_await},
    {"compact", "what to keep", "sum up the conversation to make it shorter", compact_await},
    {"model", "provider/model-id", "show or choose the model", model_await},
    {"sessions", NULL, "earlier sessions of this directory", acp_sessions_await},
    {"rename", "name", "name this session", rename_await},
    {"undo", NULL, "take back what the last turn changed in files", undo_await},
    {"export", "file", "write the conversation to a file, .md or .html", export_await},
    {"memory", NULL, "files that go with every request", memory_await},
    {"skills", NULL, "instructions that a command or a prompt can name", skills_await},
    {"tools", NULL, "what the model can do", tools_await},
    {"mcp", NULL, "MCP servers and their state", mcp_await},
    {"permissions", NULL, "mode and rules that count here", permissions_await},
    {"status", NULL, "session, model, mode, tokens", status_await},
    {NULL, NULL, NULL, NULL},
};

/* ---- running ---- */

static const struct acp_command *find(struct str name)
{
    const struct acp_command *c = acp_commands;
    while (c->name && !str_is(name, c->name))
        c++;
    return c->name ? c : NULL;
}

/* The name of "/name rest", or STR_NONE. */
static struct str command_name(struct str text, struct str *ret_rest)
{
    size_t end = 1;
    if (!str_starts(text, STR("/")))
        return STR_NONE;
    while (end < text.n && !strchr(" \t\r\n", text.p[end]))
        end++;
    *ret_rest = str_trim(str_from(text, end));
    return str_n(text.p + 1, end - 1);
}

const struct acp_command *acp_find_command(struct str text, struct str *ret_args)
{
    struct str name = command_name(text, ret_args);
    return name.n ? find(name) : NULL;
}

void acp_use_skill_await(struct acp_session *s, struct input *in, struct arena *a)
{
    struct str rest, name = command_name(in->text, &rest);
    if (!name.n)
        return;
    if (skills_find(profile_skills_await(s->acp->sv->engine, s->cwd), name)) {
        in->display = in->display.p ? in->display : in->text;
        in->text = arena_fmt(a, "Use the skill $%.*s. %.*s", STR_FMT(name), STR_FMT(rest));
    }
}

bool acp_run_command_await(struct acp_session *s, const struct acp_command *c, struct str args,
                           struct error *err)
{
    AUTO(buf) struct buf out = BUF_INIT;
    char id[UUID_LEN + 1] = "";
    if (!c->run_await(s, args, &out, err)) {
        if (err->code == ERR_CANCELED)
            return false;
        buf_reset(&out);
        buf_addf(&out, "/%s: %s\n", c->name, err->text);
    }
    if (out.n)
        acp_say_chunk(s, "agent_message_chunk", id, buf_str(&out));
    return true;
}

/* ---- sending the list ---- */

static void put_command(struct jw *w, struct str name, struct str about, const char *hint)
{
    jw_obj(w);
    jw_kstr(w, "name", name);
    jw_kstr(w, "description", about.n ? about : name);
    if (hint) {
        jw_kobj(w, "input");
        jw_kz(w, "hint", hint);
        jw_obj_end(w);
    }
    jw_obj_end(w);
}

static void on_commands(void *arg)
{
    struct acp_session *s = arg;
    const struct skills *skills = profile_skills(s->acp->sv->engine, s->cwd);
    s->commands_soon = NULL;
    struct jw *w = acp_update_begin(s, "available_commands_update");
    jw_karr(w, "availableCommands");
    for (const struct acp_command *c = acp_commands; c->name; c++)
        put_command(w, str_of(c->name), str_of(c->about), c->hint);
    for (size_t i = 0; i < skills->n; i++) {
        AUTO(buf) struct buf about = BUF_INIT;
        const struct skill *k = &skills->items[i];
        skill_preview(k, &about);
        if (!find(k->name))
            put_command(w, k->name, buf_str(&about), "what to do with it");
    }
    jw_arr_end(w);
    acp_update_end(s);
}

void acp_say_commands_soon(struct acp_session *s)
{
    if (!s->commands_soon)
        s->commands_soon = loop_soon(s->acp->sv->loop, on_commands, s);
}
