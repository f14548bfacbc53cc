import { v, type Infer } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import { internalQuery, type MutationCtx } from "../_generated/server";
import type { CronName } from "../lib/cronRuns";
import { DAY, HOUR, MINUTE } from "../lib/time";
import { troublesIn, vTrouble, type Trouble } from "./troubles";

/** The state of each hour of the last 90 days. */

const DAYS = 90;

/** The job that runs every minute: if it ran, the hour was served. */
const PULSE: CronName = "take up what is due";
/** Without a pulse for this long, nothing was served. */
const SILENCE_MS = 10 * MINUTE;

const beginOf = (ms: number, length: number) => Math.floor(ms / length) * length;

/** Stores the state of the hour of the last pulse, once another has begun. To be called before the pulse is recorded. */
export async function noteHour(ctx: MutationCtx, now: number): Promise<void> {
  const last = await getOneFrom(ctx.db, "cronRuns", "by_name", PULSE);
  if (last === null || beginOf(last.ranAt, HOUR) === beginOf(now, HOUR)) return;
  const day = beginOf(last.ranAt, DAY);
  const hour = (beginOf(last.ranAt, HOUR) - day) / HOUR;
  const row = await getOneFrom(ctx.db, "serviceDays", "by_day", day);
  if (row?.hours.some((one) => one.hour === hour) === true) return;
  const silent: Trouble[] = now - last.ranAt > SILENCE_MS ? ["down"] : [];
  // In a call of its own: it runs once an hour, and its data need not be loaded for every pulse.
  const { checks }: { checks: Parameters<typeof troublesIn>[0] } = await ctx.runQuery(
    internal.ops.health.read,
    { now },
  );
  const noted = { hour, troubles: [...silent, ...troublesIn(checks)] };
  if (row === null) await ctx.db.insert("serviceDays", { day, hours: [noted] });
  else await ctx.db.patch("serviceDays", row._id, { hours: [...row.hours, noted] });
}

const vUptime = v.object({
  /** Epoch ms: the first hour that is known; `null` before there is one. */
  since: v.union(v.number(), v.null()),
  /** The served share of the hours since then, 0 to 100. */
  percent: v.union(v.number(), v.null()),
  /** By UTC day, oldest first, one character per hour: `.` good, `~` with a problem, `x` not served, a space for unknown. */
  days: v.array(v.object({ day: v.number(), hours: v.string() })),
  /** Newest first; `to` is where the first good hour begins. */
  incidents: v.array(v.object({ code: vTrouble, from: v.number(), to: v.number() })),
});
type Uptime = Infer<typeof vUptime>;

const MOST_INCIDENTS = 50;

/** The last 90 days at `now` (epoch ms, of a whole hour). */
export const read = internalQuery({
  args: { now: v.number() },
  returns: vUptime,
  handler: async (ctx, { now }) => {
    const from = beginOf(now, DAY) - (DAYS - 1) * DAY;
    const rows = await ctx.db
      .query("serviceDays")
      .withIndex("by_day", (q) => q.gte("day", from))
      .take(DAYS);
    return uptimeOf(rows, now);
  },
});

type Day = { day: number; hours: readonly { hour: number; troubles: readonly Trouble[] }[] };

/** @param rows Oldest first. @param now The hour that it begins is not over. */
export function uptimeOf(rows: readonly Day[], now: number): Uptime {
  const noted = new Map(
    rows.flatMap(({ day, hours }) =>
      hours.map(({ hour, troubles }): [number, readonly Trouble[]] => [day + hour * HOUR, troubles]),
    ),
  );
  const since = noted.size === 0 ? null : Math.min(...noted.keys());
  if (since === null) return { since, percent: null, days: [], incidents: [] };
  const end = beginOf(now, HOUR);
  const days: Uptime["days"] = [];
  const open = new Map<Trouble, Uptime["incidents"][number]>();
  const incidents: Uptime["incidents"] = [];
  let [all, served] = [0, 0];
  for (let day = beginOf(since, DAY); day < end; day += DAY) {
    let hours = "";
    for (let hour = day; hour < day + DAY; hour += HOUR) {
      const isKnown = hour >= since && hour < end;
      const troubles = isKnown ? (noted.get(hour) ?? ["down"]) : [];
      hours += !isKnown ? " " : troubles.length === 0 ? "." : troubles.includes("down") ? "x" : "~";
      if (!isKnown) continue;
      all++;
      if (!troubles.includes("down")) served++;
      for (const code of [...open.keys()]) if (!troubles.includes(code)) open.delete(code);
      for (const code of troubles) {
        const known = open.get(code) ?? { code, from: hour, to: hour };
        if (!open.has(code)) incidents.push(known);
        open.set(code, known);
        known.to = hour + HOUR;
      }
    }
    days.push({ day, hours });
  }
  const percent = all === 0 ? null : Math.floor((served / all) * 10_000) / 100;
  return { since, percent, days, incidents: incidents.toReversed().slice(0, MOST_INCIDENTS) };
}
