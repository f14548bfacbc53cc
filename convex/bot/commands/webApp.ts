import { optional } from "../../lib/env";
import { HOW_TO_LINK, notice } from "../cards";
import { reply, type Outcome } from "./command";

/** The way from the bot to the operator's web application, and back with the request. */

/**
 * The answer to a request that needs an account. The web application makes a link code and leads back by
 * `t.me/<bot>?start=CODE-<then>`, where the request is one tap away.
 * @param then The request, as a deep link names it: `portfolio`, `follow-SOL`.
 */
export function needsAccount(then: string): Outcome {
  const address = optional("WEB_APP_URL");
  if (address === undefined) return reply(...HOW_TO_LINK);
  const url = new URL(address);
  url.searchParams.set("link", "messenger");
  url.searchParams.set("then", then);
  return {
    answer: notice("This needs your account. Link it, and I go on from here."),
    buttons: [[{ text: "Link my account", href: url.href }]],
  };
}

/** A request in the form that a deep link can contain. */
export function requestOf(name: string, argument: string): string {
  return /^[A-Za-z0-9]{1,20}$/.test(argument) ? `${name}-${argument}` : name;
}

const CARRIED = /^([2-9A-HJ-NP-Z]{8})-([a-z0-9_]{1,32})(?:-([A-Za-z0-9]{1,20}))?$/;

/** A link code and the request that came with it, as the bot's command; `then` is empty without a request. */
export function carriedIn(argument: string): { code: string; then: string } {
  const [, code = argument, name = "", more = ""] = CARRIED.exec(argument) ?? [];
  return { code, then: more === "" ? name : `${name} ${more}` };
}
