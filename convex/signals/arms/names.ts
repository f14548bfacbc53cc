import { v, type Infer } from "convex/values";
import { AppError } from "../../lib/errors";

/** How arms are named. Pure. */

/** The prompts there are: which questions are asked. Told with every signal. Whoever changes a question names it anew. */
export const vPromptVersion = v.union(v.literal("signal-2"), v.literal("signal-3"));
export type PromptVersion = Infer<typeof vPromptVersion>;
export const PROMPT_VERSIONS = vPromptVersion.members.map(({ value }) => value);
/** Until another one is promoted. */
export const FIRST_PROMPT: PromptVersion = "signal-2";

export function promptNamed(name: string): PromptVersion | null {
  return PROMPT_VERSIONS.find((one) => one === name) ?? null;
}

/** An arm: a model of the gateway's with one of the prompts. */
export type Arm = {
  /** `claude-haiku-4.5@signal-2`. */
  arm: string;
  model: string;
  promptVersion: PromptVersion;
};

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
