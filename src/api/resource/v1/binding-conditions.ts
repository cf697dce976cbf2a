import type { Check } from '#api/meta/check.ts'
import { eachRepeated } from '#api/meta/duplicates.ts'
import { mustBe, qualifiedName } from '#api/meta/names.ts'
import { boundedList } from '#api/resource/v1/bounded.ts'

const maxConditions = 4

/** What a pod waits for, and what makes it give up, before it may use a device: always both. `check` stands at their owner. */
export function validateBindingConditions(check: Check<{ bindingConditions?: string[]; bindingFailureConditions?: string[] }>): void {
  const { bindingConditions, bindingFailureConditions } = check.value
  const conditions = bindingConditions ?? []
  const failures = bindingFailureConditions ?? []
  const at = check.at('bindingConditions')
  const failuresAt = check.at('bindingFailureConditions')
  const mustBeName = (here: Check<string>) => mustBe(qualifiedName, here)
  boundedList(at.with(conditions), maxConditions, mustBeName)
  boundedList(failuresAt.with(failures), maxConditions, mustBeName)
  eachRepeated(at, (condition) => condition)
  const known = new Set(conditions)
  const failed = new Set<string>()
  for (const [index, condition] of failures.entries()) {
    if (failed.has(condition)) failuresAt.at(index).duplicate()
    failed.add(condition)
    if (known.has(condition)) {
      failuresAt.at(index).invalid('bindingFailureConditions must not overlap with bindingConditions')
    }
  }
  if (conditions.length === 0 && failures.length > 0) {
    at.invalid('bindingConditions are required to use bindingFailureConditions')
  }
  if (failures.length === 0 && conditions.length > 0) {
    failuresAt.invalid('bindingFailureConditions are required to use bindingConditions')
  }
}
