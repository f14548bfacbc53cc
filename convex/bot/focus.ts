import type { QueryCtx } from "../_generated/server";
import { isSymbol } from "../lib/money/tokens";
import { listedSymbol } from "../market/sources/lists";
import { focusIn } from "./grammar";

/** What research is about. */

/** The token that an argument names; "" for the whole market, `null` for words that name no token. */
export async function focusNamed(ctx: QueryCtx, argument: string, now: number): Promise<string | null> {
  const name = focusIn(argument) ?? "?";
  if (name === "") return "";
  // The exchanges may know a symbol that no list has; a name they do not know.
  const focus = (await listedSymbol(ctx, name, now)) ?? name;
  return isSymbol(focus) ? focus : null;
}

export function nameOf(focus: string): string {
  return focus === "" ? "the whole market" : focus;
}
