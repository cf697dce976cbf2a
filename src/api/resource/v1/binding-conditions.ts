import type { Check } from '#api/meta/check.ts'
import { mustBe, qualifiedName } from '#api/meta/names.ts'
import { boundedList } from '#api/resource/v1/bounded.ts'

const maxConditions = 4

/** What a pod waits for, and what makes it give up, before it may use a device: always both. `check` stands at their owner. */
export function validateBindingConditions(
  { bindingConditions, bindingFailureConditions }: { bindingConditions?: string[]; bindingFailureConditions?: string[] },
  check: Check,
): void {
  const conditions = bindingConditions ?? []
  const failures = bindingFailureConditions ?? []
  const at = check.at('bindingConditions')
  const failuresAt = check.at('bindingFailureConditions')
  const mustBeName = (name: string, here: Check) => mustBe(qualifiedName, name, here)
  boundedList(conditions, maxConditions, at, mustBeName)
  boundedList(failures, maxConditions, failuresAt, mustBeName)
  for (const [index, condition] of conditions.entries()) {
    if (conditions.indexOf(condition) < index) at.at(index).duplicate(condition)
  }
  for (const [index, condition] of failures.entries()) {
    if (failures.indexOf(condition) < index) failuresAt.at(index).duplicate(condition)
    if (conditions.includes(condition)) {
      failuresAt.at(index).invalid(condition, 'bindingFailureConditions must not overlap with bindingConditions')
    }
  }
  if (conditions.length === 0 && failures.length > 0) {
    at.invalid(bindingConditions ?? null, 'bindingConditions are required to use bindingFailureConditions')
  }
  if (failures.length === 0 && conditions.length > 0) {
    failuresAt.invalid(bindingFailureConditions ?? null, 'bindingFailureConditions are required to use bindingConditions')
  }
}
