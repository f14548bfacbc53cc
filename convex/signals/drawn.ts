import { createFunctionHandle } from "convex/server";
import { internal } from "../_generated/api";
import type { Picture } from "../messenger/tables";
import { signalId } from "./views";
import type { Signal } from "./tables";

/** What draws the pictures of the cards of signals. For mutations. */

export async function signalsDrawn(signals: readonly Pick<Signal, "token" | "day">[]): Promise<Picture> {
  const handle = await createFunctionHandle(internal.pictures.drawing.signals);
  return { handle, subject: signals.map(signalId).join(",") };
}

export async function weekDrawn(week: string): Promise<Picture> {
  return { handle: await createFunctionHandle(internal.pictures.drawing.week), subject: week };
}
