/** Rules for paths inside volumes, images and profiles. */
import type { Check } from '#api/meta/check.ts'

const fileModeMessage = 'must be a number between 0 and 0777 (octal), both inclusive'

export function validateFileMode(mode: number | undefined, check: Check): void {
  if (mode !== undefined && (mode > 0o777 || mode < 0)) check.invalid(mode, fileModeMessage)
}

const backstep = /(?:^|\/)\.\.(?:\/|$)/

export const hasBackstep = (path: string): boolean => backstep.test(path)

export function validateNoBacksteps(path: string, check: Check): void {
  if (hasBackstep(path)) check.invalid(path, "must not contain '..'")
}

/** Relative, and never leaving its directory. */
export function validateDescendingPath(path: string, check: Check): void {
  if (path.startsWith('/')) check.invalid(path, 'must be a relative path')
  validateNoBacksteps(path, check)
}

/** As descending; the files of a volume's own bookkeeping start with two dots. */
export function validateLocalPath(path: string, check: Check): void {
  validateDescendingPath(path, check)
  if (path.startsWith('..') && !path.startsWith('../')) check.invalid(path, "must not start with '..'")
}
