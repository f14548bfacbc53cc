import { STATUS, type ErrorCode } from "../errors";

/** What only programs and whoever runs the service would understand, in the words of those who use it; by HTTP status. */
const SPOKEN: Readonly<Record<number, string>> = {
  405: "This address is for programs.",
  500: "That does not work here just now. It is noted.",
  502: "A source that I need does not answer just now. Try again in a minute.",
  503: "I am too busy just now. Try again in a minute.",
};

/** A failure as a person is told of it. What became of their money stays said. */
export function spokenFailure(status: number, message: string): string {
  const words = SPOKEN[status];
  if (words === undefined) return `${message.replace(/\buserId\b/g, "account id")}.`;
  const [, nothing] = /: nothing (was \w+)$/.exec(message) ?? [];
  return nothing === undefined ? words : `Nothing ${nothing}. ${words}`;
}

/** Why something was refused or failed, for the person in the chat. */
export function reasonOf({ code, message }: { code: ErrorCode; message: string }): string {
  return code === "paused" ? `${message}.` : spokenFailure(STATUS[code], message);
}
