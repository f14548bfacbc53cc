import { ConvexError, convexToJson, type JSONValue, type Value } from "convex/values";

/** What a failed function tells its caller: the message, and the data of a `ConvexError`. */
export function failureOf(error: unknown): { message: string; data?: JSONValue } {
  const message = error instanceof Error ? error.message : String(error);
  return isConvexError(error) ? { message, data: convexToJson(error.data) } : { message };
}

function isConvexError(error: unknown): error is ConvexError<Value> {
  return error instanceof ConvexError;
}
