import { getOneFrom } from "convex-helpers/server/relationships";
import { v, type Infer } from "convex/values";
import type { Doc } from "../../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { AppError } from "../../lib/errors";
import { newestOf } from "../record/chain";
import { DAILY } from "../record/rows";

/** The arms of the lab, and what they have shown against each other. */

/** No more arms than this are begun, because a page shows all that ever existed. */
const MOST_ARMS = 50;

export type LabArm = Extract<Doc<"signalArms">, { model: string }>;

export async function findArm(ctx: QueryCtx, arm: string): Promise<Doc<"signalArms"> | null> {
  return getOneFrom(ctx.db, "signalArms", "by_arm", arm);
}

/** Every arm that was ever asked, by name. */
export async function knownArms(ctx: QueryCtx): Promise<LabArm[]> {
  const rows = await ctx.db
    .query("signalArms")
    .withIndex("by_model", (q) => q.gt("model", ""))
    .take(MOST_ARMS);
  return rows.filter((row) => "model" in row).toSorted((a, b) => (a.arm < b.arm ? -1 : 1));
}

/**
 * Stores an arm from its first hour on.
 * @returns Whether it may be asked: `false` if as many arms exist as are shown.
 */
export async function rememberArm(ctx: MutationCtx, arm: Arm): Promise<boolean> {
  if ((await findArm(ctx, arm.arm)) !== null) return true;
  if ((await knownArms(ctx)).length >= MOST_ARMS) return false;
  await ctx.db.insert("signalArms", { ...arm, since: Date.now() });
  return true;
}

/** The arms that have been compared with one, with their results. */
export async function rivalsOf(ctx: QueryCtx, against: string): Promise<Doc<"signalPairs">[]> {
  return ctx.db
    .query("signalPairs")
    .withIndex("by_against", (q) => q.eq("against", against))
    .take(MOST_ARMS);
}

/** The versions of the prompts, which are stored with every signal. A changed prompt needs a new version. */
export const vPromptVersion = v.union(v.literal("signal-2"), v.literal("signal-3"));
export type PromptVersion = Infer<typeof vPromptVersion>;
export const PROMPT_VERSIONS = vPromptVersion.members.map(({ value }) => value);
/** Until another one is promoted. */
export const FIRST_PROMPT: PromptVersion = "signal-2";

export function promptNamed(name: string): PromptVersion | null {
  return PROMPT_VERSIONS.find((one) => one === name) ?? null;
}

/** An arm: a model of the gateway with one of the prompts. */
export type Arm = {
  /** `claude-haiku-4.5@signal-2`. */
  arm: string;
  model: string;
  promptVersion: PromptVersion;
};

/** @throws AppError `invalid_request` if it does not name an arm. */
export function armNamed(arm: string): Arm {
  const [, model = "", prompt = ""] = /^([\w.:/+-]{1,128})@([\w-]{1,32})$/.exec(arm) ?? [];
  const promptVersion = promptNamed(prompt);
  if (model === "" || promptVersion === null) {
    throw new AppError(
      "invalid_request",
      `"${arm}" is not an arm: name a model and one of the prompts, such as claude-haiku-4.5@signal-2`,
    );
  }
  return { arm, model, promptVersion };
}

export function nameOfArm({ model, promptVersion }: Pick<Arm, "model" | "promptVersion">): string {
  return `${model}@${promptVersion}`;
}

export type Writer = {
  /** `null`: `LLM_MODEL`. */
  model: string | null;
  promptVersion: PromptVersion;
  /** The event of the daily chain that promoted it; 0 if it was not promoted. */
  since: number;
};

/**
 * The totals that calibrate what a signal states, and learn from how it ends. Another model's record, or another
 * prompt's, does not count.
 * @param model The model that answered.
 */
export function recordNamed(
  arm: string,
  { model, promptVersion }: Pick<Arm, "model" | "promptVersion">,
): string {
  return arm === DAILY ? `${DAILY}/${nameOfArm({ model, promptVersion })}` : arm;
}

/** Of the daily signals `LLM_MODEL` with the first prompt, until the operator promotes another arm (`signals/arms/promotions`). */
export async function writerOf(ctx: QueryCtx, arm: string): Promise<Writer> {
  if (arm !== DAILY) {
    const { model, promptVersion } = armNamed(arm);
    return { model, promptVersion, since: 0 };
  }
  const [promoted] = await newestOf(ctx, "promoted", 1);
  if (promoted === undefined) return { model: null, promptVersion: FIRST_PROMPT, since: 0 };
  const { model, promptVersion } = promoted.content;
  return {
    model,
    promptVersion: promptNamed(promptVersion) ?? FIRST_PROMPT,
    since: promoted.sequence,
  };
}
