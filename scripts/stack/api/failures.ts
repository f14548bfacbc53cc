import { convexToJson, type JSONValue } from "convex/values";
import { isConvexError } from "../../host/invocation";

/** A failed function's error for its caller: the message, and the data of a `ConvexError`. */
export function failureOf(error: unknown): { message: string; data?: JSONValue } {
  const message = error instanceof Error ? error.message : String(error);
  return isConvexError(error) ? { message, data: convexToJson(error.data) } : { message };
}
