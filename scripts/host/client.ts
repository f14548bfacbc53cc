import {
  getFunctionName,
  type FunctionArgs,
  type FunctionReference,
  type FunctionReturnType,
  type GenericDataModel,
  type GenericMutationCtx,
  type UserIdentity,
} from "convex/server";
import * as z from "zod";
import type { Caller, FunctionKind, Host } from ".";

type Reference<Kind extends FunctionKind> = FunctionReference<Kind, "public" | "internal">;
type Call<Kind extends FunctionKind> = <R extends Reference<Kind>>(
  reference: R,
  args?: FunctionArgs<R>,
) => Promise<FunctionReturnType<R>>;

/** Calls of the application's functions, with their types. */
export type Client<Model extends GenericDataModel> = {
  query: Call<"query">;
  mutation: Call<"mutation">;
  action: Call<"action">;
  fetch: (path: string, init?: RequestInit) => Promise<Response>;
  /** Runs a handler as a mutation. */
  run: <T>(handler: (ctx: GenericMutationCtx<Model>) => Promise<T>) => Promise<T>;
  /** Waits until no scheduled function is running. */
  finishInProgressScheduledFunctions: () => Promise<void>;
  withIdentity: (identity: UserIdentity) => Client<Model>;
  withRequestMetadata: (metadata: Pick<Caller, "ip" | "userAgent">) => Client<Model>;
};

/** The type that the caller knows; the host passes values on. */
const unchecked = z.custom<never>();

export function createClient<Model extends GenericDataModel>(host: Host, caller: Caller = {}): Client<Model> {
  const call =
    <Kind extends FunctionKind>(kind: Kind): Call<Kind> =>
    async <R extends Reference<Kind>>(reference: R, args?: FunctionArgs<R>) => {
      const path = { componentPath: "", udfPath: getFunctionName(reference) };
      // The function's own validator has checked it.
      return unchecked.parse(await host.run(kind, path, args ?? {}, caller));
    };
  return {
    query: call("query"),
    mutation: call("mutation"),
    action: call("action"),
    fetch: (path, init = {}) => host.fetch(path, init, caller),
    run: (handler) => host.inline((ctx) => handler(unchecked.parse(ctx))),
    finishInProgressScheduledFunctions: () => host.core.scheduler.idle(),
    withIdentity: (identity) => createClient<Model>(host, { ...caller, identity }),
    withRequestMetadata: (metadata) => createClient<Model>(host, { ...caller, ...metadata }),
  };
}
