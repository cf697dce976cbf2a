/** Rules for paths inside volumes, images and profiles. */
import type { Check } from '#api/meta/check.ts'

const fileModeMessage = 'must be a number between 0 and 0777 (octal), both inclusive'

export function validateFileMode(check: Check<number | undefined>): void {
  const mode = check.value
  if (mode !== undefined && (mode > 0o777 || mode < 0)) check.invalid(fileModeMessage)
}

const backstep = /(?:^|\/)\.\.(?:\/|$)/

export const hasBackstep = (path: string): boolean => backstep.test(path)

export function validateNoBacksteps(check: Check<string>): void {
  const path = check.value
  if (hasBackstep(path)) check.invalid("must not contain '..'")
}

/** Relative, and never leaving its directory. */
export function validateDescendingPath(check: Check<string>): void {
  const path = check.value
  if (path.startsWith('/')) check.invalid('must be a relative path')
  validateNoBacksteps(check)
}

/** As descending; the files of a volume's own bookkeeping start with two dots. */
export function validateLocalPath(check: Check<string>): void {
  const path = check.value
  validateDescendingPath(check)
  if (path.startsWith('..') && !path.startsWith('../')) check.invalid("must not start with '..'")
}
