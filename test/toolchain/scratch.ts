// A scratch copy of the project for tests that break its rules or start its programs: same tools, own sources.
import { execFile, type ExecFileException } from 'node:child_process';
import { cp, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '../..');

export interface Scratch {
  readonly root: string;
  /** Copies files or folders of the project. */
  copy(...paths: string[]): Promise<void>;
  write(path: string, text: string): Promise<void>;
  remove(): Promise<void>;
}

export async function makeScratch(): Promise<Scratch> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'muster-scratch-')));
  return {
    root,
    copy: async (...paths) => {
      for (const path of paths) await cp(join(ROOT, path), join(root, path), { recursive: true });
    },
    write: async (path, text) => {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text);
    },
    remove: () => rm(root, { recursive: true, force: true }),
  };
}

export async function linkPackages(scratch: Scratch): Promise<void> {
  await symlink(join(ROOT, 'node_modules'), join(scratch.root, 'node_modules'));
}

export interface ProgramOutcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. A non-zero exit is an outcome, not an error. */
export function run(
  program: string,
  args: readonly string[],
  options: { cwd: string; env?: NodeJS.ProcessEnv },
): Promise<ProgramOutcome> {
  return new Promise((done, failed) => {
    const settle = (error: ExecFileException | null, stdout: string, stderr: string): void => {
      if (error === null) done({ code: 0, stdout, stderr });
      else if (typeof error.code === 'number') done({ code: error.code, stdout, stderr });
      else failed(new Error(`${program} did not run to its end`, { cause: error }));
    };
    execFile(program, [...args], { ...options, maxBuffer: 64 * 1024 * 1024 }, settle);
  });
}
