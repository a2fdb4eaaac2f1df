/* A stand-in for the vendor's library: a free mass on three axes behind the same functions, and fake_* to program it.
   It keeps the vendor's signatures. The mass goes on by a programmed time at each force that is sent. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 4096
typedef signed char ID;

static double p[3], v[3], force[3], mass = 0.2, step = 1e-3, now, max_force = -1.0;
static int enabled, opened, expert, watchdog = -1, left = -1, count;
static unsigned mask;
static ID last_id;
static char journal[MOST][32], failing[32];
static double sent[MOST][3];
static int sent_count, failing_code;
static const char *error = "no error";

/* Notes a call, in memory and in the file FAKE_DHD_LOG; its programmed code, or −1 when the cable is out. */
static int note(const char *name, ID id) {
    const char *path = getenv("FAKE_DHD_LOG");
    if (path) {
        FILE *file = fopen(path, "a");
        fprintf(file, "%s %d\n", name, enabled);
        fclose(file);
    }
    last_id = id;
    if (count < MOST) strncpy(journal[count++], name, 31);
    if (left == 0) { error = "communication error: cable out"; return -1; }
    if (left > 0) left--;
    if (!strcmp(name, failing)) {
        if (failing_code < 0) error = "programmed failure";
        return failing_code;
    }
    return 0;
}

int dhdOpen(void) { int code = note("dhdOpen", -1); if (code >= 0) opened = 1; return code; }
int dhdOpenID(ID id) { int code = note("dhdOpenID", id); if (code >= 0) opened = 1; return code < 0 ? code : id; }
int dhdClose(ID id) { int code = note("dhdClose", id); opened = 0; return code; }
int dhdStop(ID id) { int code = note("dhdStop", id); if (code >= 0) enabled = 0; return code; }
const char *dhdGetSystemName(ID id) { note("dhdGetSystemName", id); return "fake.3"; }
const char *dhdErrorGetLastStr(void) { return error; }
unsigned dhdGetButtonMask(ID id) { note("dhdGetButtonMask", id); return mask; }
int dhdEnableExpertMode(void) { expert = 1; return note("dhdEnableExpertMode", -1); }
int dhdDisableExpertMode(void) { expert = 0; return note("dhdDisableExpertMode", -1); }

int dhdEnableForce(unsigned char on, ID id) {
    int code = note(on ? "dhdEnableForce1" : "dhdEnableForce0", id);
    if (code >= 0) enabled = on;
    return code;
}

int dhdSetMaxForce(double f, ID id) { int code = note("dhdSetMaxForce", id); max_force = f; return code; }

int dhdSetWatchdog(unsigned char ticks, ID id) {
    int code = note("dhdSetWatchdog", id);
    if (!expert) { error = "expert mode disabled"; return -1; }
    watchdog = ticks;
    return code;
}

int dhdGetPosition(double *x, double *y, double *z, ID id) {
    *x = p[0]; *y = p[1]; *z = p[2];
    return note("dhdGetPosition", id);
}

int dhdGetLinearVelocity(double *x, double *y, double *z, ID id) {
    *x = v[0]; *y = v[1]; *z = v[2];
    return note("dhdGetLinearVelocity", id);
}

int dhdSetForce(double x, double y, double z, ID id) {
    int code = note("dhdSetForce", id);
    if (code < 0) return code;
    force[0] = x; force[1] = y; force[2] = z;
    if (sent_count < MOST) memcpy(sent[sent_count++], force, sizeof force);
    for (int i = 0; i < 3; i++) { /* a constant force for so long, exactly */
        double a = enabled ? force[i] / mass : 0.0;
        p[i] += step * v[i] + 0.5 * step * step * a;
        v[i] += step * a;
    }
    now += step;
    return code;
}

void fake_reset(void) {
    memset(p, 0, sizeof p); memset(v, 0, sizeof v); memset(force, 0, sizeof force);
    memset(journal, 0, sizeof journal);
    mass = 0.2; step = 1e-3; now = 0.0; max_force = -1.0;
    enabled = opened = expert = count = sent_count = 0;
    watchdog = left = -1; mask = 0; failing[0] = 0; error = "no error";
}
void fake_code(const char *name, int code) { strncpy(failing, name, 31); failing_code = code; }
void fake_unplug_after(int calls) { left = calls; }
void fake_place(double x, double y, double z) { p[0] = x; p[1] = y; p[2] = z; }
void fake_move(double x, double y, double z) { v[0] = x; v[1] = y; v[2] = z; }
void fake_mass(double kg) { mass = kg; }
void fake_buttons(unsigned m) { mask = m; }
void fake_wait(double seconds) { now += seconds; }
double fake_time(void) { return now; }
double fake_max_force(void) { return max_force; }
int fake_watchdog(void) { return watchdog; }
int fake_enabled(void) { return enabled; }
int fake_opened(void) { return opened; }
int fake_last_id(void) { return last_id; }
int fake_count(void) { return count; }
const char *fake_call(int k) { return journal[k]; }
int fake_sent_count(void) { return sent_count; }
double fake_sent(int k, int axis) { return sent[k][axis]; }
