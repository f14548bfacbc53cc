import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { AppError } from "../../lib/errors";
import { NO_BLOCKS } from "../inference";
import { promptNamed, type PromptVersion } from "../prompts";

/** An arm: a model of the gateway's with one of the prompts. */
export type Arm = {
  /** `claude-haiku-4.5@signal-2`. */
  arm: string;
  model: string;
  promptVersion: PromptVersion;
};

/** More arms than this are not begun: a page shows all that there ever were. */
const MOST_ARMS = 50;

/** @throws AppError `invalid_request` for what names none. */
export function armNamed(arm: string): Arm {
  const [, model = "", prompt = ""] = /^([\w.:/+-]{1,128})@([\w-]{1,32})$/.exec(arm) ?? [];
  const promptVersion = promptNamed(prompt);
  if (model === "" || promptVersion === null) {
    throw new AppError(
      "invalid_request",
      `"${arm}" is no arm: name a model and one of the prompts, such as claude-haiku-4.5@signal-2`,
    );
  }
  return { arm, model, promptVersion };
}

export function nameOfArm({ model, promptVersion }: Pick<Arm, "model" | "promptVersion">): string {
  return `${model}@${promptVersion}`;
}

export async function findArm(ctx: QueryCtx, arm: string): Promise<Doc<"shadowArms"> | null> {
  return getOneFrom(ctx.db, "shadowArms", "by_arm", arm);
}

/** Every arm that was ever asked, by name. */
export async function knownArms(ctx: QueryCtx): Promise<Doc<"shadowArms">[]> {
  return ctx.db.query("shadowArms").withIndex("by_arm").take(MOST_ARMS);
}

/** Keeps an arm from its first hour on. @returns Whether it may be asked: not one more than are shown. */
export async function rememberArm(ctx: MutationCtx, arm: Arm): Promise<boolean> {
  if ((await findArm(ctx, arm.arm)) !== null) return true;
  if ((await knownArms(ctx)).length >= MOST_ARMS) return false;
  await ctx.db.insert("shadowArms", { ...arm, since: Date.now(), blocks: NO_BLOCKS });
  return true;
}

/** What an arm has shown against another so far. */
export async function findPair(
  ctx: QueryCtx,
  arm: string,
  against: string,
): Promise<Doc<"shadowPairs"> | null> {
  return ctx.db
    .query("shadowPairs")
    .withIndex("by_arm", (q) => q.eq("arm", arm).eq("against", against))
    .unique();
}

/** The arms that have been held against one, by what they have shown. */
export async function rivalsOf(ctx: QueryCtx, against: string): Promise<Doc<"shadowPairs">[]> {
  return ctx.db
    .query("shadowPairs")
    .withIndex("by_against", (q) => q.eq("against", against))
    .take(MOST_ARMS);
}
