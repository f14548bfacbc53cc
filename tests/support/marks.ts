const MARK = /^✉️ (?:Somebody who named this chat as theirs|Requested by a user who) [^\n]+(?:\n\n|$)/;

/** A card's own text, without the mark above it that it gets in a chat that somebody has only named. */
export const unmarked = (text: string): string => text.replace(MARK, "");
