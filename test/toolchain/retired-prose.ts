/** Words of sentences that docs/glossary.md retired. Those that are everyday words besides are left to readers. */
export const RETIRED_PROSE =
  /\bvouch\w*|\b(?:un)?heard\b|\bhears?\b|\bhand-overs?\b|\bhand(?:s|ed|ing)? (?:\S+ ){0,3}over\b|\bin line with\b|\bdeaf\w*|\bdecree\w*|\bknock(?:s|ed)\b/i;
