import { shareEverything, shareWhatIsFresh } from "../research/sharedWork";
import { test } from "../support/app";

/** What costs little for 60 shifts costs no more for a thousand. */

test("1,000 shifts started together cost 9 upstream calls per 30 minutes, and one writing per focus and report", async ({
  annotate,
}) => {
  await shareEverything(1_000);
  await annotate(
    "1,000 shifts on 3 foci: 9 upstream calls in each half hour, 3 writings, 1,000 reports",
    "figures",
  );
}, 1_800_000);

test("180 shifts started at any times cost at most 54 upstream calls per 30 minutes", async ({
  annotate,
}) => {
  const windows = await shareWhatIsFresh(180);
  await annotate(
    `180 shifts in 90 minutes: ${windows.join(", ")} upstream calls in its half hours`,
    "figures",
  );
}, 1_800_000);
