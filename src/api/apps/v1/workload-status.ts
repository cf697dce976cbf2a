/** Rules that the statuses of workloads share. */
import type { Check } from '#api/meta/check.ts'

/** `check` stands at the status. */
export function mustNotExceedReplicas(replicas: number, counts: Readonly<Record<string, number>>, check: Check): void {
  for (const field in counts) {
    const count = counts[field] ?? 0
    if (count > replicas) check.at(field).invalid(count, 'cannot be greater than status.replicas')
  }
}

/** A collision count that went back would let a controller take a name it knows to be taken. */
export function mustNotBeDecremented(next: number | undefined, prev: number | undefined, check: Check): void {
  if (prev !== undefined && (next === undefined || next < prev)) check.invalid(next ?? 0, 'cannot be decremented')
}
