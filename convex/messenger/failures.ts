import { type ErrorCode, STATUS } from "../lib/errors";

/** Messages for people by HTTP status, in place of messages for programs and operators. */
const SPOKEN: Readonly<Record<number, string>> = {
  405: "This address is for programs.",
  500: "That does not work right now. The problem has been recorded.",
  502: "A source that I need does not answer just now. Try again in a minute.",
  503: "I am too busy just now. Try again in a minute.",
};

/** A failure as a sentence for a person. A statement about money ("nothing was moved") is kept. */
export function describeFailure(status: number, message: string): string {
  const text = SPOKEN[status];
  if (text === undefined) return `${message.replace(/\buserId\b/g, "account id")}.`;
  const [, nothing] = /: nothing (was \w+)$/.exec(message) ?? [];
  return nothing === undefined ? text : `Nothing ${nothing}. ${text}`;
}

/** The reason for a refusal or failure, for the person in the chat. */
export function explainRefusal({ code, message }: { code: ErrorCode; message: string }): string {
  return code === "paused" ? `${message}.` : describeFailure(STATUS[code], message);
}
