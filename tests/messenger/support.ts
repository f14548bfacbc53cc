import type { App } from "../support/app";

/** Nobody can be asked which tokens there are: one that is no token is taken as it is asked for. */
export function withoutListings(app: App): void {
  for (const source of ["coinbase", "coingecko"] as const)
    app.standins.fail(source, { mode: "status", status: 503 });
}
