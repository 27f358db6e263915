// A file that a lint rule lets pass, or one that it reports.

export interface Case {
  readonly name: string;
  readonly path: string;
  readonly text: string;
}

export interface Breaking extends Case {
  readonly rule: string;
}
