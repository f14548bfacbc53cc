import { createFunctionHandle } from "convex/server";
import { internal } from "../../_generated/api";
import type { Picture } from "../../messenger/tables";
import { signalId } from "./signals";
import type { Signal } from "../record/tables";

/** What draws the pictures of the cards of signals. For mutations. */

export async function picturesOf(signals: readonly Pick<Signal, "token" | "slot">[]): Promise<Picture> {
  const handle = await createFunctionHandle(internal.pictures.drawing.signals);
  return { handle, subject: signals.map(signalId).join(",") };
}

export async function pictureOfWeek(week: string): Promise<Picture> {
  return { handle: await createFunctionHandle(internal.pictures.drawing.week), subject: week };
}
