/** Rules that the statuses of workloads share. */
import type { Check } from '#api/meta/check.ts'

/** `check` stands at the status. */
export function mustNotExceedReplicas<T>(check: Check<T>, replicas: number, counts: readonly (keyof NonNullable<T> & string)[]): void {
  for (const field of counts) {
    const count = Number(check.at(field).value ?? 0)
    if (count > replicas) check.at(field).invalid('cannot be greater than status.replicas', count)
  }
}

/** A collision count that went back would let a controller take a name it knows to be taken. */
export function mustNotBeDecremented(check: Check<number | undefined>, prev: number | undefined): void {
  const next = check.value
  if (prev !== undefined && (next === undefined || next < prev)) check.or(0).invalid('cannot be decremented')
}
