import type { V1SuccessPolicy } from '#api/batch/v1/types.gen.ts'
import { IndexSet } from '#controllers/job/index-set.ts'

/** Which rule the succeeded indexes meet, in words; undefined when none. */
export function metSuccessRule(policy: V1SuccessPolicy | undefined, succeeded: IndexSet, completions: number): string | undefined {
  if (succeeded.size === 0) return undefined
  const index = (policy?.rules ?? []).findIndex(({ succeededIndexes, succeededCount }) => {
    if (succeededIndexes === undefined) return succeededCount !== undefined && succeeded.size >= succeededCount
    const wanted = IndexSet.parse(succeededIndexes, completions)
    if (wanted.size === 0) return false
    const count = wanted.countIn(succeeded)
    return count === wanted.size || (succeededCount !== undefined && count >= succeededCount)
  })
  return index < 0 ? undefined : `Matched rules at index ${index}`
}
