import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";

/** A small application that shows what the host does for one. */
export default defineSchema({
  notes: defineTable({ text: v.string(), by: v.string(), size: v.optional(v.int64()) }).index("by_text", [
    "text",
  ]),
});
