import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { DAY, startOfMinute } from "../lib/time";
import type { PublicAlert } from "../whales/tables";
import type { Page } from "./layout";
import { Bot, Empty, Movements, Subscribe } from "./parts";

/** Large movements, newest first. */

const LISTED = 30;

/** The newest of the last week. @param now Epoch ms. */
export function readWhales(ctx: ActionCtx, now: number, limit: number): Promise<PublicAlert[]> {
  return ctx.runQuery(internal.whales.alerts.listAlertsSince, { since: startOfMinute(now) - 7 * DAY, limit });
}

export async function buildWhalesPage(ctx: ActionCtx, now: number): Promise<Page> {
  const alerts = await readWhales(ctx, now, LISTED);
  const content = (
    <>
      <h1>Whales</h1>
      <p class="lead">
        Large transfers and exchange flows, the newest of a week: read on Base by this service itself, and
        reported from other chains by an agent. <Subscribe to="whales">Get them as they happen</Subscribe>
      </p>
      {alerts.length === 0 ? (
        <Empty>
          Nothing was seen in the last week. Base is looked at every five minutes, the other chains every
          hour. <Bot />
        </Empty>
      ) : (
        <div class="card">
          <Movements alerts={alerts} now={now} />
        </div>
      )}
    </>
  );
  return {
    title: "Whales",
    description: "Large transfers and exchange flows of crypto, newest first.",
    path: "/whales",
    content,
  };
}
