import * as z from "zod";
import { internal } from "../../convex/_generated/api";
import { shadowLab, type ShadowArm } from "../../convex/signals/arms/shapes";
import { shadowEvent, type ShadowEvent } from "../../convex/signals/record/events";
import { work } from "../signals/support";
import type { App } from "../support/app";
import { replace } from "../support/world";

/** What the tests of the shadow lab share. */

export const CHAMPION = "claude-haiku-4.5@signal-2";
export const CHALLENGER = "claude-haiku-4.5@signal-3";

/** The hourly job, and what it sets going. */
export async function askArms(app: App): Promise<void> {
  await app.t.mutation(internal.signals.desk.runs.openHour, {});
  await work(app);
}

/** One tick of the tracker of shadow signals. */
export async function trackShadows(app: App): Promise<void> {
  await app.t.mutation(internal.signals.outcomes.tracker.trackShadows, {});
  await work(app);
}

/** By its model and prompt, an arm answers this; `null`: as it likes. */
export function armsSay(app: App, says: (arm: { model: string; prompt: string }) => object): void {
  const handle = app.standins.handle.bind(app.standins);
  replace(app.standins, "handle", async (request) => {
    if (!request.url.includes("/llm/")) return handle(request);
    const body = asked.parse(await request.clone().json());
    const prompt = body.messages.some(({ content }) => content.includes("Typical move"))
      ? "signal-3"
      : "signal-2";
    const content = JSON.stringify(says({ model: body.model, prompt }));
    app.standins.fail("llm", { mode: "reply", schema: "trading_signal", content, times: 1 });
    return handle(request);
  });
}
const asked = z.object({ model: z.string(), messages: z.array(z.object({ content: z.string() })) });

const answer = shadowLab.extend({ events: z.array(shadowEvent) });

/** The lab as its endpoint tells it, with all its events. */
export async function labOf(app: Pick<App, "get">): Promise<z.output<typeof answer>> {
  const events: ShadowEvent[] = [];
  for (;;) {
    const after = events.at(-1)?.sequence ?? 0;
    const page = answer.parse((await app.get(`/signals/shadow?after=${after}&limit=500`)).body);
    events.push(...page.events);
    if (page.events.length === 0) return { ...page, events };
  }
}

export function armIn(lab: { arms: readonly ShadowArm[] }, name: string): ShadowArm {
  const arm = lab.arms.find((one) => one.arm === name);
  if (arm === undefined) throw new Error(`There is no arm ${name}`);
  return arm;
}
