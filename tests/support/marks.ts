const MARK = /^✉️ (?:Somebody who named this chat as theirs|Requested by a user who) [^\n]+(?:\n\n|$)/;

/** A card as it was written: without what stands above it where nobody is known to have asked for it in that chat. */
export const unmarked = (text: string): string => text.replace(MARK, "");
