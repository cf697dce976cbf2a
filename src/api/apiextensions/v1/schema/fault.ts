import type { Check } from '#api/meta/check.ts'

/** One thing that is wrong; `field` is empty for what upstream does not place. */
export type Fault = { field: string; message: string; report(check: Check<unknown>): void }

export const invalidFault = (field: string, value: unknown, message: string): Fault => ({
  field,
  message,
  report: (check) => check.invalid(message, value ?? ''),
})

/** A fault that upstream reports at the object as a whole. */
export const unplacedFault = (message: string): Fault => ({ field: '', message, report: (check) => check.invalid(message, '') })
