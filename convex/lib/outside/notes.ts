import type { Infer } from "convex/values";
import type { ActionCtx } from "../../_generated/server";
import type { Spending } from "./spending";
import type { vProvider } from "../tables";

/** What an action notes about its calls to providers until it is stored (`lib/outside/providerCalls`). */

export type Provider = Infer<typeof vProvider>;
/** How an action's calls to a provider went: whether one was answered, and how many failed after the last answer. */
export type Outcome = { provider: Provider; worked: boolean; failures: number };
export type Noted = { outcomes: Outcome[]; spent: Spending[] };

/** Noted and not stored yet. The platform gives every action its own module state. */
const noted = new Map<Provider, Outcome>();
const spent = new Map<string, Spending>();
/** Known to work. */
const working = new Set<Provider>();

/** How much counted work runs under an action's context, one in another or beside it. */
const underWay = new WeakMap<ActionCtx, number>();

/** @returns Whether no other runs. */
export function beginCounting(ctx: ActionCtx): boolean {
  const others = underWay.get(ctx) ?? 0;
  underWay.set(ctx, others + 1);
  return others === 0;
}

/** @returns Whether no other runs any more. */
export function endCounting(ctx: ActionCtx): boolean {
  const left = (underWay.get(ctx) ?? 1) - 1;
  underWay.set(ctx, left);
  return left === 0;
}

/** Notes one call to a provider. It failed if there was no answer, an unreadable one, or a refusal ("not now", "not you"). */
export function noteCall(provider: Provider, failed: boolean): void {
  const { worked, failures } = noted.get(provider) ?? { worked: false, failures: 0 };
  noted.set(
    provider,
    failed ? { provider, worked, failures: failures + 1 } : { provider, worked: true, failures: 0 },
  );
}

/** Says that a provider is known to work: its success is no news to an action that runs every minute. */
export function noteWorking(provider: Provider): void {
  working.add(provider);
}

export function noteSpent({ micros, ...of }: Spending): void {
  const key = Object.values(of).join(" ");
  spent.set(key, { ...of, micros: micros + (spent.get(key)?.micros ?? 0) });
}

/** The notes, for a mutation that stores them together with its other changes. */
export function takeNoted(): Noted {
  const news = [...noted.values()].filter(({ provider, failures }) => failures > 0 || !working.has(provider));
  const taken = { outcomes: news, spent: [...spent.values()] };
  working.clear();
  noted.clear();
  spent.clear();
  return taken;
}
