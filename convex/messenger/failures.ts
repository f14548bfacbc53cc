import { type ErrorCode, STATUS } from "../lib/errors";

/** By HTTP status, messages for users in place of those that only programs or the operator would understand. */
const SPOKEN: Readonly<Record<number, string>> = {
  405: "This address is for programs.",
  500: "That does not work right now. The problem has been recorded.",
  502: "A source that I need does not answer just now. Try again in a minute.",
  503: "I am too busy just now. Try again in a minute.",
};

/** A failure in words for a person. A statement about their money is kept. */
export function describeFailure(status: number, message: string): string {
  const text = SPOKEN[status];
  if (text === undefined) return `${message.replace(/\buserId\b/g, "account id")}.`;
  const [, nothing] = /: nothing (was \w+)$/.exec(message) ?? [];
  return nothing === undefined ? text : `Nothing ${nothing}. ${text}`;
}

/** Why something was refused or failed, for the person in the chat. */
export function explainRefusal({ code, message }: { code: ErrorCode; message: string }): string {
  return code === "paused" ? `${message}.` : describeFailure(STATUS[code], message);
}
