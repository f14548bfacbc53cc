import type { Id } from "../../_generated/dataModel";
import type { ActionCtx } from "../../_generated/server";
import type { Paragraph } from "../../messenger/format";
import type { Sender, Step, Work } from "../tables";

/** Work of a command after its notice: its input and its outcome. */

export type Kind = Work["kind"];

export type Job<Of extends Kind = Kind> = {
  /** The same in every attempt. */
  workId: Id<"work">;
  sender: Sender;
  userId?: string | undefined;
  work: Extract<Work, { kind: Of }>;
};

/** Every step can be repeated. @throws AppError with a message for the person who asked. */
export type Worker<Of extends Kind> = (ctx: ActionCtx, job: Job<Of>) => Promise<Step>;

/** The workers of some kinds; each subject has a file. */
export type Workers<Of extends Kind> = { readonly [One in Of]: Worker<One> };

export function answerOf(paragraphs: readonly Paragraph[]): Extract<Step, { kind: "answer" }> {
  return { kind: "answer", paragraphs: paragraphs.map((paragraph) => [...paragraph]) };
}
